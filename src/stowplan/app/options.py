"""The flags of `stowplan run`, and what they make of a configuration and of logs and metrics.

They are kube-scheduler's, in the sections of its help, and a few of our own: a field of `RunOptions` is the flag of the
same name with dashes, and `cli/flag_parser.py` reads them. With `--config` the file counts: deprecated flags are
ignored and only those of leader election win over it. Without a file the deprecated flags count too. What the flags say
about serving is read in `app/endpoints.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

import msgspec

from stowplan.config import feature_gates, releases
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.types import ClientConnection, Configuration, LeaderElection
from stowplan.model.duration import Duration, of_seconds
from stowplan.observe.logs import LogSettings

if TYPE_CHECKING:
    from stowplan.observe.series import Shown

T = TypeVar("T")

#: How a value is written; the words are those of the help.
Kind: TypeAlias = Literal[
    "string",
    "bool",
    "int",
    "int32",
    "Level",
    "float32",
    "duration",
    "ip",
    "strings",
    "metricLabels",
    "featureGates",
    "version",
]
#: How values of a type are written, unless a flag says otherwise.
_KINDS: Final[dict[type, Kind]] = {
    str: "string",
    bool: "bool",
    int: "int",
    float: "float32",
    tuple: "strings",
    Duration: "duration",
    FeatureGates: "featureGates",
}
_GO_TLS: Final = "TLS is OpenSSL's here, which has no setting for it per server"
_HTTP2: Final = "only HTTP/1.1 is served"
_ONE_CERTIFICATE: Final = "one certificate is served under all names; put the names into --tls-cert-file"
_UNBUFFERED: Final = "log lines are written at once"


def _flag(default: T, help: str, absent: str = "", *, kind: Kind | None = None, shorthand: str = "") -> T:
    """Declare a flag. One whose subject does not exist here says so in `absent`: it is taken, with a warning."""
    told = {"kind": kind or _KINDS[type(default)], "help": help, "absent": absent, "shorthand": shorthand}
    return field(default=default, metadata=told)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """All flags, with upstream's defaults. `given` names those that were written out."""

    # Misc
    config: str = _flag("", "File with the KubeSchedulerConfiguration; read again on SIGHUP and when it changes.")
    config_map: str = _flag("", "NAMESPACE/NAME of a ConfigMap that has the configuration under config.yaml.")
    config_text: str = _flag("", "The KubeSchedulerConfiguration itself, not a file.")
    legacy_config: bool = _flag(False, "Take a configuration of an older release, and warn of each thing converted.")
    plugin_budget: Duration = _flag(
        of_seconds(0), "Longest answer of a plugin from elsewhere; slower scores are left out for a while. 0 for none."
    )
    page: bool = _flag(False, "Serve the page that shows the cluster at /page/.")
    master: str = _flag("", "Address of the Kubernetes API server; wins over the one of the kubeconfig.")
    write_config_to: str = _flag("", "Write the configuration in force to this file and exit.")

    # Secure serving
    bind_address: str = _flag("0.0.0.0", "IP address to listen on; 0.0.0.0 or :: means all interfaces.", kind="ip")
    cert_dir: str = _flag("", "Directory of kube-scheduler.crt and .key; made there if they are missing.")
    disable_http2_serving: bool = _flag(False, "Do not serve HTTP/2.", _HTTP2)
    http2_max_streams_per_connection: int = _flag(0, "Most streams of an HTTP/2 connection.", _HTTP2)
    permit_address_sharing: bool = _flag(False, "Use SO_REUSEADDR.", "SO_REUSEADDR is always used")
    permit_port_sharing: bool = _flag(False, "Use SO_REUSEPORT, so that several may listen on the same port.")
    secure_port: int = _flag(10259, "Port for HTTPS with authentication and authorization; 0 serves nothing.")
    tls_cert_file: str = _flag("", "File with the certificate for HTTPS, that of its authority after it.")
    tls_cipher_suites: tuple[str, ...] = _flag((), "Cipher suites of TLS up to 1.2, by Go's or OpenSSL's names.")
    tls_curve_preferences: tuple[str, ...] = _flag((), "Curves for the exchange of keys, by Go's numbers.", _GO_TLS)
    tls_min_version: str = _flag("", "Lowest version of TLS: VersionTLS10, 11, 12 or 13.")
    tls_private_key_file: str = _flag("", "File with the private key of --tls-cert-file.")
    tls_sni_cert_key: tuple[str, ...] = _flag(
        (),
        "Further certificate and key files, by the names that clients ask for.",
        _ONE_CERTIFICATE,
    )

    # Authentication
    authentication_kubeconfig: str = _flag("", "Kubeconfig of the API server that is asked about tokens.")
    authentication_skip_lookup: bool = _flag(False, "Do not look up missing settings in the cluster.")
    authentication_token_webhook_cache_ttl: Duration = _flag(
        of_seconds(10), "How long to keep what was said about a token."
    )
    authentication_tolerate_lookup_failure: bool = _flag(True, "Go on if settings cannot be looked up.")
    client_ca_file: str = _flag("", "Authorities of client certificates; the common name is the user.")
    requestheader_allowed_names: tuple[str, ...] = _flag((), "Common names of proxies that may name users in headers.")
    requestheader_client_ca_file: str = _flag("", "Authorities of the certificates of such proxies.")
    requestheader_extra_headers_prefix: tuple[str, ...] = _flag(
        ("x-remote-extra-",), "How headers begin that say more about a user."
    )
    requestheader_group_headers: tuple[str, ...] = _flag(("x-remote-group",), "Headers that name the groups of a user.")
    requestheader_uid_headers: tuple[str, ...] = _flag((), "Headers that give the UID of a user.")
    requestheader_username_headers: tuple[str, ...] = _flag(("x-remote-user",), "Headers that name a user.")

    # Authorization
    authorization_always_allow_paths: tuple[str, ...] = _flag(
        ("/healthz", "/readyz", "/livez"), "Paths that everybody may see; * at the end is any rest."
    )
    authorization_kubeconfig: str = _flag("", "Kubeconfig of the API server that is asked who may see what.")
    authorization_webhook_cache_authorized_ttl: Duration = _flag(
        of_seconds(10), "How long to keep that something is allowed."
    )
    authorization_webhook_cache_unauthorized_ttl: Duration = _flag(
        of_seconds(10), "How long to keep that something is not."
    )

    # Deprecated
    contention_profiling: bool = _flag(True, "Profile blocking; ignored with --config.", "Python has no such profile")
    kube_api_burst: int = _flag(100, "Burst of requests to the API server; ignored with --config.", kind="int32")
    kube_api_content_type: str = _flag(
        "application/vnd.kubernetes.protobuf", "Content type of bindings; ignored with --config."
    )
    kube_api_qps: float = _flag(50.0, "Requests per second to the API server; ignored with --config.")
    kubeconfig: str = _flag("", "Kubeconfig of the API server; ignored with --config.")
    pod_max_in_unschedulable_pods_duration: Duration = _flag(
        of_seconds(300), "After how long a refused pod is tried anyway."
    )
    profiling: bool = _flag(True, "Serve /debug; ignored with --config.")

    # Leader election
    leader_elect: bool = _flag(True, "Schedule only while holding the lease, so that several replicas can run.")
    leader_elect_lease_duration: Duration = _flag(
        of_seconds(15), "How long others wait for a leader that does not renew."
    )
    leader_elect_renew_deadline: Duration = _flag(
        of_seconds(10), "How long the leader tries to renew before it gives up."
    )
    leader_elect_resource_lock: str = _flag("leases", "Sort of object used as a lock; only leases.")
    leader_elect_resource_name: str = _flag("kube-scheduler", "Name of the lease.")
    leader_elect_resource_namespace: str = _flag("kube-system", "Namespace of the lease.")
    leader_elect_retry_period: Duration = _flag(of_seconds(2), "Time between two attempts to get or renew the lease.")

    # Feature gate
    emulated_version: tuple[str, ...] = _flag(
        (), f"Release to decide like, such as kube={releases.OLDEST}; that of the API server if it is not given."
    )
    feature_gates: FeatureGates = _flag(
        DEFAULT_GATES, "Gates to switch, such as A=true,B=false; may be given repeatedly."
    )
    min_compatibility_version: tuple[str, ...] = _flag(
        (), "Oldest release of the other parts of the control plane: some gates are on only if it is new enough."
    )

    # Metrics
    allow_metric_labels: tuple[str, ...] = _flag(
        (), "Values of a label that are shown: metric,label=value,value.", kind="metricLabels"
    )
    allow_metric_labels_manifest: str = _flag("", "YAML file of such values: metric,label: value,value.")
    disabled_metrics: tuple[str, ...] = _flag((), "Full names of metrics to leave out.")
    show_hidden_metrics_for_version: str = _flag("", "Version whose hidden metrics to show.", "none is hidden")

    # Logs
    log_flush_frequency: Duration = _flag(of_seconds(5), "Most seconds between two flushes.", _UNBUFFERED)
    log_json_info_buffer_size: str = _flag("0", "Buffer for JSON lines.", _UNBUFFERED)
    log_json_split_stream: bool = _flag(False, "JSON: errors to the error stream, the rest to the standard output.")
    log_text_info_buffer_size: str = _flag("0", "Buffer for text lines.", _UNBUFFERED)
    log_text_split_stream: bool = _flag(False, "Text: errors to the error stream, the rest to the standard output.")
    logging_format: str = _flag("text", "text or json.")
    v: int = _flag(0, "Verbosity of the log.", kind="Level", shorthand="v")
    vmodule: tuple[str, ...] = _flag((), "Verbosity by file, such as queue=5,intake=4.")

    # Global
    help: bool = _flag(False, "Help for stowplan run.", shorthand="h")
    version: str = _flag(
        "false", "Print the version and quit; raw prints more, vX.Y.Z sets the one reported.", kind="version"
    )

    #: The flags that were written out, by name.
    given: frozenset[str] = frozenset()
    #: What --feature-gates says, to be read anew when the release is known.
    gate_texts: tuple[str, ...] = ()
    #: Every flag as text, for /flagz.
    texts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RunFlag:
    """One flag, as it is read and as the help shows it."""

    name: str
    default: Any
    kind: Kind
    help: str
    absent: str
    shorthand: str


#: All flags by name, in the order of the help.
FLAGS: Final = {
    (name := each.name.replace("_", "-")): RunFlag(name, each.default, **each.metadata)
    for each in fields(RunOptions)
    if each.metadata
}

#: Flags with the fields of the configuration that they are for.
_ELECTION: Final = {
    flag: flag.removeprefix("leader-elect-").replace("-", "_") for flag in FLAGS if flag.startswith("leader-elect")
}
_CLIENT: Final = {
    "kubeconfig": "kubeconfig",
    "kube-api-content-type": "content_type",
    "kube-api-qps": "qps",
    "kube-api-burst": "burst",
}
_PROFILING: Final = {"profiling": "enable_profiling", "contention-profiling": "enable_contention_profiling"}

DEPRECATED: Final = (*_CLIENT, *_PROFILING)


class OptionError(ValueError):
    """Flags that cannot be used; the text names the flag."""


def release_asked_for(options: RunOptions) -> str | None:
    """Return the release that the flags name, if they name one; raise ReleaseError if it is none of ours."""
    found = releases.parse(options.emulated_version, "emulated-version")
    return releases.check(found) if found is not None else None


def decide_like(options: RunOptions, release: str) -> RunOptions:
    """Return the options for a release: which gates there are, and which of them are on, depends on it."""
    compatible = releases.parse(options.min_compatibility_version, "min-compatibility-version") or ""
    if compatible and releases.number(compatible) > releases.number(release):
        raise releases.ReleaseError(f"minCompatibilityVersion version {compatible} is not between [0.0, {release}]")
    gates = feature_gates.parse(*options.gate_texts, release=release, compatible_with=compatible)
    return replace(options, feature_gates=gates)


def has_file(options: RunOptions) -> bool:
    """Say whether the configuration is written down somewhere, so that deprecated flags do not count."""
    return bool(options.config or options.config_map or options.config_text)


def apply_flags(options: RunOptions, written: Configuration) -> Configuration:
    """Return the configuration in force, given the one that is written down, or the default one."""
    election: LeaderElection = _with_flags(options, written.leader_election, _ELECTION)
    found = msgspec.structs.replace(written, leader_election=election)
    if has_file(options):
        return found
    client: ClientConnection = _with_flags(options, found.client_connection, _CLIENT)
    found = msgspec.structs.replace(found, client_connection=client)
    configuration: Configuration = _with_flags(options, found, _PROFILING)
    return configuration


def _with_flags(options: RunOptions, value: Any, names: dict[str, str]) -> Any:
    changes = {
        field: getattr(options, flag.replace("-", "_")) for flag, field in names.items() if flag in options.given
    }
    return msgspec.structs.replace(value, **changes)


def ignored_flags(options: RunOptions) -> list[str]:
    """Name the flags that were given but do not count, because the configuration comes from a file."""
    return [name for name in DEPRECATED if name in options.given] if has_file(options) else []


def budget_seconds(options: RunOptions) -> float:
    """Return how long plugins from elsewhere may take to answer; 0 for as long as they like."""
    if options.plugin_budget.nanoseconds < 0:
        raise OptionError(f"--plugin-budget {options.plugin_budget}: write a time such as 5ms, or 0 for none")
    return options.plugin_budget.seconds


def log_settings(options: RunOptions) -> LogSettings:
    """Return what the logging flags say; raise OptionError if one makes no sense."""
    if options.logging_format not in ("text", "json"):
        raise OptionError(
            f'format: Invalid value: "{options.logging_format}": Unsupported log format; write text or json'
        )
    is_json = options.logging_format == "json"
    splits = options.log_json_split_stream if is_json else options.log_text_split_stream
    vmodule = tuple(_vmodule(piece) for piece in options.vmodule)
    return LogSettings("json" if is_json else "text", options.v, vmodule, splits)


def _vmodule(piece: str) -> tuple[str, int]:
    pattern, equals, verbosity = piece.partition("=")
    if not (equals and pattern and verbosity.isdigit()):
        raise OptionError(
            f'invalid argument "{piece}" for "--vmodule" flag: "{piece}" does not have the pattern=N format'
        )
    return pattern, int(verbosity)


def shown_metrics(options: RunOptions) -> Shown:
    """Return what is left out of the metrics; `metric,label=value,value` allows values of a label."""
    # Loaded here: the flags are read, and their help is written, without the library of metrics.
    from stowplan.observe.series import Shown

    allowed: dict[tuple[str, str], frozenset[str]] = {}
    for piece in _allowed_labels(options):
        key, equals, values = piece.partition("=")
        metric, comma, label = key.partition(",")
        if not (equals and comma):
            raise OptionError(f'--allow-metric-labels: "{piece}": write metric,label=value,value')
        allowed[metric.strip(), label.strip()] = frozenset(values.strip("'\"").split(","))
    return Shown(frozenset(options.disabled_metrics), allowed)


def _allowed_labels(options: RunOptions) -> tuple[str, ...]:
    """Return what the flag says, or the file in its place."""
    path = options.allow_metric_labels_manifest
    if not path:
        return options.allow_metric_labels
    if options.allow_metric_labels:
        raise OptionError("--allow-metric-labels and --allow-metric-labels-manifest exclude each other; give one")
    import yaml

    try:
        found = yaml.safe_load(Path(path).read_text(encoding="utf-8")) or {}
        written = msgspec.convert(found, dict[str, str])
    except (OSError, UnicodeDecodeError, yaml.YAMLError, msgspec.ValidationError) as error:
        remedy = "give a YAML file of lines such as metric,label: value,value"
        raise OptionError(f"--allow-metric-labels-manifest {path}: {error}; {remedy}") from error
    return tuple(f"{key}={values}" for key, values in written.items())

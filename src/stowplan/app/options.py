"""What `stowplan run` was told on its command line, and what that makes of a configuration and of logs and metrics.

`cli/flag_table.py` says how each flag is written; a field of `RunOptions` is the flag of the same name with dashes.
With `--config` the file counts: deprecated flags are ignored and only those of leader election win over it. Without a
file the deprecated flags count too. What the flags say about serving is read in `app/endpoints.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.types import ClientConnection, Configuration, LeaderElection
from stowplan.model.duration import Duration, of_seconds
from stowplan.observe.logs import LogSettings

if TYPE_CHECKING:
    from stowplan.observe.series import Shown


class RunOptions(msgspec.Struct, frozen=True, rename="kebab"):
    """All flags, with upstream's defaults. `given` names those that were written out."""

    # Misc
    config: str = ""
    config_map: str = ""
    config_text: str = ""
    legacy_config: bool = False
    master: str = ""
    write_config_to: str = ""

    # Secure serving
    bind_address: str = "0.0.0.0"
    cert_dir: str = ""
    disable_http2_serving: bool = False
    http2_max_streams_per_connection: int = 0
    permit_address_sharing: bool = False
    permit_port_sharing: bool = False
    secure_port: int = 10259
    tls_cert_file: str = ""
    tls_cipher_suites: tuple[str, ...] = ()
    tls_curve_preferences: tuple[str, ...] = ()
    tls_min_version: str = ""
    tls_private_key_file: str = ""
    tls_sni_cert_key: tuple[str, ...] = ()

    # Authentication
    authentication_kubeconfig: str = ""
    authentication_skip_lookup: bool = False
    authentication_token_webhook_cache_ttl: Duration = of_seconds(10)
    authentication_tolerate_lookup_failure: bool = True
    client_ca_file: str = ""
    requestheader_allowed_names: tuple[str, ...] = ()
    requestheader_client_ca_file: str = ""
    requestheader_extra_headers_prefix: tuple[str, ...] = ("x-remote-extra-",)
    requestheader_group_headers: tuple[str, ...] = ("x-remote-group",)
    requestheader_uid_headers: tuple[str, ...] = ()
    requestheader_username_headers: tuple[str, ...] = ("x-remote-user",)

    # Authorization
    authorization_always_allow_paths: tuple[str, ...] = ("/healthz", "/readyz", "/livez")
    authorization_kubeconfig: str = ""
    authorization_webhook_cache_authorized_ttl: Duration = of_seconds(10)
    authorization_webhook_cache_unauthorized_ttl: Duration = of_seconds(10)

    # Deprecated
    contention_profiling: bool = True
    kube_api_burst: int = 100
    kube_api_content_type: str = "application/vnd.kubernetes.protobuf"
    kube_api_qps: float = 50
    kubeconfig: str = ""
    pod_max_in_unschedulable_pods_duration: Duration = of_seconds(300)
    profiling: bool = True

    # Leader election
    leader_elect: bool = True
    leader_elect_lease_duration: Duration = of_seconds(15)
    leader_elect_renew_deadline: Duration = of_seconds(10)
    leader_elect_resource_lock: str = "leases"
    leader_elect_resource_name: str = "kube-scheduler"
    leader_elect_resource_namespace: str = "kube-system"
    leader_elect_retry_period: Duration = of_seconds(2)

    # Feature gate
    emulated_version: tuple[str, ...] = ()
    feature_gates: FeatureGates = DEFAULT_GATES
    min_compatibility_version: tuple[str, ...] = ()

    # Metrics
    allow_metric_labels: tuple[str, ...] = ()
    allow_metric_labels_manifest: str = ""
    disabled_metrics: tuple[str, ...] = ()
    show_hidden_metrics_for_version: str = ""

    # Logs
    log_flush_frequency: Duration = of_seconds(5)
    log_json_info_buffer_size: str = "0"
    log_json_split_stream: bool = False
    log_text_info_buffer_size: str = "0"
    log_text_split_stream: bool = False
    logging_format: str = "text"
    v: int = 0
    vmodule: tuple[str, ...] = ()

    # Global
    help: bool = False
    version: str = "false"

    #: The flags that were written out, by name.
    given: frozenset[str] = frozenset()
    #: Every flag as text, for /flagz.
    texts: tuple[tuple[str, str], ...] = ()


_ELECTION: Final = {
    "leader-elect": "leader_elect",
    "leader-elect-lease-duration": "lease_duration",
    "leader-elect-renew-deadline": "renew_deadline",
    "leader-elect-retry-period": "retry_period",
    "leader-elect-resource-lock": "resource_lock",
    "leader-elect-resource-name": "resource_name",
    "leader-elect-resource-namespace": "resource_namespace",
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

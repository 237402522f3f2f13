"""What the flags make of a configuration.

With `--config` the file counts: deprecated flags are ignored and only those of leader election win over it. Without a
file the deprecated flags count too.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from stowplan.app import settings
from stowplan.app.options import Options
from stowplan.app.release import VERSION
from stowplan.config.types import ClientConnection, Configuration, LeaderElection
from stowplan.observe.logs import LogSettings
from stowplan.observe.series import Shown
from stowplan.queue.backoff import QueueLimits
from stowplan.serving.authentication import ProxySettings
from stowplan.serving.authorization import AccessSettings
from stowplan.serving.certificates import TlsSettings
from stowplan.serving.server import Address

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


def has_file(options: Options) -> bool:
    """Say whether the configuration is written down somewhere, so that deprecated flags do not count."""
    return bool(options.config or options.config_map or options.config_text)


def effective(options: Options, written: Configuration) -> Configuration:
    """Return the configuration in force, given the one that is written down, or the default one."""
    election: LeaderElection = _with_flags(options, written.leader_election, _ELECTION)
    found = msgspec.structs.replace(written, leader_election=election)
    if has_file(options):
        return found
    client: ClientConnection = _with_flags(options, found.client_connection, _CLIENT)
    found = msgspec.structs.replace(found, client_connection=client)
    configuration: Configuration = _with_flags(options, found, _PROFILING)
    return configuration


def _with_flags(options: Options, value: Any, names: dict[str, str]) -> Any:
    changes = {
        field: getattr(options, flag.replace("-", "_")) for flag, field in names.items() if flag in options.given
    }
    return msgspec.structs.replace(value, **changes)


def ignored_flags(options: Options) -> list[str]:
    """Name the flags that were given but do not count, because the configuration comes from a file."""
    return [name for name in DEPRECATED if name in options.given] if has_file(options) else []


def queue_limits(options: Options, configuration: Configuration) -> QueueLimits:
    """Return how long pods wait: what the configuration says, and what it has no field for."""
    found = settings.queue_limits(configuration, options.feature_gates)
    return replace(found, max_unschedulable_seconds=int(options.pod_max_in_unschedulable_pods_duration.seconds))


def version(options: Options) -> str:
    """Return the version to report: --version=v... sets it."""
    return options.version if options.version.startswith("v") else VERSION


def log_settings(options: Options) -> LogSettings:
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


def address(options: Options) -> Address:
    if not 0 <= options.secure_port <= 65535:
        what = f"--secure-port {options.secure_port} must be between 0 and 65535, inclusive"
        raise OptionError(f"{what}. 0 for turning off secure port")
    return Address(options.bind_address or "0.0.0.0", options.secure_port, options.permit_port_sharing)


def tls_settings(options: Options) -> TlsSettings:
    return TlsSettings(
        options.tls_cert_file,
        options.tls_private_key_file,
        options.cert_dir,
        options.tls_min_version,
        options.tls_cipher_suites,
    )


def access_settings(options: Options) -> AccessSettings:
    for path in options.authorization_always_allow_paths:
        if "*" in path[:-1]:
            raise OptionError(f'--authorization-always-allow-paths: only trailing * allowed in "{path}"')
    return AccessSettings(
        options.authorization_always_allow_paths,
        allowed_seconds=options.authorization_webhook_cache_authorized_ttl.seconds,
        refused_seconds=options.authorization_webhook_cache_unauthorized_ttl.seconds,
    )


def proxy_settings(options: Options) -> ProxySettings:
    return ProxySettings(
        options.requestheader_allowed_names,
        options.requestheader_username_headers,
        options.requestheader_group_headers,
        options.requestheader_extra_headers_prefix,
        options.requestheader_uid_headers,
    )


def shown_metrics(options: Options) -> Shown:
    """Return what is left out of the metrics; `metric,label=value,value` allows values of a label."""
    allowed: dict[tuple[str, str], frozenset[str]] = {}
    for piece in _allowed_labels(options):
        key, equals, values = piece.partition("=")
        metric, comma, label = key.partition(",")
        if not (equals and comma):
            raise OptionError(f'--allow-metric-labels: "{piece}": write metric,label=value,value')
        allowed[metric.strip(), label.strip()] = frozenset(values.strip("'\"").split(","))
    return Shown(frozenset(options.disabled_metrics), allowed)


def _allowed_labels(options: Options) -> tuple[str, ...]:
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

"""Flags of `stowplan run` that were given and change nothing: told at the start, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stowplan.cli.flag_table import FLAGS
from stowplan.config.feature_gates import without_effect

if TYPE_CHECKING:
    from stowplan.app.options import Options

_PROXIES: Final = "requestheader-"
_PROXY_AUTHORITY: Final = "requestheader-client-ca-file"
_CONTENT_TYPES: Final = ("application/json", "application/vnd.kubernetes.protobuf")
_SPLIT: Final = {"log-json-split-stream": "json", "log-text-split-stream": "text"}


def warnings(options: Options) -> list[str]:
    """Return what is to be said about flags that were given but change nothing."""
    from stowplan.app.effective import ignored_flags

    told = [f"--{name} has no effect: {FLAGS[name].absent}" for name in sorted(options.given) if FLAGS[name].absent]
    told += [f"--{name} is ignored: the configuration file decides" for name in ignored_flags(options)]
    gates = without_effect(options.feature_gates)
    told += [gates] if gates else []
    return [*told, *_without_their_other_half(options), *_unknown_metrics(options)]


def _without_their_other_half(options: Options) -> Iterator[str]:
    """Tell flags that count together with another one only, which is missing or says otherwise."""
    for name in sorted(options.given):
        if name.startswith(_PROXIES) and not options.requestheader_client_ca_file and name != _PROXY_AUTHORITY:
            yield f"--{name} has no effect without --{_PROXY_AUTHORITY}: the cluster says whom to believe"
        elif name in _SPLIT and _SPLIT[name] != options.logging_format:
            yield f"--{name} has no effect with --logging-format={options.logging_format}"
        elif name == "legacy-config" and not (options.config or options.config_map or options.config_text):
            yield "--legacy-config has no effect without a configuration"
    if "kube-api-content-type" in options.given and options.kube_api_content_type not in _CONTENT_TYPES:
        yield f"--kube-api-content-type has no effect: write {' or '.join(_CONTENT_TYPES)}; {_CONTENT_TYPES[0]} is used"


def _unknown_metrics(options: Options) -> Iterator[str]:
    """Tell names of metrics that there are not."""
    if not (options.disabled_metrics or options.allow_metric_labels or options.allow_metric_labels_manifest):
        return
    from stowplan.app.effective import OptionError, shown_metrics
    from stowplan.observe.metrics import ALL

    labels = {definition.name: definition.labels for definition in ALL}
    try:
        shown = shown_metrics(options)
    except OptionError:
        # The start will tell.
        return
    for name in sorted(set(shown.disabled) - labels.keys()):
        yield f"--disabled-metrics: there is no metric {name!r}, which has no effect"
    for metric, label in shown.allowed:
        if label not in labels.get(metric, ()):
            yield f"--allow-metric-labels: there is no metric {metric!r} with a label {label!r}, which has no effect"

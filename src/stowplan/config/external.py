"""The configuration as a file again: what `--write-config-to` writes, every default spelled out.

`load.py` reads it back to the same configuration.
"""

from __future__ import annotations

from typing import Any

import msgspec

from stowplan.config.schema import GROUP, KIND, VERSION
from stowplan.config.types import (
    Configuration,
    ExtenderConfig,
    ExtenderManagedResource,
    ExtenderTLSConfig,
    KubeSchedulerProfile,
    PluginConfig,
    PluginSet,
)
from stowplan.model import affinity, meta
from stowplan.model.duration import Duration

_API_VERSION = f"{GROUP}/{VERSION}"

# Fields that are left out when they are empty, zero or false. Absent ones (None) always are; of structs that are not
# here, which are arguments of plugins, empty lists are.
_LEFT_OUT_WHEN_EMPTY: dict[type, frozenset[str]] = {
    Configuration: frozenset({"extenders", "delay_cache_until_active"}),
    KubeSchedulerProfile: frozenset({"arguments"}),
    PluginSet: frozenset({"enabled", "disabled"}),
    ExtenderConfig: frozenset(ExtenderConfig.__struct_fields__) - {"url_prefix", "http_timeout"},
    ExtenderTLSConfig: frozenset(ExtenderTLSConfig.__struct_fields__),
    ExtenderManagedResource: frozenset({"ignored_by_scheduler"}),
    affinity.NodeAffinity: frozenset({"preferred_during_scheduling_ignored_during_execution"}),
    affinity.NodeSelector: frozenset(),
    affinity.PreferredSchedulingTerm: frozenset(),
    affinity.NodeSelectorTerm: frozenset({"match_expressions", "match_fields"}),
    affinity.NodeSelectorRequirement: frozenset({"values"}),
    affinity.TopologySpreadConstraint: frozenset({"match_label_keys"}),
    meta.LabelSelector: frozenset({"match_labels", "match_expressions"}),
    meta.LabelSelectorRequirement: frozenset({"values"}),
}
# The model fills these in where the API would; the file has them only where they differ.
_LEFT_OUT_WHEN_DEFAULT: dict[type, dict[str, str]] = {
    affinity.TopologySpreadConstraint: {"node_affinity_policy": "Honor", "node_taints_policy": "Ignore"}
}


def to_external(config: Configuration) -> dict[str, Any]:
    """Give the configuration as the mapping a user could have written."""
    return {"apiVersion": _API_VERSION, "kind": KIND, **_fields(config)}


def to_yaml(config: Configuration) -> str:
    """Give the configuration as YAML text."""
    import yaml

    text: str = yaml.safe_dump(to_external(config), sort_keys=True, default_flow_style=False)
    return text


def _write(value: Any) -> Any:
    match value:
        case Duration():
            return str(value)
        case PluginConfig():
            return _plugin_config(value)
        case msgspec.Struct():
            return _fields(value)
        case tuple():
            return [_write(each) for each in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def _fields(struct: msgspec.Struct) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for field in msgspec.structs.fields(struct):
        value = getattr(struct, field.name)
        if not _is_left_out(type(struct), field.name, value):
            written[field.encode_name] = _write(value)
    return written


def _is_left_out(struct: type, name: str, value: Any) -> bool:
    if value is None:
        return True
    if name in _LEFT_OUT_WHEN_DEFAULT.get(struct, {}):
        return bool(value == _LEFT_OUT_WHEN_DEFAULT[struct][name])
    left_out = _LEFT_OUT_WHEN_EMPTY.get(struct)
    return value == () if left_out is None else not value and name in left_out


def _plugin_config(given: PluginConfig) -> dict[str, Any]:
    if isinstance(given.args, msgspec.Struct):
        own = {"apiVersion": _API_VERSION, "kind": type(given.args).__name__}
        return {"name": given.name, "args": own | _fields(given.args)}
    return {"name": given.name, "args": given.args}

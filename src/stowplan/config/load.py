"""The way in, from a file's text to a configuration in force; and out again, every default spelled out.

The stages are, in this order, decode, default, validate and construct; each is a module of its own. What is written
(`--write-config-to`) is read back to the same configuration.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from stowplan.config import decode, defaults, document, legacy
from stowplan.config.construct import construct
from stowplan.config.declarations import Declarations, PluginArgs
from stowplan.config.document import Document, Json, JsonObject, Number
from stowplan.config.errors import ConfigError
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.notes import notes
from stowplan.config.schema import GROUP, KIND, VERSION
from stowplan.config.types import (
    Configuration,
    ExtenderConfig,
    ExtenderManagedResource,
    ExtenderTLSConfig,
    PluginConfig,
    absent_points,
)
from stowplan.config.validate import validate
from stowplan.model.affinity import NodeSelector, TopologySpreadConstraint
from stowplan.model.duration import Duration
from stowplan.model.label_syntax import aggregate


@dataclass(frozen=True, slots=True)
class Reading:
    """How a text is read: whether one of an older release is converted, and who hears what has no effect."""

    takes_legacy: bool = False
    tell: Callable[[str], None] = lambda text: None


AS_IT_IS: Final = Reading()


def load(
    text: str, known: Declarations, gates: FeatureGates = DEFAULT_GATES, reading: Reading = AS_IT_IS
) -> Configuration:
    """Read YAML or JSON text; raise ConfigError if it cannot be used. `known` are the plugins that exist."""
    source = _parse(text)
    if reading.takes_legacy:
        source = legacy.convert(source, reading.tell)
    return _load(source, known, gates, reading)


def from_mapping(
    value: Mapping[str, object] | None,
    known: Declarations,
    gates: FeatureGates = DEFAULT_GATES,
    reading: Reading = AS_IT_IS,
) -> Configuration:
    """Take a configuration that was parsed elsewhere; None means the default one."""
    if value is None:
        return default_configuration(known, gates)
    return _load(document.from_value(value), known, gates, reading)


def default_configuration(known: Declarations, gates: FeatureGates = DEFAULT_GATES) -> Configuration:
    """Give the configuration of a scheduler that was given none."""
    return construct(defaults.complete({}, known, gates), known, gates)


def typed_arguments(args_type: type[PluginArgs], written: object, gates: FeatureGates) -> PluginArgs:
    """Read the arguments of a plugin that is known only when it is made; raise ConfigError if they cannot be used."""
    fields = decode.decode_arguments(args_type, document.from_value(written).root)
    args = defaults.typed(args_type, fields, gates)
    faults = args.faults("", gates)
    if faults:
        raise ConfigError("construct", aggregate(tuple(faults)))
    return args


def _load(source: Document, known: Declarations, gates: FeatureGates, reading: Reading) -> Configuration:
    fields = decode.decode(source, known, absent_points(gates))
    config = defaults.complete(fields, known, gates)
    validate(config, gates)
    built = construct(config, known, gates)
    for note in notes(fields, config, known):
        reading.tell(note)
    return built


def _parse(text: str) -> Document:
    """Read a text as JSON if it starts like an object, else as YAML, whose reader is imported only then."""
    try:
        if text.lstrip().startswith("{"):
            return Document(_parse_json(text), text)
        from stowplan.config import yaml_text

        root, faults = yaml_text.parse(text)
        return Document(root, text, faults)
    except RecursionError:
        raise ConfigError("decode", "the configuration is nested too deeply") from None


def _parse_json(text: str) -> Json:
    try:
        root: Json = json.loads(
            text,
            object_pairs_hook=lambda pairs: JsonObject(tuple(pairs)),
            parse_int=Number,
            parse_float=Number,
            parse_constant=_refuse_constant,
        )
    except ValueError as error:
        raise ConfigError("decode", f"couldn't get version/kind; json parse error: {error}") from None
    return root


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a JSON number")


_API_VERSION = f"{GROUP}/{VERSION}"

# Fields that are left out when they are empty, zero or false. Absent ones (None) always are; of structs that are not
# here, empty lists and mappings are.
_LEFT_OUT_WHEN_EMPTY: dict[type, frozenset[str]] = {
    Configuration: frozenset({"extenders", "delay_cache_until_active"}),
    ExtenderConfig: frozenset(ExtenderConfig.__struct_fields__) - {"url_prefix", "http_timeout"},
    ExtenderTLSConfig: frozenset(ExtenderTLSConfig.__struct_fields__),
    ExtenderManagedResource: frozenset({"ignored_by_scheduler"}),
    NodeSelector: frozenset(),
}
# The model fills these in where the API would; the file has them only where they differ.
_LEFT_OUT_WHEN_DEFAULT: dict[type, dict[str, str]] = {
    TopologySpreadConstraint: {"node_affinity_policy": "Honor", "node_taints_policy": "Ignore"}
}


def to_external(config: Configuration) -> dict[str, Any]:
    """Give the configuration as the mapping a user could have written."""
    return {"apiVersion": _API_VERSION, "kind": KIND, **_fields(config)}


def to_yaml(config: Configuration) -> str:
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
    return value in ((), {}) if left_out is None else not value and name in left_out


def _plugin_config(given: PluginConfig) -> dict[str, Any]:
    if isinstance(given.args, msgspec.Struct):
        own = {"apiVersion": _API_VERSION, "kind": type(given.args).__name__}
        return {"name": given.name, "args": own | _fields(given.args)}
    return {"name": given.name, "args": given.args}

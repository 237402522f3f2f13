"""The way in: from a file's text to a configuration in force.

The stages are, in this order, decode, default, validate and construct; each is a module of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from stowplan.config import decode, defaults, document, legacy
from stowplan.config.construct import construct
from stowplan.config.declarations import Declarations, PluginArgs
from stowplan.config.document import Document, Json, JsonObject, Number
from stowplan.config.errors import ConfigError
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.notes import notes
from stowplan.config.types import Configuration
from stowplan.config.validate import validate
from stowplan.model.label_syntax import aggregate


def _nobody(text: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a text is read: whether one of an older release is converted, and who hears what has no effect."""

    takes_legacy: bool = False
    tell: Callable[[str], None] = _nobody


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
    fields = decode.decode(source, known)
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

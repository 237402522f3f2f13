"""The way in: from a file's text to a configuration in force.

The stages are, in this order, decode, default, validate and construct; each is a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from stowplan.config import decode, defaults, document, legacy
from stowplan.config.construct import construct
from stowplan.config.document import Document
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.notes import notes
from stowplan.config.points import IN_TREE, PointsOf
from stowplan.config.references import spelled_alike
from stowplan.config.text import parse
from stowplan.config.types import Configuration
from stowplan.config.validate import validate


def _nobody(text: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a text is read: whether one of an older release is converted, and who hears what has no effect."""

    takes_legacy: bool = False
    tell: Callable[[str], None] = _nobody


AS_IT_IS: Final = Reading()


def load(
    text: str, known: PointsOf = IN_TREE, gates: FeatureGates = DEFAULT_GATES, reading: Reading = AS_IT_IS
) -> Configuration:
    """Read YAML or JSON text; raise ConfigError if it cannot be used.

    `known` are the plugins that exist, each with the extension points it takes part in.
    """
    source = parse(text)
    if reading.takes_legacy:
        source = legacy.convert(source, reading.tell)
    return _load(source, known, gates, reading)


def from_mapping(
    value: Mapping[str, object] | None,
    known: PointsOf = IN_TREE,
    gates: FeatureGates = DEFAULT_GATES,
    reading: Reading = AS_IT_IS,
) -> Configuration:
    """Take a configuration that was parsed elsewhere; None means the default one."""
    if value is None:
        return default_configuration(known, gates)
    return _load(document.from_value(value), known, gates, reading)


def default_configuration(known: PointsOf = IN_TREE, gates: FeatureGates = DEFAULT_GATES) -> Configuration:
    """Give the configuration of a scheduler that was given none."""
    return construct(defaults.complete({}, gates), known)


def _load(source: Document, known: PointsOf, gates: FeatureGates, reading: Reading) -> Configuration:
    fields = decode.decode(source)
    config = spelled_alike(defaults.complete(fields, gates))
    validate(config, gates)
    built = construct(config, known)
    for note in notes(fields, config, known):
        reading.tell(note)
    return built

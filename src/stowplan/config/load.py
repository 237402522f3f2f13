"""The way in: from a file's text to a configuration in force.

The stages are, in this order, decode, default, validate and construct; each is a module of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from stowplan.config import decode, defaults, document
from stowplan.config.construct import construct
from stowplan.config.document import Document
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.points import IN_TREE, PointsOf
from stowplan.config.text import parse
from stowplan.config.types import Configuration
from stowplan.config.validate import validate


def load(text: str, known: PointsOf = IN_TREE, gates: FeatureGates = DEFAULT_GATES) -> Configuration:
    """Read YAML or JSON text; raise ConfigError if it cannot be used.

    `known` are the plugins that exist, each with the extension points it takes part in.
    """
    return _load(parse(text), known, gates)


def from_mapping(
    value: Mapping[str, object] | None, known: PointsOf = IN_TREE, gates: FeatureGates = DEFAULT_GATES
) -> Configuration:
    """Take a configuration that was parsed elsewhere; None means the default one."""
    if value is None:
        return default_configuration(known, gates)
    return _load(document.from_value(value), known, gates)


def default_configuration(known: PointsOf = IN_TREE, gates: FeatureGates = DEFAULT_GATES) -> Configuration:
    """Give the configuration of a scheduler that was given none."""
    return construct(defaults.complete({}, gates), known)


def _load(source: Document, known: PointsOf, gates: FeatureGates) -> Configuration:
    config = defaults.complete(decode.decode(source), gates)
    validate(config, gates)
    return construct(config, known)

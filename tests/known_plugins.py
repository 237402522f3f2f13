"""Configurations as they are read where kube-scheduler's own plugins are all there is."""

from collections.abc import Mapping
from functools import cache
from typing import Final

from stowplan.config import load as loading
from stowplan.config.declarations import Declarations
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.load import AS_IT_IS, Reading
from stowplan.config.types import Configuration
from stowplan.framework.registry import Registry
from stowplan.plugins import in_tree


@cache
def known_in(gates: FeatureGates) -> Declarations:
    """Return what upstream's plugins declare in a release."""
    declared = Registry(in_tree()).declarations(gates)
    return {name: one for name, one in declared.items() if one.is_default}


IN_TREE: Final[Declarations] = Registry(in_tree()).declarations()
KNOWN: Final[Declarations] = known_in(DEFAULT_GATES)


def load(
    text: str,
    known: Declarations | None = None,
    gates: FeatureGates = DEFAULT_GATES,
    reading: Reading = AS_IT_IS,
) -> Configuration:
    return loading.load(text, known_in(gates) if known is None else known, gates, reading)


def from_mapping(
    value: Mapping[str, object] | None, known: Declarations | None = None, gates: FeatureGates = DEFAULT_GATES
) -> Configuration:
    return loading.from_mapping(value, known_in(gates) if known is None else known, gates)


def default_configuration(gates: FeatureGates = DEFAULT_GATES) -> Configuration:
    return loading.default_configuration(known_in(gates), gates)

"""Configurations as they are read where kube-scheduler's own plugins are all there is."""

from collections.abc import Mapping
from typing import Final

from stowplan.config import load as loading
from stowplan.config.declarations import Declarations
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.load import AS_IT_IS, Reading
from stowplan.config.types import Configuration
from stowplan.framework.registry import Registry
from stowplan.plugins import NOT_BUILT, in_tree

IN_TREE: Final[Declarations] = Registry(in_tree(), NOT_BUILT).declarations()
KNOWN: Final[Declarations] = {name: one for name, one in IN_TREE.items() if one.is_default}


def load(
    text: str, known: Declarations = KNOWN, gates: FeatureGates = DEFAULT_GATES, reading: Reading = AS_IT_IS
) -> Configuration:
    return loading.load(text, known, gates, reading)


def from_mapping(
    value: Mapping[str, object] | None, known: Declarations = KNOWN, gates: FeatureGates = DEFAULT_GATES
) -> Configuration:
    return loading.from_mapping(value, known, gates)


def default_configuration(gates: FeatureGates = DEFAULT_GATES) -> Configuration:
    return loading.default_configuration(KNOWN, gates)

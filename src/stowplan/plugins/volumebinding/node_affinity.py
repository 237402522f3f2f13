"""Which nodes a volume can be reached from: its node affinity, asked of rows.

A volume sees the labels of a node only: conditions on the node's fields are met by every node.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from stowplan.model.affinity import NodeSelector
from stowplan.model.node_selector import CompiledNodeSelector, CompiledTerm, compile_node_selector
from stowplan.model.storage import PersistentVolume
from stowplan.table import node_match
from stowplan.table.columns import Mask
from stowplan.table.nodes import Nodes


def required(volume: PersistentVolume) -> CompiledNodeSelector | None:
    """Return what a node must be like for the volume; None if any will do."""
    affinity = volume.spec.node_affinity
    return None if affinity is None or affinity.required is None else by_labels(affinity.required)


@lru_cache(maxsize=8192)
def by_labels(selector: NodeSelector) -> CompiledNodeSelector:
    """Compile a node selector to be asked of nothing but labels; equal ones share the result."""
    terms = compile_node_selector(selector).terms
    return CompiledNodeSelector(tuple(CompiledTerm(labels=term.labels, errors=term.errors) for term in terms))


def admitted(selector: CompiledNodeSelector | None, nodes: Nodes) -> Mask:
    """Say which rows a selector admits."""
    return np.ones(len(nodes), dtype=bool) if selector is None else node_match.selected(selector, nodes)

"""Three nodes in two zones, and what VolumeBinding says of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from stowplan.framework.kept.asking import ask_filter
from stowplan.framework.verdict import Code, Vocabulary
from stowplan.model.pod import Pod
from stowplan.plugins.volumebinding.binder import VolumeNeeds
from stowplan.plugins.volumebinding.plugin import VolumeBinding
from stowplan.table.nodes import Nodes
from stowplan.testing import LocalHandle
from tests.unit.plugins.small_cluster import make_node
from tests.unit.plugins.volumes.stored import HOSTNAME, ZONE

OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

NODES = [
    make_node("a", labels={HOSTNAME: "a", ZONE: "east"}),
    make_node("b", labels={HOSTNAME: "b", ZONE: "east"}),
    make_node("c", labels={HOSTNAME: "c", ZONE: "west"}),
]


def refusals(pod: Pod, *objects: Any) -> dict[str, list[str]]:
    """Return the reasons by node, each of which must be unresolvable, and check that a row alone is told the same."""
    handle = LocalHandle(*NODES, *objects)
    plugin = VolumeBinding(handle)
    nodes = Nodes(handle.table)
    state = plugin.pre_filter(pod, nodes)

    def told(rows: Nodes) -> list[list[str]]:
        vocabulary = Vocabulary()
        words = ask_filter(plugin, pod, rows, state, vocabulary)
        if words is None:
            return [[] for _ in range(len(rows))]
        rejections = [vocabulary.rejections[number] for number in words.tolist()]
        assert all(said is None or said.code is Code.UNRESOLVABLE for said in rejections)
        return [[] if said is None else list(said.reasons) for said in rejections]

    together = told(nodes)
    assert [told(nodes.take(np.array([row])))[0] for row in range(len(NODES))] == together
    return {node.name: reasons for node, reasons in zip(NODES, together, strict=True) if reasons}


def everywhere(reason: str) -> dict[str, list[str]]:
    return {"a": [reason], "b": [reason], "c": [reason]}


def feasible(plugin: VolumeBinding, pod: Pod, nodes: Nodes) -> str:
    """Return the names of the nodes that are not refused, one after the other."""
    state = plugin.pre_filter(pod, nodes)
    assert isinstance(state, VolumeNeeds)
    masks = [reject.mask for reject in plugin.filter(pod, nodes, state)]
    return "".join(node.name for row, node in enumerate(NODES) if not any(mask[row] for mask in masks))

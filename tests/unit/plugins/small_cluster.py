"""A handful of nodes as a table, and what a plugin says about each of them by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from stowplan.framework.contract import SKIP, Filter, Narrowed, PreFilter, PreScore, Score
from stowplan.model import decode
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table

Refusals = dict[str, tuple[str, str]]


def make_pod(name: str = "pod", **spec: Any) -> Pod:
    """Make a pod of a spec written as in a manifest."""
    return decode.convert(Pod, {"metadata": {"name": name, "uid": f"uid-of-{name}"}, "spec": spec})


def make_node(name: str, **fields: Any) -> Node:
    """Make a node of labels, spec and status written as in a manifest."""
    metadata = {"name": name, "labels": fields.pop("labels", {})}
    return decode.convert(Node, {"metadata": metadata, **fields})


class SmallCluster:
    """A table with its nodes in the order given."""

    def __init__(self, *nodes: Node) -> None:
        self.table = Table()
        for node in nodes:
            self.table.add_node(node)

    @property
    def nodes(self) -> Nodes:
        return Nodes(self.table)

    def place(self, node_name: str, *pods: Pod) -> None:
        for pod in pods:
            self.table.add_pod(self.table.row_of[node_name], self.table.shape_of(pod))

    def suppose(self, node_name: str, *, added: tuple[Pod, ...] = (), gone: tuple[Pod, ...] = ()) -> Nodes:
        """Return one row as it would be."""
        row = np.array([self.table.row_of[node_name]])
        shapes = [[self.table.shape_of(pod) for pod in pods] for pods in (added, gone)]
        return self.nodes.suppose(row, [shapes[0]], [shapes[1]])

    def refusals(self, plugin: Filter, pod: Pod, supposed: Nodes | None = None) -> Refusals:
        """Return reason and code by node name, and check that a row alone is told the same."""
        state = plugin.pre_filter(pod, self.nodes) if isinstance(plugin, PreFilter) else None
        if state is SKIP:
            return {}
        state = state.state if isinstance(state, Narrowed) else state
        if supposed is not None:
            return self._told(plugin, pod, supposed, state)
        together = self._told(plugin, pod, self.nodes, state)
        alone: Refusals = {}
        for row in range(len(self.table)):
            alone |= self._told(plugin, pod, self.nodes.take(np.array([row])), state)
        assert alone == together
        return together

    def scores(self, plugin: Score, pod: Pod) -> dict[str, int]:
        """Return the raw score by node name, and check that a row alone scores the same."""
        state = plugin.pre_score(pod, self.nodes) if isinstance(plugin, PreScore) else None
        together = plugin.score(pod, self.nodes, state)
        assert together.dtype.kind == "i"
        alone = [plugin.score(pod, self.nodes.take(np.array([row])), state)[0] for row in range(len(self.table))]
        assert alone == together.tolist()
        return dict(zip(self._names(), together.tolist(), strict=True))

    def _told(self, plugin: Filter, pod: Pod, nodes: Nodes, state: Any) -> Refusals:
        told: Refusals = {}
        for refusal in plugin.filter(pod, nodes, state):
            code = "unresolvable" if refusal.unresolvable else "resolvable"
            for row in nodes.all_rows[refusal.mask].tolist():
                assert self._names()[row] not in told, "upstream gives one reason only"
                told[self._names()[row]] = (refusal.reason, code)
        return told

    def _names(self) -> list[str]:
        return [node.name for node in self.table.nodes]

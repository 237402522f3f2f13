"""Plugins that answer for one node, lifted to the array contract.

`registry` wraps a `FilterNode` or `ScoreNode` in these classes; they ask only about rows that still matter.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from stowplan.framework.contract import Filter, FilterNode, Plugin, Reject, Score, ScoreNode, reject
from stowplan.framework.remedies import Need, RejectedRows
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.columns import Counted, Scores
from stowplan.table.nodes import Nodes


class NodeRow:
    """One node as a per-node plugin sees it; whatever is read is noted as a read of that row."""

    __slots__ = ("_nodes", "_position")

    def __init__(self, nodes: Nodes, position: int) -> None:
        self._nodes = nodes
        self._position = position

    @property
    def node(self) -> Node:
        """The Node object itself."""
        return self._nodes.node(self._position)

    @property
    def name(self) -> str:
        return self.node.metadata.name

    @property
    def labels(self) -> Mapping[str, str]:
        return self.node.metadata.labels

    def allocatable(self, resource: str) -> int:
        """Return what the node has of a resource, in millicores for cpu and whole units for the rest."""
        return int(self._nodes.allocatable[self._nodes.resource(resource), self._position])

    def requested(self, resource: str) -> int:
        """Return what the pods of the node take of a resource."""
        return int(self._nodes.requested[self._nodes.resource(resource), self._position])

    def free(self, resource: str) -> int:
        return self.allocatable(resource) - self.requested(resource)

    def column(self, name: str) -> Any:
        """Return the node's value in a column that a plugin declared."""
        return self._nodes.column(name)[self._position]

    def count(self, counted: Counted) -> int:
        """Return how many pods of the node a rule counts."""
        return int(self._nodes.count(counted)[self._position])


class _Wrapped(Plugin):
    """Shows the name, signature and remedies of the plugin inside."""

    def __init__(self, inside: Plugin) -> None:
        self.inside = inside
        self.name = inside.name

    def sign(self, pod: Pod) -> Hashable:
        return self.inside.sign(pod)

    def remedies(self, rejected: RejectedRows) -> Iterable[Need]:
        return self.inside.remedies(rejected)


def unwrapped(plugin: Plugin) -> Plugin:
    """Return a plugin as its author wrote it."""
    return plugin.inside if isinstance(plugin, _Wrapped) else plugin


class EachNodeFilter(_Wrapped, Filter):
    """A `FilterNode`, asked row by row."""

    inside: FilterNode

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        by_answer: dict[tuple[str, bool], list[int]] = {}
        for position in _asked(nodes):
            for reason, unresolvable in _reasons(self.inside.filter_node(pod, NodeRow(nodes, position), state)):
                by_answer.setdefault((reason, unresolvable), []).append(position)
        for (reason, unresolvable), positions in by_answer.items():
            mask = np.zeros(len(nodes), dtype=bool)
            mask[positions] = True
            yield reject(mask, reason, unresolvable=unresolvable)


class EachNodeScore(_Wrapped, Score):
    """A `ScoreNode`, asked row by row."""

    inside: ScoreNode

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        scores = np.zeros(len(nodes), dtype=np.int64)
        for position in _asked(nodes):
            scores[position] = int(self.inside.score_node(pod, NodeRow(nodes, position), state))
        return scores


def _asked(nodes: Nodes) -> list[int]:
    asked: list[int] = np.flatnonzero(nodes.asked).tolist() if nodes.asked is not None else list(range(len(nodes)))
    return asked


def _reasons(answer: str | Rejection | None) -> Iterator[tuple[str, bool]]:
    if isinstance(answer, Rejection):
        yield from ((reason, answer.code is Code.UNRESOLVABLE) for reason in answer.reasons)
    elif answer is not None:
        yield answer, False

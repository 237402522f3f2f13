"""Rows that must leave room for pods nominated to them: what the filters say with these pods there, kept as well.

A nominated pod closes a row to all that are less important until it gets there. With preemption under way that is the
usual state, with up to as many rows as pods wait, so only rows that have changed are supposed again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from stowplan.framework.kept.filtering import Filtering
from stowplan.framework.kept.supposed import SupposedAnswers
from stowplan.framework.verdict import Words
from stowplan.model.pod import Pod, pod_id
from stowplan.table.columns import Mask
from stowplan.table.journal import Journal
from stowplan.table.nodes import Nodes
from stowplan.table.shape import PodShape
from stowplan.table.table import Table

#: By row of the table, the nominated pods that must find room there too.
NominatedByRow = Mapping[int, Sequence[PodShape]]


class NominatedPods(Protocol):
    """The pods that wait for a node on which room is being made for them."""

    @property
    def position(self) -> int:
        """A number that grows with every change."""

    @property
    def shapes(self) -> dict[str, PodShape]:
        """The shapes of nominated pods that somebody has found out, by their ids."""

    @property
    def by_node(self) -> Collection[str]:
        """The nodes that pods are nominated to."""

    def since(self, position: int) -> Sequence[str] | None:
        """Return the nodes that changes after `position` were about; None if that is not known."""

    def node_of(self, pod: Pod) -> str:
        """Return the node that a pod is nominated to; empty if there is none."""

    def on(self, node_name: str) -> Sequence[Pod]:
        """Return the pods that are nominated to a node."""

    def ahead_on(self, node_name: str, pod: Pod) -> Sequence[Pod]:
        """Return those that `pod` must leave room for: others of at least its priority."""


class RowsLeft(NamedTuple):
    """The words about rows that are taken, 0 elsewhere, and what is left of the feasible rows."""

    words: Words
    feasible: Mask
    feasible_count: int


class BesideNominated:
    """The rows that nominated pods leave to pods of one signature, which all have the same priority."""

    def __init__(self, filtering: Filtering, table: Table) -> None:
        self._filtering, self._table = filtering, table
        self._supposed = SupposedAnswers(filtering, table)
        #: Marked where `by_row` has something else to say than the last time.
        self.journal = Journal()
        # The row that the last one asked about is nominated to itself.
        self._last_own: int | None = None
        # How far nominations are taken in; -1 if nothing is known.
        self._position = -1
        self._shapes: dict[int, list[PodShape]] = {}
        self._words: Words = np.zeros(0, dtype=np.int32)
        # What is left, and where the feasible rows stood then.
        self._left: tuple[int, RowsLeft | None] | None = None

    def rows_left(self, pod: Pod, nominations: NominatedPods) -> RowsLeft | None:
        """Return what nominated pods leave to `pod`; None if that is everything."""
        self._refresh(pod, nominations)
        own = self._own_row(pod, nominations)
        if own is not None:
            words, others = self._words.copy(), self._others_on(own, pod, nominations)
            words[own] = self._suppose(pod, {own: others})[0] if others else 0
            return self._left_by(words)
        position = self._filtering.feasible_journal.position
        if self._left is None or self._left[0] != position:
            self._left = (position, self._left_by(self._words))
        return self._left[1]

    def by_row(self, pod: Pod, nominations: NominatedPods) -> NominatedByRow:
        """Return the nominated pods that `pod` must leave room for."""
        self._refresh(pod, nominations)
        own = self._own_row(pod, nominations)
        for row in (self._last_own, own):
            if row is not None:
                self.journal.mark(row)
        self._last_own = own
        return self._shapes if own is None else {**self._shapes, own: self._others_on(own, pod, nominations)}

    def _refresh(self, pod: Pod, nominations: NominatedPods) -> None:
        names, stale = nominations.since(self._position), self._supposed.stale(pod)
        # Until the end, for one of the filters may fail.
        self._position = -1
        if names is None or stale is None:
            self._shapes, self._words, self._left = {}, np.zeros(len(self._table), dtype=np.int32), None
            self.journal.mark_all()
            names, stale = [*nominations.by_node], set()
        changed = {row: self._shapes[row] for row in stale if row in self._shapes}
        nodes = self._filtering.nodes
        for name in names:
            row = self._table.row_of.get(name)
            if row is not None:
                # Whoever asks need not leave room for itself, and is left out where it does.
                others = [other for other in nominations.on(name) if other.priority >= pod.priority]
                changed[row] = self._shapes[row] = [_shape_of(other, nominations, nodes) for other in others]
                self.journal.mark(row)
        if changed:
            self._words[list(changed)] = self._suppose(pod, changed)
            for row in [row for row, shapes in changed.items() if not shapes]:
                del self._shapes[row]
            self._left = None
        self._position = nominations.position

    def _suppose(self, pod: Pod, shapes: NominatedByRow) -> Words:
        """Return the words about rows with these pods on them; where there are none, nobody is in the way."""
        words: Words = np.zeros(len(shapes), dtype=np.int32)
        taken = [position for position, pods in enumerate(shapes.values()) if pods]
        if taken:
            rows = np.fromiter(shapes, dtype=np.intp, count=len(shapes))[taken]
            added = [pods for pods in shapes.values() if pods]
            words[taken] = self._supposed.suppose(pod, self._filtering.nodes.suppose(rows, added, [[] for _ in added]))
        return words

    def _left_by(self, words: Words) -> RowsLeft | None:
        is_taken = words != 0
        if not np.count_nonzero(is_taken):
            return None
        feasible = self._filtering.feasible & ~is_taken
        return RowsLeft(words, feasible, int(np.count_nonzero(feasible)))

    def _own_row(self, pod: Pod, nominations: NominatedPods) -> int | None:
        """Return the row that the pod itself is nominated to, where it need not leave room for itself."""
        row = self._table.row_of.get(nominations.node_of(pod))
        return row if row in self._shapes else None

    def _others_on(self, row: int, pod: Pod, nominations: NominatedPods) -> list[PodShape]:
        nodes, others = self._filtering.nodes, nominations.ahead_on(self._table.nodes[row].name, pod)
        return [_shape_of(other, nominations, nodes) for other in others]


def _shape_of(pod: Pod, nominations: NominatedPods, nodes: Nodes) -> PodShape:
    known = nominations.shapes.get(pod_id(pod))
    if known is None:
        known = nominations.shapes[pod_id(pod)] = nodes.shape_of(pod)
    return known

"""What the pods of each node add up to, and what they hold, such as volumes: kept up to date as pods come and go.

A count column has how many pods of each node a rule counts. A shape remembers which columns it adds to, and how much,
and looks for them by its labels, so a pod costs as much as the columns it matches, not as all.

A thing that several pods of a node hold is there once, so it cannot be counted pod by pod. What is kept is who has it;
whoever reads it counts for himself, and again only for the rows that the journal names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol

import numpy as np

from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.selectors import Label
from stowplan.table.columns import CountColumn, Counted, CountedByLabels, K, Uses
from stowplan.table.hypothetical import Moves
from stowplan.table.journal import Journal
from stowplan.table.shape import PodShape

PodCounts = Mapping[Hashable, int]
NOTHING: Final[PodCounts] = MappingProxyType({})
NOWHERE: Final[Mapping[int, int]] = MappingProxyType({})


class Counts:
    """Count columns by rule, over the shapes of the pods that are placed."""

    def __init__(self, shapes: Mapping[Hashable, PodShape], capacity: int) -> None:
        #: In the order in which they were built; `PodShape.deltas_upto` counts in it.
        self.columns: list[CountColumn] = []
        self._by_rule: dict[Counted, CountColumn] = {}
        # Their numbers in it, by a label that the pods they count must have, or None.
        self._about: dict[Label | None, list[int]] = {}
        self._generation = 1
        self._shapes = shapes
        self._size = (capacity, 0)
        self._uses = Uses()

    def fit(self, capacity: int, rows: int) -> None:
        self._size = (capacity, rows)
        for column in self.columns:
            column.fit(capacity, rows)

    def count(self, counted: Counted) -> CountColumn:
        """Return the column of a rule, building it from the placed pods the first time it is asked for."""
        column = self._by_rule.get(counted)
        if column is None:
            column = self._build(counted)
        return self._uses.note(column)

    def deltas(self, shape: PodShape) -> list[tuple[CountColumn, int]]:
        """Return the columns that a pod of this shape adds to, and how much."""
        upto = (self._generation, len(self.columns))
        if shape.deltas_upto != upto:
            if shape.deltas_upto[0] != self._generation:
                shape.deltas, shape.deltas_upto = [], (self._generation, 0)
            fresh = self._since(shape.deltas_upto[1], shape.pod.labels)
            amounts = ((column, column.counted.amount(shape.pod)) for column in fresh)
            shape.deltas += [(column, amount) for column, amount in amounts if amount]
            shape.deltas_upto = upto
        return shape.deltas

    def exchange(self, row: int, old: PodShape, new: PodShape) -> None:
        """Count a pod of a row by its new shape in the columns where that makes a difference."""
        before, after = self.deltas(old), self.deltas(new)
        if before != after:
            change = Counter(dict(after))
            change.subtract(dict(before))
            for column, amount in change.items():
                if amount:
                    column.add(row, amount)

    def _since(self, number: int, labels: Mapping[str, str]) -> list[CountColumn]:
        """Return the columns from a number on that may count a pod with these labels, in their order."""
        found: list[int] = []
        for label in (None, *labels.items()):
            for known in reversed(self._about.get(label, ())):
                if known < number:
                    break
                found.append(known)
        return [self.columns[known] for known in sorted(found)]

    def _enter(self, column: CountColumn) -> None:
        counted = column.counted
        needed: list[tuple[Label | None, ...]] = [(None,)]
        if isinstance(counted, CountedByLabels):
            needed = [*counted.needed_labels()] or needed
        # The rarest label keeps apart best.
        for label in min(needed, key=lambda labels: sum(len(self._about.get(label, ())) for label in labels)):
            self._about.setdefault(label, []).append(len(self.columns))
        self.columns.append(column)

    def _build(self, counted: Counted) -> CountColumn:
        if self._uses.make_room(self._by_rule):
            self.columns, self._about = [], {}
            self._generation += 1
            for known in self._by_rule.values():
                self._enter(known)
        column = self._by_rule[counted] = CountColumn(counted, self._size[0])
        column.fit(*self._size)
        self._enter(column)
        for shape in list(self._shapes.values()):
            amount = counted.amount(shape.pod) if shape.rows else 0
            if amount:
                for row, pods in shape.rows.items():
                    column.add(row, amount * pods)
        return column


class Held(Counted, Protocol):
    """What is held: a hashable rule that names the things of one pod, and says how many (`amount`)."""

    def things(self, pod: Pod) -> Sequence[Hashable]:
        """Return what `pod` holds on its node; the same whenever asked."""


@dataclass(slots=True, eq=False)
class Holding:
    """What the pods of all nodes hold under one rule.

    The journal is marked with every row where that changes, and with every row that becomes another node's.
    """

    _held: Held
    _nodes: Sequence[Node]
    #: The rows of nodes by name, all that there are.
    row_of: Mapping[str, int]
    journal: Journal = field(default_factory=Journal)
    #: By row, and by thing, how many pods hold it.
    _on: dict[int, dict[Hashable, int]] = field(default_factory=dict)
    _where: dict[Hashable, dict[int, int]] = field(default_factory=dict)

    def node_name(self, row: int) -> str:
        """Return the name of the node that has a row; empty if there is none (any more)."""
        return self._nodes[row].metadata.name if row < len(self._nodes) else ""

    def on(self, row: int) -> PodCounts:
        """Return what the pods of a row hold, and how many of them each thing."""
        return self._on.get(row, NOTHING)

    def rows_with(self, thing: Hashable) -> Mapping[int, int]:
        """Return the rows where a thing is held, and how many pods hold it there."""
        return self._where.get(thing, NOWHERE)

    def add(self, row: int, shape: PodShape, pods: int) -> None:
        """Count so many more pods of a shape on a row, or less."""
        things = self._held.things(shape.pod)
        for thing in things:
            _count(self._on.setdefault(row, {}), thing, pods)
            _count(self._where.setdefault(thing, {}), row, pods)
            if not self._on[row]:
                del self._on[row]
            if not self._where[thing]:
                del self._where[thing]
        if things:
            self.journal.mark(row)

    def exchange(self, row: int, old: PodShape, new: PodShape) -> None:
        """Count a pod of a row by its new shape, if it holds other things by it."""
        if self._held.things(old.pod) != self._held.things(new.pod):
            self.add(row, old, -1)
            self.add(row, new, 1)

    def move(self, source: int, target: int) -> None:
        """Take over that a node has got another row."""
        things = self._on.pop(source, None)
        if things is not None:
            self._on[target] = things
            for thing in things:
                rows = self._where[thing]
                rows[target] = rows.pop(source)
        self.journal.mark(target)


@dataclass(slots=True, eq=False)
class Holdings:
    """All rules that were asked about, over the nodes and shapes that the table keeps."""

    _nodes: Sequence[Node]
    _row_of: Mapping[str, int]
    _shapes_on: Sequence[Mapping[PodShape, int]]
    by_rule: dict[Held, Holding] = field(default_factory=dict)

    def find(self, held: Held) -> Holding:
        """Return who holds what under a rule, found out from the placed pods the first time it is asked for."""
        holding = self.by_rule.get(held)
        if holding is None:
            holding = self.by_rule[held] = Holding(held, self._nodes, self._row_of)
            for row, shapes in enumerate(self._shapes_on):
                for shape, pods in shapes.items():
                    holding.add(row, shape, pods)
        return holding

    def add(self, row: int, shape: PodShape, pods: int) -> None:
        for holding in self.by_rule.values():
            holding.add(row, shape, pods)

    def exchange(self, row: int, old: PodShape, new: PodShape) -> None:
        for holding in self.by_rule.values():
            holding.exchange(row, old, new)

    def move(self, source: int, target: int) -> None:
        for holding in self.by_rule.values():
            holding.move(source, target)

    def mark(self, row: int) -> None:
        """Take over that a row has become a node's, or nobody's."""
        for holding in self.by_rule.values():
            holding.journal.mark(row)


def changes_of(moves: Moves, held: Held) -> dict[int, Counter[Hashable]]:
    """Return, for the supposed rows where it changes, by how many pods more or less each thing would be held."""
    changes: dict[int, Counter[Hashable]] = {}
    entries = moves.entries_of(held)
    positions = np.searchsorted(moves.offsets, entries, side="right") - 1
    for entry, position in zip(entries.tolist(), positions.tolist(), strict=True):
        change = changes.setdefault(position, Counter())
        for thing in held.things(moves.shapes[moves.codes[entry]].pod):
            change[thing] += int(moves.signs[entry])
    return changes


def _count(amounts: dict[K, int], key: K, pods: int) -> None:
    left = amounts.get(key, 0) + pods
    if left:
        amounts[key] = left
    else:
        del amounts[key]

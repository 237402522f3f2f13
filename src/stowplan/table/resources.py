"""The resource columns: what each node has to give, what its pods already take, and what rules derive of both.

Two matrices of the same rows (resources) and columns (nodes). The first rows are fixed; every other resource that a
node or a placed pod mentions gets the next one. A name nobody mentions reads as the row of zeros, so asking never
grows anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from stowplan.model.node import Node
from stowplan.model.requests import Requests, amount_of, is_scalar
from stowplan.table.columns import Rows, fitted
from stowplan.table.journal import Journal

CPU: Final = 0
MEMORY: Final = 1
EPHEMERAL_STORAGE: Final = 2
PODS: Final = 3
# What scoring counts: every container weighs at least 100m and 200Mi. Their allocatable rows repeat cpu and memory.
NON_ZERO_CPU: Final = 4
NON_ZERO_MEMORY: Final = 5
NOWHERE: Final = 6

FIXED: Final = {"cpu": CPU, "memory": MEMORY, "ephemeral-storage": EPHEMERAL_STORAGE, "pods": PODS}
FIRST_SCALAR: Final = 7
LARGEST: Final = np.iinfo(np.int64).max
MOST_AMOUNTS: Final = 64

# So many rows and all of them are as fast.
MOST_PATCHED: Final = 16
MOST_KEPT: Final = 16

Matrix = NDArray[np.int64]
DerivedLines = NDArray[np.float64]


class Resources:
    """Allocatable and requested amounts, in millicores for cpu and whole units for the rest. # (resources, nodes)"""

    def __init__(self, capacity: int) -> None:
        self.index_of: dict[str, int] = dict(FIXED)
        self.names_journal = Journal()
        self.allocatable_journal = Journal()
        self.requested_journal = Journal()
        self._allocatable = np.zeros((FIRST_SCALAR, capacity), dtype=np.int64)
        self._requested = np.zeros((FIRST_SCALAR, capacity), dtype=np.int64)
        # The same as plain integers, of the rows that were asked about last.
        self._amounts_of: dict[int, tuple[list[int], list[int]]] = {}
        self._rows = 0
        # How many resources have a row.
        self._names = FIRST_SCALAR
        self._show()

    def find(self, name: str) -> int:
        """Return the row of a resource; `NOWHERE` if no node has it and no placed pod takes it."""
        return self.index_of.get(name, NOWHERE)

    def knows(self, requests: Requests) -> bool:
        """Say whether every resource that is asked for has a row; a pod that only asks is not to give it one."""
        return requests.scalar.keys() <= self.index_of.keys()

    def intern(self, name: str) -> int:
        index = self.index_of.get(name)
        if index is None:
            index = self.index_of[name] = self._names
            self._names += 1
            if index == len(self._allocatable):
                # One pod may name tens of thousands, so there is room for some more. Each takes a row for all nodes.
                more = np.zeros((1 + index // 8, self._allocatable.shape[1]), dtype=np.int64)
                self._allocatable = np.vstack((self._allocatable, more))
                self._requested = np.vstack((self._requested, more))
            self._show()
            self._amounts_of.clear()
            self.names_journal.mark_all()
        return index

    def vector(self, requests: Requests) -> Matrix:
        """Return what one pod with these requests adds to its node, from the first row on; the pod itself counts 1."""
        fixed = (
            requests.milli_cpu,
            requests.memory,
            requests.ephemeral_storage,
            1,
            requests.non_zero_milli_cpu,
            requests.non_zero_memory,
        )
        amounts = dict(enumerate(fixed)) | {self.intern(name): n for name, n in requests.scalar.items() if n}
        vector = np.zeros(1 + max(amounts), dtype=np.int64)
        for index, amount in amounts.items():
            vector[index] = min(amount, LARGEST)
        return vector

    def write_node(self, row: int, node: Node) -> None:
        amounts = {name: amount_of(name, quantity) for name, quantity in node.status.allocatable.items()}
        indices = {name: self.intern(name) for name in amounts if name in FIXED or is_scalar(name)}
        column = np.zeros(len(self._allocatable), dtype=np.int64)
        for name, index in indices.items():
            column[index] = amounts[name]
        column[NON_ZERO_CPU], column[NON_ZERO_MEMORY] = column[CPU], column[MEMORY]
        if not np.array_equal(column, self._allocatable[:, row]):
            self._allocatable[:, row] = column
            self._amounts_of.pop(row, None)
            self.allocatable_journal.mark(row)

    def add(self, row: int, amounts: Matrix, change: np.ufunc = np.add) -> None:
        """Charge a node with what `vector` returned; `np.subtract` takes it back."""
        taken = self._requested[: len(amounts), row]
        change(taken, amounts, out=taken)
        self._amounts_of.pop(row, None)
        self.requested_journal.mark(row)

    def amounts(self, row: int) -> tuple[list[int], list[int]]:
        """Return what one node has and what is taken of it, as plain integers."""
        amounts = self._amounts_of.get(row)
        if amounts is None:
            if len(self._amounts_of) >= MOST_AMOUNTS:
                self._amounts_of.clear()
            names = self._names
            has, taken = self._allocatable[:names, row].tolist(), self._requested[:names, row].tolist()
            amounts = self._amounts_of[row] = (has, taken)
        return amounts

    def fit(self, capacity: int, rows: int) -> None:
        missing = capacity - self._allocatable.shape[1]
        if missing > 0:
            self._allocatable = np.pad(self._allocatable, ((0, 0), (0, missing)))
            self._requested = np.pad(self._requested, ((0, 0), (0, missing)))
        self._rows = rows
        self._show()

    def move(self, source: int, target: int) -> None:
        self._allocatable[:, target] = self._allocatable[:, source]
        self._requested[:, target] = self._requested[:, source]
        self._amounts_of.clear()

    def clear(self, row: int) -> None:
        self._allocatable[:, row] = 0
        self._requested[:, row] = 0
        self._amounts_of.clear()

    def _show(self) -> None:
        self.allocatable = self._allocatable[: self._names, : self._rows]
        self.requested = self._requested[: self._names, : self._rows]
        self.allocatable.flags.writeable = False
        self.requested.flags.writeable = False


class DerivedRule(Protocol):
    """A hashable rule that derives some numbers of each node, the same for one row and for many."""

    def of_rows(self, allocatable: NDArray[np.int64], requested: NDArray[np.int64]) -> DerivedLines:
        """Return the numbers of some rows, given their amounts. # (lines, nodes), from (resources, nodes)"""

    def of_row(self, has: list[int], taken: list[int]) -> list[float]:
        """Return the numbers of one row."""

    def __hash__(self) -> int: ...


@dataclass(slots=True, eq=False)
class Derived:
    """The numbers of all rows under one rule: kept, and brought up to date where amounts moved. # (lines, nodes)

    Scores begin with them, whatever the pod requests, so a pod like none before pays for what it changes alone.
    """

    _rule: DerivedRule
    _as_of: tuple[int, int] = (-1, -1)
    _values: DerivedLines = field(default_factory=lambda: np.empty((0, 0)))
    #: What readers see: read-only.
    lines: DerivedLines = field(default_factory=lambda: np.empty((0, 0)))
    #: By line, what no row exceeds, and what none is below.
    highest: list[float] = field(default_factory=list)
    lowest: list[float] = field(default_factory=list)

    def take(self, rows: Rows) -> Derived:
        """Return the numbers of some rows as they are now; what none exceeds, or is below, is that of all."""
        return Derived(self._rule, self._as_of, self._values, self.lines.take(rows, axis=1), self.highest, self.lowest)

    def bring_up(self, resources: Resources) -> None:
        """Take over what changed since the last time."""
        as_of = (resources.allocatable_journal.position, resources.requested_journal.position)
        if as_of == self._as_of:
            return
        stale, rows = self._stale(resources), resources.allocatable.shape[1]
        if stale is None:
            self._derive(resources)
        else:
            if rows != self._values.shape[1]:
                self._take(fitted(self._values, rows))
            for row in stale:
                if row < rows:
                    self._patch(row, resources)
        self._as_of = as_of

    def _stale(self, resources: Resources) -> set[int] | None:
        """Return the rows whose amounts have moved; None for all."""
        allocatable_at, requested_at = self._as_of
        if allocatable_at < 0:
            return None
        changed = resources.allocatable_journal.since(allocatable_at)
        taken = resources.requested_journal.since(requested_at)
        if changed is None or taken is None or len(changed) + len(taken) > MOST_PATCHED:
            return None
        return {*changed.tolist(), *taken.tolist()}

    def _derive(self, resources: Resources) -> None:
        self._take(self._rule.of_rows(resources.allocatable, resources.requested))
        self.highest = self._values.max(axis=1, initial=-math.inf).tolist()
        self.lowest = self._values.min(axis=1, initial=math.inf).tolist()

    def _take(self, values: DerivedLines) -> None:
        self._values, self.lines = values, values.view()
        self.lines.flags.writeable = False

    def _patch(self, row: int, resources: Resources) -> None:
        numbers = self._rule.of_row(*resources.amounts(row))
        self._values[:, row] = numbers
        highest, lowest = self.highest, self.lowest
        for line, number in enumerate(numbers):
            if number > highest[line]:
                highest[line] = number
            if number < lowest[line]:
                lowest[line] = number


class DerivedColumns:
    """The rules that were asked about lately, each with its numbers."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._by_rule: dict[DerivedRule, Derived] = {}

    def rules(self) -> list[DerivedRule]:
        return list(self._by_rule)

    def find(self, rule: DerivedRule) -> Derived:
        """Return the numbers of a rule as of now."""
        derived = self._by_rule.get(rule)
        if derived is None:
            if len(self._by_rule) >= MOST_KEPT:
                del self._by_rule[next(iter(self._by_rule))]
            derived = self._by_rule[rule] = Derived(rule)
        derived.bring_up(self._resources)
        return derived

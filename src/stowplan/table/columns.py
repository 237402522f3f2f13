"""The kinds of column: facts read off a node, coded facts, and counts over the pods of a node.

A column is built on first use and kept up to date by `table.table.Table`; plugins reach it only through
`table.nodes.Nodes`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike, NDArray

from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.selectors import Label
from stowplan.table.domain_sums import DomainSums
from stowplan.table.journal import Journal

Mask = NDArray[np.bool_]
Scores = NDArray[np.int64]
Rows = NDArray[np.intp]
Codes = NDArray[np.int64]

MISSING = -1
NO_ROWS: Rows = np.empty(0, dtype=np.intp)
KEPT_COLUMNS = 4096


C = TypeVar("C", bound="Column")
K = TypeVar("K", bound=Hashable)
A = TypeVar("A", bound=np.generic)


def fitted(values: NDArray[A], rows: int) -> NDArray[A]:
    """Return values by row, the last axis, for so many rows: cut off, or with zeros behind."""
    kept = min(values.shape[-1], rows)
    fit = np.zeros((*values.shape[:-1], rows), dtype=values.dtype)
    fit[..., :kept] = values[..., :kept]
    return fit


class Counted(Protocol):
    """What a count column counts: a hashable rule that says how much one pod adds to its node."""

    def amount(self, pod: Pod) -> int:
        """Return how much `pod` counts; 0 if not at all."""

    def __hash__(self) -> int: ...


@runtime_checkable
class CountedByLabels(Counted, Protocol):
    """A rule that counts only pods with certain labels, and so needs to be asked about no others."""

    def needed_labels(self) -> list[tuple[Label, ...]]:
        """Return sets of labels of each of which a pod that counts has one; no set at all if none is needed."""


class Column:
    """One value per row, and the journal of the rows that changed. `view` is what readers see: read-only, live rows."""

    __slots__ = ("journal", "used_at", "values", "view")

    def __init__(self, dtype: DTypeLike, capacity: int) -> None:
        self.journal = Journal()
        self.values: NDArray[Any] = np.zeros(capacity, dtype=dtype)
        self.view = self.values
        self.used_at = 0

    def fit(self, capacity: int, rows: int) -> None:
        """Make room for `capacity` rows and show the first `rows` of them."""
        if capacity > len(self.values):
            grown = np.zeros(capacity, dtype=self.values.dtype)
            grown[: len(self.values)] = self.values
            self.values = grown
        self.view = self.values[:rows]
        self.view.flags.writeable = False

    def move(self, source: int, target: int) -> None:
        self.values[target] = self.values[source]

    def clear(self, row: int) -> None:
        self.values[row] = 0

    def retire(self) -> None:
        """Have everybody get another column: this one is not kept up to date any more."""
        self.journal.mark_all()


class FactColumn(Column):
    """A value that a function reads off a node; the function runs when the node changes, never per pod."""

    __slots__ = ("read",)

    def __init__(self, read: Callable[[Node], Any], dtype: DTypeLike, capacity: int) -> None:
        super().__init__(dtype, capacity)
        self.read = read

    def write(self, row: int, node: Node) -> None:
        value = self.read(node)
        if self.values[row] != value:
            self.values[row] = value
            self.journal.mark(row)


class CodedColumn(FactColumn):
    """A fact that is not a number, as small integers: `codes` by row, and what each code stands for."""

    __slots__ = ("_population", "_population_at", "_sorted", "_sorted_at", "code_of", "meanings")

    def __init__(self, read: Callable[[Node], Hashable | None], capacity: int) -> None:
        super().__init__(lambda node: self.code(read(node)), np.int64, capacity)
        self._population: Scores = np.zeros(1, dtype=np.int64)
        self._population_at = -1
        # The rows in the order of their codes, and where those of each code start, from -1 on.
        self._sorted: tuple[Rows, Rows] = (NO_ROWS, NO_ROWS)
        self._sorted_at = -1
        self.code_of: dict[Hashable, int] = {}
        self.meanings: list[Any] = []

    def code(self, meaning: Hashable | None) -> int:
        """Return the code of a meaning, giving it one if it is new; None has `MISSING`."""
        if meaning is None:
            return MISSING
        known = self.code_of.get(meaning)
        if known is None:
            known = self.code_of[meaning] = len(self.meanings)
            self.meanings.append(meaning)
        return known

    def population(self) -> Scores:
        """Return how many rows have each code, and at the end how many have none."""
        if self._population_at != self.journal.position:
            counts = np.bincount(self.view + 1, minlength=len(self.meanings) + 1)
            self._population, self._population_at = np.roll(counts, -1), self.journal.position
            self._population.flags.writeable = False
        return self._population

    def rows_with(self, code: int) -> Rows:
        """Return the rows that have a code, or none (-1)."""
        rows, starts = self._in_order()
        return rows[starts[code + 1] : starts[code + 2]]

    def rows_with_each(self, codes: Codes) -> Rows:
        """Return the rows that have each of some codes, one code after the other."""
        rows, starts = self._in_order()
        firsts = starts[codes + 1]
        lengths = starts[codes + 2] - firsts
        ends = lengths.cumsum()
        places: Rows = np.repeat(firsts - ends + lengths, lengths) + np.arange(int(lengths.sum()))
        return rows[places]

    def _in_order(self) -> tuple[Rows, Rows]:
        if self._sorted_at != self.journal.position:
            order = np.argsort(self.view, kind="stable")
            starts = np.searchsorted(self.view[order], np.arange(MISSING, len(self.meanings) + 1))
            self._sorted, self._sorted_at = (order, starts), self.journal.position
        return self._sorted


class Coded(NamedTuple):
    """A fact as codes by row (-1: the node has none) and the meaning of each code."""

    codes: Codes
    meanings: Sequence[Any]
    code_of: Mapping[Any, int] = {}

    def by_meaning(self, answer: Callable[[Any], Any], missing: Any = False) -> NDArray[Any]:
        """Give every row the answer for its meaning, asked once for each; `missing`, of the same type, without one."""
        codes, meanings = self.codes, self.meanings
        # The entry past the last meaning is the one that code -1 reaches.
        answers = np.full(len(meanings) + 1, missing)
        if len(codes) < len(meanings):
            for code in set(codes.tolist()) - {MISSING}:
                answers[code] = answer(meanings[code])
        else:
            known = list(map(answer, meanings))
            if known.count(missing) == len(known):
                return np.full(len(codes), missing)
            answers[:-1] = known
        return answers.take(codes)

    def is_one_of(self, meanings: Iterable[Any]) -> Mask:
        """Say which rows have one of these meanings; found by look-up, however many there are in the cluster."""
        wanted = np.zeros(len(self.meanings) + 1, dtype=bool)
        wanted[[self.code_of[meaning] for meaning in meanings if meaning in self.code_of]] = True
        return wanted.take(self.codes)


@dataclass(slots=True)
class Uses:
    """Notes when columns are asked for, and drops those that can be done without once there are too many."""

    _clock: int = 0

    def note(self, column: C) -> C:
        self._clock += 1
        column.used_at = self._clock
        return column

    def make_room(self, columns: dict[K, C]) -> bool:
        """Drop the half of the columns that was not asked for lately, if there are too many; say whether it was so."""
        if len(columns) < KEPT_COLUMNS:
            return False
        for key in sorted(columns, key=lambda key: columns[key].used_at)[: KEPT_COLUMNS // 2]:
            columns.pop(key).retire()
        return True


class CountColumn(Column):
    """How much the pods of each node add up to, under one `Counted` rule."""

    __slots__ = ("_sums", "counted", "total")

    def __init__(self, counted: Counted, capacity: int) -> None:
        super().__init__(np.int64, capacity)
        self.counted = counted
        self.total = 0
        self._sums: dict[str, DomainSums] = {}

    def add(self, row: int, amount: int) -> None:
        self.values[row] += amount
        self.total += amount
        self.journal.mark(row)
        for sums in self._sums.values():
            sums.add(row, amount)

    def retire(self) -> None:
        super().retire()
        for sums in self._sums.values():
            sums.retire()

    def sums_by(self, key: str, labels: CodedColumn) -> DomainSums:
        """Return the sums over the domains of a label."""
        sums = self._sums.get(key)
        if sums is None:
            sums = self._sums[key] = DomainSums(labels, self.view)
        elif not sums.is_settled(labels):
            sums.settle(labels, self.view)
        return sums

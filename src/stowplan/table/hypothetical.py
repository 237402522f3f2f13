"""What if: pods supposed to come to rows, or to be gone from them, kept flat so that thousands of them add up at once.

Preemption asks about hundreds of rows with several victims each, again and again; `table.nodes.Nodes` shows plugins the
rows as they would be.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stowplan.model.pod import Pod
from stowplan.table.columns import Counted, Rows, Scores
from stowplan.table.resources import Matrix
from stowplan.table.shape import PodShape
from stowplan.table.terms import CarriedTerm

#: What is supposed of a pod: that it comes, that it is gone, or that it was taken away and put back.
COMES, GONE, PUT_BACK = 1, -1, 0

Signs = NDArray[np.int64]
Offsets = NDArray[np.intp]


@dataclass(slots=True, eq=False)
class Moves:
    """The supposed pods of some rows, one after the other: row i has those from `offsets[i]` to `offsets[i + 1]`."""

    #: The distinct shapes; `codes` says which of them each pod has.
    shapes: Sequence[PodShape]
    codes: NDArray[np.intp]
    offsets: Offsets
    signs: Signs
    #: Amounts by shape under every rule asked for so far: the same however the signs change.
    _amounts: dict[Hashable, NDArray[np.int64]] = field(default_factory=dict)
    #: The changes of all rows under every rule asked for so far, by the signs as they are.
    _sums: dict[Hashable, NDArray[np.int64]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, added: Sequence[Sequence[PodShape]], removed: Sequence[Sequence[PodShape]]) -> Moves:
        """Lay out pods that are given row by row."""
        pairs = list(zip(added, removed, strict=True))
        signs = [sign for plus, minus in pairs for sign in [COMES] * len(plus) + [GONE] * len(minus)]
        shapes, codes = code_shapes([shape for plus, minus in pairs for shape in (*plus, *minus)])
        offsets = offsets_of([len(plus) + len(minus) for plus, minus in pairs])
        return cls(shapes, codes, offsets, np.array(signs, dtype=np.int64))

    def first(self, rows: int, signs: Signs) -> Moves:
        """Return the same moves with other signs, for the first rows only."""
        end = int(self.offsets[rows])
        return Moves(self.shapes, self.codes[:end], self.offsets[: rows + 1], signs[:end], self._amounts)

    def turn(self, rows: Rows | slice, entries: NDArray[np.intp], sign: int) -> None:
        """Suppose something else of some pods, one on each of these rows."""
        if not len(entries):
            return
        change = sign - self.signs[entries]
        self.signs[entries] = sign
        codes = self.codes[entries]
        for rule, sums in self._sums.items():
            sums[..., rows] += self._amounts[rule].take(codes, axis=-1) * change

    def sum_counted(self, counted: Counted) -> Scores:
        """Return the change of each row under a count rule."""
        return self._sum(counted, lambda shape: counted.amount(shape.pod))

    def sum_carriers(self, term: CarriedTerm) -> Scores:
        """Return the change in the number of carriers of a term on each row."""
        return self._sum(term, lambda shape: shape.terms.count(term))

    def sum_requested(self, resources: int) -> Matrix:
        """Return the change of what is requested. # (resources, rows)"""
        sums = self._sums.get(resources)
        if sums is None:
            amounts = self._requests(resources).take(self.codes, axis=1)
            amounts *= self.signs
            sums = self._sums[resources] = sum_rows(amounts, self.offsets)
        return sums

    def gone(self) -> list[list[Pod]]:
        """Return the pods taken away from each row, also those that were put back."""
        entries = zip(self.codes.tolist(), self.signs.tolist(), strict=True)
        pods = [self.shapes[code].pod if sign != COMES else None for code, sign in entries]
        bounds = self.offsets.tolist()
        return [[pod for pod in pods[start:end] if pod is not None] for start, end in pairwise(bounds)]

    def entries_of(self, counted: Counted) -> NDArray[np.intp]:
        """Return which of the pods come or go for good and count under a rule."""
        amounts = self._by_shape(counted, lambda shape: counted.amount(shape.pod))
        return np.flatnonzero(amounts[self.codes] * self.signs)

    def _sum(self, rule: Hashable, amount: Callable[[PodShape], int]) -> Scores:
        sums = self._sums.get(rule)
        if sums is None:
            amounts = self._by_shape(rule, amount)
            none = np.zeros(len(self), dtype=np.int64)
            sums = self._sums[rule] = (
                sum_rows(amounts[self.codes] * self.signs, self.offsets) if amounts.any() else none
            )
        # It follows the signs.
        shown = sums.view()
        shown.flags.writeable = False
        return shown

    def _by_shape(self, rule: Hashable, amount: Callable[[PodShape], int]) -> NDArray[np.int64]:
        amounts = self._amounts.get(rule)
        if amounts is None:
            each = map(amount, self.shapes)
            amounts = self._amounts[rule] = np.fromiter(each, dtype=np.int64, count=len(self.shapes))
        return amounts

    def _requests(self, resources: int) -> Matrix:
        """Return what a pod of each shape requests. # (resources, shapes)"""
        matrix = self._amounts.get(resources)
        if matrix is None:
            matrix = self._amounts[resources] = np.zeros((resources, len(self.shapes)), dtype=np.int64)
            for code, shape in enumerate(self.shapes):
                if shape.amounts is None:
                    raise ValueError(f"nobody knows what {shape.pod.key!r} takes; get its shape from Nodes.shape_of")
                matrix[: len(shape.amounts), code] = shape.amounts
        return matrix


def sum_rows(amounts: NDArray[np.int64], offsets: Offsets) -> NDArray[np.int64]:
    """Add up runs along the last axis; what overflows on the way cancels out in the difference."""
    running = np.zeros((*amounts.shape[:-1], amounts.shape[-1] + 1), dtype=np.int64)
    np.cumsum(amounts, axis=-1, out=running[..., 1:])
    bounds = running.take(offsets, axis=-1)
    sums: NDArray[np.int64] = bounds[..., 1:] - bounds[..., :-1]
    return sums


def code_shapes(shapes: Sequence[PodShape]) -> tuple[list[PodShape], NDArray[np.intp]]:
    """Return the distinct shapes, and for every one given its place among them."""
    distinct = list(dict.fromkeys(shapes))
    code_of = {shape: code for code, shape in enumerate(distinct)}
    return distinct, np.fromiter(map(code_of.__getitem__, shapes), dtype=np.intp, count=len(shapes))


def offsets_of(lengths: Sequence[int] | NDArray[np.intp]) -> Offsets:
    """Return where each of several runs of these lengths starts, and where the last one ends."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.intp)
    np.cumsum(lengths, out=offsets[1:])
    return offsets

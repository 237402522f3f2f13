"""The dry run: on every row at once, take all victims away, then put back whomever the node can keep.

The k-th pod is put back on all rows in one pass. Rows are laid out with the longest lists of victims first, so those
that still have somebody to put back are always the first ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.framework.attempt import Attempt
from stowplan.framework.verdict import Words
from stowplan.table.columns import Mask, Rows
from stowplan.table.hypothetical import COMES, GONE, PUT_BACK, Moves, Offsets, Signs, code_shapes, offsets_of
from stowplan.table.shape import PodShape

#: By row of the table, the nominated pods that must find room there too.
NominatedByRow = Mapping[int, Sequence[PodShape]]

FROM_NOMINATION = -1


class Evictable(NamedTuple):
    """The pods that may be evicted from some rows, row after row, each in the order in which it is put back."""

    rows: Rows
    #: The distinct shapes, and for every pod which of them it has; row i has the pods from `offsets[i]` on.
    shapes: Sequence[PodShape]
    codes: NDArray[np.intp]
    offsets: Offsets

    @property
    def lengths(self) -> NDArray[np.intp]:
        return np.diff(self.offsets)

    def pods_at(self, positions: Rows) -> NDArray[np.intp]:
        """Return where the pods of some of the rows are, one row after the other."""
        lengths = self.lengths[positions]
        offsets = offsets_of(lengths)
        return np.repeat(self.offsets[positions] - offsets[:-1], lengths) + np.arange(offsets[-1])


class DryRun(NamedTuple):
    """What came out: for each row the word against it if the pod does not fit even so; for each pod, if it must go."""

    words: Words
    goes: Mask


def dry_run(attempt: Attempt, evictable: Evictable, nominated: NominatedByRow) -> DryRun:
    """Find out, for all rows at once, who has to go for the pod to fit."""
    order = np.argsort(-evictable.lengths, kind="stable")
    laid_out = _Layout(attempt, evictable, order, nominated)
    words = np.zeros(len(order), dtype=np.int32)
    words[order] = laid_out.ask(len(order))
    fits = words[order] == 0
    if not fits.all():
        # The others are settled: ask no more about them.
        order = order[fits]
        laid_out = _Layout(attempt, evictable, order, nominated)
    laid_out.put_back()
    goes = np.zeros(len(evictable.codes), dtype=bool)
    goes[evictable.pods_at(order)] = laid_out.is_gone
    return DryRun(words, goes)


class _Layout:
    """Some of the rows in the order that suits the dry run, and which of their pods are away at the moment."""

    def __init__(self, attempt: Attempt, evictable: Evictable, order: Rows, nominated: NominatedByRow) -> None:
        self._attempt = attempt
        self._rows = evictable.rows[order]
        self._lengths = evictable.lengths[order]
        codes = evictable.codes[evictable.pods_at(order)]
        self._signs: Signs = np.full(len(codes), GONE, dtype=np.int64)
        self._moves = Moves(evictable.shapes, codes, offsets_of(self._lengths), self._signs)
        self._nodes = attempt.nodes.take(self._rows)
        self._crowd = _Crowd(self._moves, self._rows, nominated) if nominated else None

    @property
    def is_gone(self) -> Mask:
        """Which of the pods are away."""
        is_gone: Mask = self._signs == GONE
        return is_gone

    def ask(self, count: int, *, again: bool = False) -> Words:
        """Return the filters' words for the first rows; each must take the pod both with and without nominated ones.

        `again`: all rows were fine when all victims were gone.
        """
        if len(self._moves) != count:
            # Those before them are settled, and stay as they are.
            self._moves = self._moves.first(count, self._signs)
            self._nodes = self._nodes.take(self._rows[:count])
        words = self._attempt.suppose(self._nodes.after(self._moves), again)
        if self._crowd is not None:
            positions, moves = self._crowd.among(count, self._signs)
            if len(positions):
                crowded = self._attempt.suppose(self._nodes.take(self._rows[positions]).after(moves), again)
                words[positions] = np.where(crowded != 0, crowded, words[positions])
        return words

    def put_back(self) -> None:
        """Put back one pod of each row after the other, and take away again those with which the pod does not fit."""
        for turn in range(int(self._lengths.max(initial=0))):
            open_rows = int(np.count_nonzero(self._lengths > turn))
            entries = self._moves.offsets[:open_rows] + turn
            self._moves.turn(slice(open_rows), entries, PUT_BACK)
            is_too_much = np.flatnonzero(self.ask(open_rows, again=True))
            self._moves.turn(is_too_much, entries[is_too_much], GONE)


class _Crowd:
    """The rows to which pods are nominated, once more, with those pods there as well."""

    def __init__(self, moves: Moves, rows: Rows, nominated: NominatedByRow) -> None:
        numbers, bounds = rows.tolist(), moves.offsets.tolist()
        self._positions: Rows = np.array(
            [position for position, row in enumerate(numbers) if row in nominated], dtype=np.intp
        )
        pods: list[PodShape] = []
        # Where each of them is in the plain layout, whose signs it follows.
        sources: list[int] = []
        lengths: list[int] = []
        for position in self._positions.tolist():
            here = nominated[numbers[position]]
            own = range(bounds[position], bounds[position + 1])
            pods += [*here, *(moves.shapes[code] for code in moves.codes[own.start : own.stop].tolist())]
            sources += [FROM_NOMINATION] * len(here) + list(own)
            lengths.append(len(here) + len(own))
        self._sources: NDArray[np.intp] = np.array(sources, dtype=np.intp)
        comes = np.full(len(sources), COMES, dtype=np.int64)
        self._moves = Moves(*code_shapes(pods), offsets_of(lengths), comes)

    def among(self, count: int, signs: Signs) -> tuple[Rows, Moves]:
        """Return the crowded rows among the first `count`, by position, and what is supposed of them."""
        rows = int(np.searchsorted(self._positions, count))
        own = np.where(self._sources == FROM_NOMINATION, COMES, signs[self._sources])
        return self._positions[:rows], self._moves.first(rows, own)

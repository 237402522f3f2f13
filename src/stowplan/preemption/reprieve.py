"""The dry run: on every row at once, take all victims away, then put back whomever the node can keep.

The k-th pod is put back on all rows in one pass. Rows are laid out with the longest lists of victims first, so those that
still have somebody to put back are always the first ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.framework.contract import Attempt
from stowplan.framework.verdict import Words
from stowplan.table.columns import Mask, Rows
from stowplan.table.shape import PodShape
from stowplan.table.supposition import COMES, GONE, PUT_BACK, Moves, Signs, code_shapes, offsets_of

#: By row of the table, the nominated pods that must find room there too.
Standing = Mapping[int, Sequence[PodShape]]
#: By row, the pods that may be evicted from it, in the order in which they are to be put back.
Evictable = Sequence[tuple[int, Sequence[PodShape]]]

FROM_NOMINATION = -1


class DryRun(NamedTuple):
    """What came out for each row: the filters' word if the pod does not fit even so, else who has to go."""

    words: Words
    #: For every evictable pod of every row, whether it has to go; False throughout where the pod does not fit.
    goes: list[list[bool]]


def dry_run(attempt: Attempt, evictable: Evictable, standing: Standing) -> DryRun:
    """Find out, row by row but all at once, who has to go for the pod to fit."""
    lengths = np.array([len(shapes) for _, shapes in evictable], dtype=np.intp)
    order = np.argsort(-lengths, kind="stable")
    laid_out = _Layout(attempt, [evictable[position] for position in order.tolist()], standing)
    words = np.zeros(len(evictable), dtype=np.int32)
    words[order] = laid_out.ask(len(order))
    fits = words[order] == 0
    if not fits.all():
        # The others are settled: ask no more about them.
        order = order[fits]
        laid_out = _Layout(attempt, [evictable[position] for position in order.tolist()], standing)
    laid_out.put_back()
    goes = [[False] * length for length in lengths.tolist()]
    for position, flags in zip(order.tolist(), laid_out.goes(), strict=True):
        goes[position] = flags
    return DryRun(words, goes)


class _Layout:
    """The rows of a dry run in flat form, and which of their pods are away at the moment."""

    def __init__(self, attempt: Attempt, evictable: Evictable, standing: Standing) -> None:
        self._attempt = attempt
        self._rows: Rows = np.array([row for row, _ in evictable], dtype=np.intp)
        self._lengths = [len(shapes) for _, shapes in evictable]
        shapes, codes = code_shapes([shape for _, some in evictable for shape in some])
        self._offsets = offsets_of(self._lengths)
        self._signs: Signs = np.full(len(codes), GONE, dtype=np.int64)
        self._moves = Moves(shapes, codes, self._offsets, self._signs)
        self._crowd = _Crowd(self._moves, self._rows, standing) if standing else None

    def ask(self, count: int) -> Words:
        """Return the filters' words for the first rows; a row must take the pod both with and without nominated ones."""
        nodes = self._attempt.nodes
        words = self._attempt.suppose(nodes.after(self._rows[:count], self._moves.first(count, self._signs)))
        if self._crowd is not None:
            positions, moves = self._crowd.among(count, self._signs)
            crowded = self._attempt.suppose(nodes.after(self._rows[positions], moves))
            words[positions] = np.where(crowded != 0, crowded, words[positions])
        return words

    def put_back(self) -> None:
        """Put back one pod of each row after the other, and take away again those with which the pod does not fit."""
        lengths = np.array(self._lengths, dtype=np.intp)
        for turn in range(int(lengths.max(initial=0))):
            open_rows = int(np.count_nonzero(lengths > turn))
            entries = self._offsets[:open_rows] + turn
            self._signs[entries] = PUT_BACK
            is_too_much: Mask = self.ask(open_rows) != 0
            self._signs[entries[is_too_much]] = GONE

    def goes(self) -> list[list[bool]]:
        """Return, row by row, who is away now."""
        away = (self._signs == GONE).tolist()
        bounds = self._offsets.tolist()
        return [away[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]


class _Crowd:
    """The rows to which pods are nominated, once more, with those pods there as well."""

    def __init__(self, moves: Moves, rows: Rows, standing: Standing) -> None:
        numbers = rows.tolist()
        positions = [position for position, row in enumerate(numbers) if row in standing]
        self._positions: Rows = np.array(positions, dtype=np.intp)
        entries: list[PodShape] = []
        # Where each pod of a crowded row is in the plain layout, whose signs it follows.
        sources: list[int] = []
        lengths = []
        codes, bounds = moves.codes.tolist(), moves.offsets.tolist()
        for position in positions:
            nominated = standing[numbers[position]]
            own = range(bounds[position], bounds[position + 1])
            entries += [*nominated, *(moves.shapes[codes[entry]] for entry in own)]
            sources += [FROM_NOMINATION] * len(nominated) + list(own)
            lengths.append(len(nominated) + len(own))
        shapes, own_codes = code_shapes(entries)
        self._sources: NDArray[np.intp] = np.array(sources, dtype=np.intp)
        self._moves = Moves(shapes, own_codes, offsets_of(lengths), np.full(len(sources), COMES, dtype=np.int64))

    def among(self, count: int, signs: Signs) -> tuple[Rows, Moves]:
        """Return the crowded rows among the first `count`, by position, and what is supposed of them."""
        rows = int(np.searchsorted(self._positions, count))
        own = np.where(self._sources == FROM_NOMINATION, COMES, signs[self._sources])
        return self._positions[:rows], self._moves.first(rows, own)

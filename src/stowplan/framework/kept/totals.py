"""One total per row, changed in place, and the rows that have the highest: found block by block where there are many.

A row that is not feasible has its total too, but so far down that no score brings it up to 0. So scores are added and
rows opened or closed alike, whatever else is known of the row, and nothing need be added up again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stowplan.table.columns import Mask, Rows, Scores

INFEASIBLE: Final = -1
OUT_OF_REACH: Final = -(2**62)
BLOCK: Final = 512
#: Up to so many rows it is as fast to look at all of them.
FEW_TO_SEARCH: Final = 1 << 14
# So many blocks and all of them are as fast.
FEW_BLOCKS: Final = 16
UNKNOWN: Final = -1


class BestRows:
    """The rows with the highest total, in order; found one by one, as there may be very many of them."""

    def __init__(self, blocks: Scores, counts: NDArray[np.int64], highest: int) -> None:
        self._blocks = blocks
        # By block, how many of them are there.
        self._counts = counts
        self._highest = highest

    def __len__(self) -> int:
        return int(self._counts.sum())

    def __getitem__(self, position: int) -> int:
        ends = self._counts.cumsum()
        block = int(ends.searchsorted(position, side="right"))
        within: Rows = (self._blocks[block] == self._highest).nonzero()[0]
        return block * BLOCK + within.item(position - int(ends[block]))

    def __iter__(self) -> Iterator[int]:
        return iter(np.flatnonzero(self._blocks == self._highest).tolist())


class Totals:
    """The totals of all rows."""

    __slots__ = ("_blocks", "_counts", "_highest", "_stale", "values")

    def __init__(self, rows: int) -> None:
        self._blocks: Scores = np.full((-(-rows // BLOCK), BLOCK), OUT_OF_REACH, dtype=np.int64)
        #: Live; feasible rows have a total from 0 on.
        self.values: Scores = self._blocks.reshape(-1)[:rows]
        self._highest = np.empty(len(self._blocks), dtype=np.int64)
        # By block, how many rows have its highest total, once somebody wants to know.
        self._counts = np.full(len(self._blocks), UNKNOWN, dtype=np.int64)
        # The blocks that changed since the best rows were last asked for; None for all.
        self._stale: set[int] | None = None

    def shown(self) -> Scores:
        """Return a copy in which every row that is not feasible has `INFEASIBLE`."""
        return np.maximum(self.values, INFEASIBLE)

    def start(self, feasible: Mask, parts: list[Scores]) -> None:
        """Add up some scores anew."""
        values = self.values
        values[:] = OUT_OF_REACH
        values[feasible] = 0
        for part in parts:
            values += part
        self._stale = None

    def open_or_close(self, rows: Rows, is_feasible: Mask) -> None:
        """Take over which of some rows are feasible now; they were not before, or were."""
        if len(rows) > FEW_BLOCKS:
            self.add(rows, np.where(is_feasible, -OUT_OF_REACH, OUT_OF_REACH))
            return
        for row, opens in zip(rows.tolist(), is_feasible.tolist(), strict=True):
            self.add_one(row, -OUT_OF_REACH if opens else OUT_OF_REACH)

    def add(self, rows: Rows, change: Scores | int) -> None:
        """Add to the totals of some rows, each of them given once."""
        self.values[rows] += change
        if self._stale is not None:
            if len(rows) > FEW_BLOCKS:
                self._stale = None
            else:
                self._stale.update([row // BLOCK for row in rows.tolist()])

    def add_one(self, row: int, change: int) -> None:
        self.values[row] += change
        if self._stale is not None:
            self._stale.add(row // BLOCK)

    def add_all(self, change: Scores) -> None:
        """Add to the totals of all rows."""
        values = self.values
        values += change
        self._stale = None

    def best(self) -> BestRows:
        """Return the rows with the highest total."""
        highest, counts, blocks = self._highest, self._counts, self._blocks
        stale = self._stale
        if stale is None or len(stale) > FEW_BLOCKS:
            np.maximum.reduce(blocks, axis=1, out=highest)
            counts[:] = UNKNOWN
        else:
            for block in stale:
                highest[block], counts[block] = blocks[block].max(), UNKNOWN
        self._stale = set()
        top = int(highest.max())
        is_top = highest == top
        unknown = (is_top & (counts == UNKNOWN)).nonzero()[0]
        if len(unknown) > FEW_BLOCKS:
            counts[is_top] = np.count_nonzero(blocks == top, axis=1)[is_top]
        else:
            for block in unknown.tolist():
                counts[block] = np.count_nonzero(blocks[block] == top)
        return BestRows(blocks, np.where(is_top, counts, 0), top)

"""What dry runs came to, row by row: whether room can be made there, who has to go, and what harm that does.

It is kept from pod to pod of one signature. A row is tried again when its pods are others than they were, or when the
filters may say something else about it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.framework.contract import Preemption
from stowplan.framework.verdict import Words
from stowplan.plugins.defaultpreemption.dry_run import DryRun
from stowplan.plugins.defaultpreemption.placed_columns import PlacedColumns
from stowplan.table.columns import Mask, Rows, Scores
from stowplan.table.hypothetical import Offsets, sum_rows

LOWEST_PRIORITY: Final = np.iinfo(np.int64).min
# Makes every priority positive, so that one victim more always weighs more.
PRIORITY_SHIFT: Final = 2**31
_UNKNOWN: Final = -1

#: What the evictions on each node cost, in the order in which it is compared; the less the better. # (costs, nodes)
#: Budgets violated, priority of the most important victim, sum of the shifted priorities, number of victims.
Harm = Scores


class Victims(NamedTuple):
    """The pods that may go from some rows, in the order in which they are put back; evicting some exceeds a budget."""

    places: NDArray[np.intp]
    offsets: Offsets
    is_over: Mask


class TriedRows:
    """The rows that were dry-run for pods of one signature."""

    def __init__(self, columns: PlacedColumns, count: int) -> None:
        self._columns = columns
        # By place, who has to go.
        self._goes: Mask = np.zeros(0, dtype=bool)
        self._start(count)

    def _start(self, count: int) -> None:
        #: The word against each row; 0 if room can be made there.
        self.words: Words = np.full(count, _UNKNOWN, dtype=np.int32)
        self.harm: Harm = np.zeros((4, count), dtype=np.int64)
        #: When the first of the most important victims started.
        self.starts: Scores = np.zeros(count, dtype=np.int64)
        # The run of pods that a row was tried with.
        self._runs: NDArray[np.int64] = np.zeros(count, dtype=np.int64)

    def forget(self, rows: Iterable[int] | None, count: int) -> None:
        """Forget what some rows came to, or all; there are `count` now."""
        if rows is None or len(self.words) != count:
            self._start(count)
        else:
            self.words[list(rows)] = _UNKNOWN

    def unknown(self, rows: Rows) -> Rows:
        """Return those of some rows that have to be tried; their pods are as the columns have them."""
        is_unknown: Mask = (self.words[rows] == _UNKNOWN) | (self._runs[rows] != self._columns.runs[rows])
        return rows[is_unknown]

    def refuse(self, rows: Rows, word: int) -> None:
        """Note that rows are of no use."""
        self.words[rows], self._runs[rows], self.harm[:, rows] = word, self._columns.runs[rows], 0

    def note(self, rows: Rows, victims: Victims, result: DryRun) -> None:
        """Note what a dry run came to; there are pods to evict on every one of its rows."""
        places, offsets, is_over = victims
        self.words[rows], self._runs[rows] = result.words, self._columns.runs[rows]
        if len(self._goes) < len(self._columns.pods):
            self._goes = np.append(self._goes, np.zeros(len(self._columns.priorities) - len(self._goes), dtype=bool))
        self._goes[places] = result.goes
        goes, priorities = result.goes.astype(np.int64), self._columns.priorities.take(places)
        highest = np.maximum.reduceat(np.where(result.goes, priorities, LOWEST_PRIORITY), offsets[:-1])
        sums = sum_rows(np.stack((goes * is_over, goes * (priorities + PRIORITY_SHIFT), goes)), offsets)
        self.harm[:, rows] = np.stack((sums[0], highest, sums[1], sums[2]))
        # The pods of a row stand by their importance, whatever the order in which they are put back.
        first = np.minimum.reduceat(np.where(result.goes, places, len(self._columns.pods) - 1), offsets[:-1])
        self.starts[rows] = self._columns.starts.take(first)

    def preemption(self, row: int, node_name: str) -> Preemption:
        """Return what has to be done on a row on which room can be made."""
        places = self._columns.lay_out(np.array([row], dtype=np.intp)).places
        victims = tuple(self._columns.pods[place].pod for place in places[self._goes[places]].tolist())
        return Preemption(node_name, victims, int(self.harm[0, row]))

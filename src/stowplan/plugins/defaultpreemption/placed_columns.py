"""The pods of nodes as columns, by importance: what a search for victims reads of hundreds of nodes for every pod.

The pods of a node stand in a run, and those of a node whose pods have changed are written anew at the end; runs that
nobody needs any more are cleared away when there are more of them than others.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.framework.handle import PlacedPod, PlacedPods
from stowplan.model.pod import Pod, started
from stowplan.table.columns import Rows, Scores
from stowplan.table.hypothetical import Offsets, offsets_of
from stowplan.table.shape import PodShape

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
#: So many entries more than are needed are not worth clearing away.
SLACK: Final = 1 << 12
#: So many shapes are faster to carry along than to find out which of them are needed.
FEW_SHAPES: Final = 16


class LaidOutPods(NamedTuple):
    """The pods of some rows, row after row: where each is among all, and where the run of each row starts."""

    places: NDArray[np.intp]
    offsets: Offsets


class PlacedColumns:
    """Pods with their shape, priority and start, in runs that are known by the row of their node."""

    def __init__(self, pods: PlacedPods) -> None:
        self._placed = pods
        self._runs_written = 0
        self._clear(0)

    def _clear(self, rows: int) -> None:
        # By row: the pods that its run was made of, their identity for comparing, and where the run is.
        self._runs: list[Sequence[PlacedPod]] = [()] * rows
        self._identities: NDArray[np.int64] = np.full(rows, id(()), dtype=np.int64)
        self._starts: NDArray[np.intp] = np.zeros(rows, dtype=np.intp)
        self._lengths: NDArray[np.intp] = np.zeros(rows, dtype=np.intp)
        #: By row, which run it is of all that were ever written; 0 for the empty one that was there from the beginning.
        self.runs: NDArray[np.int64] = np.zeros(rows, dtype=np.int64)
        # By place.
        self.pods: list[PlacedPod] = []
        self._numbers: NDArray[np.int64] = np.zeros((3, SLACK), dtype=np.int64)  # (code, priority, start; places)
        self._shapes: list[PodShape] = []
        self._code_of: dict[PodShape, int] = {}
        self._needed = 0

    @property
    def priorities(self) -> Scores:
        """The priority of each pod by place."""
        found: Scores = self._numbers[1]
        return found

    @property
    def starts(self) -> Scores:
        """When each pod started, by place, in microseconds."""
        found: Scores = self._numbers[2]
        return found

    def begin(self, rows: int) -> None:
        """Begin a search among so many rows: until the next one begins, what is written stays where it is."""
        if len(self._runs) != rows or len(self.pods) > 2 * self._needed + SLACK:
            self._clear(rows)

    def refresh(self, rows: Rows, names: Sequence[str]) -> None:
        """Write the runs of rows whose pods have changed; `names` has all nodes by row."""
        found = self._placed.all_by_importance(map(names.__getitem__, rows.tolist()))
        identities = np.fromiter(map(id, found), dtype=np.int64, count=len(found))
        for position in np.flatnonzero(identities != self._identities[rows]).tolist():
            self._write(int(rows[position]), found[position])

    def lay_out(self, rows: Rows) -> LaidOutPods:
        """Return the pods of some rows as they were when last refreshed, the most important of each row first."""
        lengths = self._lengths[rows]
        offsets = offsets_of(lengths)
        return LaidOutPods(np.repeat(self._starts[rows] - offsets[:-1], lengths) + np.arange(offsets[-1]), offsets)

    def shapes_at(self, places: NDArray[np.intp]) -> tuple[Sequence[PodShape], NDArray[np.intp]]:
        """Return the distinct shapes of some pods, perhaps with others, and for each pod which of them it has."""
        codes = self._numbers[0].take(places)
        if len(self._shapes) <= FEW_SHAPES:
            return self._shapes, codes
        needed, codes = np.unique(codes, return_inverse=True)
        return [self._shapes[code] for code in needed.tolist()], codes

    def _write(self, row: int, pods: Sequence[PlacedPod]) -> None:
        start, count = len(self.pods), len(pods)
        self._needed += count - int(self._lengths[row])
        self._runs_written += 1
        self._runs[row], self._identities[row], self.runs[row] = pods, id(pods), self._runs_written
        self._starts[row], self._lengths[row] = start, count
        self.pods += pods
        while len(self.pods) > self._numbers.shape[1]:
            self._numbers = np.concatenate((self._numbers, np.zeros_like(self._numbers)), axis=1)
        for place, placed in enumerate(pods, start):
            self._numbers[:, place] = self._code(placed.shape), placed.pod.spec.priority, microseconds(placed.pod)

    def _code(self, shape: PodShape) -> int:
        code = self._code_of.get(shape)
        if code is None:
            code = self._code_of[shape] = len(self._shapes)
            self._shapes.append(shape)
        return code


def microseconds(pod: Pod) -> int:
    """Return when a pod started."""
    return (started(pod) - EPOCH) // MICROSECOND

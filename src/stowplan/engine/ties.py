"""Which of several equally good rows is taken.

`UpstreamOrder` gives what kube-scheduler gives with `parallelism: 1`: it builds a heap over the feasible nodes in the
order it found them and takes the top, without shuffling. Among equal totals the top of such a heap is the one that
comes first in a pre-order walk of the tree that the heap's array stands for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from stowplan.table.columns import Rows


class TieRule(Protocol):
    """Picks one of the rows with the highest total."""

    def pick(self, best: Rows, found: Callable[[], Rows]) -> int:
        """Return one of `best`; `found()` gives all feasible rows in the order they were found."""


class RandomTie:
    """Every best row is equally likely; the same draws give the same choices."""

    def __init__(self, draw: Callable[[int], int]) -> None:
        self._draw = draw

    def pick(self, best: Rows, found: Callable[[], Rows]) -> int:
        return int(best[self._draw(len(best))])


class UpstreamOrder:
    """The deterministic choice of kube-scheduler 1.36."""

    def pick(self, best: Rows, found: Callable[[], Rows]) -> int:
        order = found()
        # Positions in the heap's array, counted from 1: the children of p are 2p and 2p + 1.
        positions = np.flatnonzero(np.isin(order, best)) + 1
        depth = np.frexp(positions.astype(np.float64))[1].astype(np.int64)
        deepest = int(depth.max())
        # Left-aligned paths compare as a pre-order walk does; of a path and its extension, the shorter comes first.
        keys = (positions << (deepest - depth)) * (deepest + 1) + depth
        return int(order[positions[int(np.argmin(keys))] - 1])

"""Some rows after their dry run: who would have to go from each, and what that costs, as columns until asked for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from itertools import compress

import numpy as np

from stowplan.framework.contract import Preemption
from stowplan.framework.handle import PlacedPod
from stowplan.model.importance import importance, started
from stowplan.model.pod import Pod
from stowplan.plugins.defaultpreemption.choice import PRIORITY_SHIFT, Harm
from stowplan.plugins.defaultpreemption.reprieve import DryRun, Evictable
from stowplan.table.columns import Mask
from stowplan.table.supposition import sum_rows

LOWEST = np.iinfo(np.int64).min


class Tried:
    """The rows of one dry run; most of them are only counted, never looked at one by one."""

    def __init__(self, pods: Sequence[PlacedPod], evictable: Evictable, is_over: Mask, result: DryRun) -> None:
        self.evictable = evictable
        self.words = result.words
        self._pods = pods
        self._goes = result.goes
        # Of each pod, whether evicting it goes over a budget; such pods come first among those of their row.
        self._is_over = is_over
        self.harm = self._harm()

    def preemption(self, position: int, node_name: str) -> Preemption:
        """Return what has to be done on one of the rows."""
        return Preemption(node_name, tuple(self._victims(position)), int(self.harm[0, position]))

    def started_at(self, position: int) -> datetime:
        """Return when the first of the most important victims on a row started."""
        first = self._first_going[position]
        # Without budgets in play the pods of a row are in the order of their importance.
        return started(self._victims(position)[0] if self._is_over[first] else self._pods[first].pod)

    @cached_property
    def _first_going(self) -> list[int]:
        """The first pod of each row that goes, by its place among all; only for rows where somebody does."""
        places = np.where(self._goes, np.arange(len(self._goes)), len(self._goes))
        firsts: list[int] = np.minimum.reduceat(places, self.evictable.offsets[:-1]).tolist()
        return firsts

    def _victims(self, position: int) -> list[Pod]:
        """Return the pods that go, the most important first."""
        start, end = self.evictable.offsets[position : position + 2].tolist()
        going = compress(self._pods[start:end], self._goes[start:end].tolist())
        victims = [placed.pod for placed in going]
        if self._is_over[start]:
            victims.sort(key=importance)
        return victims

    def _harm(self) -> Harm:
        """Add up the costs by row; a row without victims has none to speak of."""
        _, shapes, codes, offsets = self.evictable
        if not len(codes):
            return np.zeros((4, 0), dtype=np.int64)
        each = np.array([shape.pod.spec.priority for shape in shapes], dtype=np.int64)[codes]
        goes = self._goes.astype(np.int64)
        highest = np.maximum.reduceat(np.where(self._goes, each, LOWEST), offsets[:-1])
        sums = sum_rows(np.stack((goes * self._is_over, goes * (each + PRIORITY_SHIFT), goes)), offsets)
        return np.stack((sums[0], highest, sums[1], sums[2]))

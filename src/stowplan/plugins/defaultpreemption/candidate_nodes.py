"""The nodes on which a search has found that evictions make room, why others are none, and when to stop.

`search.py` adds the rows of each dry run. Of the candidates, the one is taken where evictions do the least harm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.framework.contract import Preemption
from stowplan.framework.verdict import Code, Rejection, Verdict, Words
from stowplan.model.label_syntax import aggregate
from stowplan.model.pod import Pod, importance
from stowplan.plugins.defaultpreemption.dry_run import DryRun, Evictable
from stowplan.plugins.defaultpreemption.placed_columns import PlacedColumns, microseconds
from stowplan.table.columns import Mask, Rows, Scores
from stowplan.table.hypothetical import sum_rows

NOT_HELPFUL: Final = Rejection(("Preemption is not helpful for scheduling",), Code.UNRESOLVABLE)
LOWEST_PRIORITY: Final = np.iinfo(np.int64).min
# Makes every priority positive, so that one victim more always weighs more.
PRIORITY_SHIFT: Final = 2**31

#: What the evictions on each node cost, in the order in which it is compared; the less the better. # (costs, nodes)
#: Budgets violated, priority of the most important victim, sum of the shifted priorities, number of victims.
Harm = Scores


class Findings:
    """The candidates, and for every other row that was looked at the word against it."""

    def __init__(self, verdict: Verdict, enough: int) -> None:
        self._verdict = verdict
        self._enough = enough
        self._kept: list[tuple[Tried, Rows]] = []
        self._harmless = 0
        self._violating = 0
        self._words: Words = np.zeros(len(verdict.names), dtype=np.int32)

    def __bool__(self) -> bool:
        return bool(self._harmless or self._violating)

    @property
    def is_enough(self) -> bool:
        """Whether to stop: there are enough candidates, and one of them at least violates no budget."""
        return self._harmless > 0 and self._harmless + self._violating >= self._enough

    @property
    def candidates(self) -> list[Preemption]:
        """Every candidate, written out."""
        return [self._preemption(tried, position) for tried, kept in self._kept for position in kept.tolist()]

    def best(self) -> Preemption:
        """Return the candidate that does the least harm."""
        harm = np.concatenate([tried.harm[:, kept] for tried, kept in self._kept], axis=1)
        index = least_harmful(harm, lambda: np.concatenate([tried.started_at(kept) for tried, kept in self._kept]))
        for tried, kept in self._kept:
            if index < len(kept):
                return self._preemption(tried, int(kept[index]))
            index -= len(kept)
        raise LookupError("no candidate was kept")

    def refuse(self, rows: list[int], rejection: Rejection) -> None:
        """Note why rows are no candidates."""
        if rows:
            self._words[rows] = self._verdict.vocabulary.number(rejection)

    def add(self, tried: Tried) -> None:
        """Take in the rows of a dry run, in their order, as far as they are still needed."""
        rows, fits = tried.evictable.rows, tried.words == 0
        has_victims = tried.harm[3] > 0
        self._words[rows] = tried.words
        for row in rows[fits & ~has_victims].tolist():
            problem = f'expected at least one victim pod on node "{self._verdict.names[row]}"'
            self.refuse([row], Rejection((problem,), Code.ERROR))
        is_violating = tried.harm[0] > 0
        needed = self._up_to_enough(fits & has_victims, is_violating)
        harmless = np.flatnonzero(needed & ~is_violating)[: self._enough - self._harmless]
        violating = np.flatnonzero(needed & is_violating)[: self._enough - self._violating]
        self._harmless += len(harmless)
        self._violating += len(violating)
        self._kept.append((tried, np.concatenate((harmless, violating))))

    def _up_to_enough(self, is_candidate: Mask, is_violating: Mask) -> Mask:
        """Leave out the candidates that come after the one with which there are enough."""
        harmless = self._harmless + np.cumsum(is_candidate & ~is_violating)
        total = self._violating + harmless + np.cumsum(is_candidate & is_violating)
        is_enough = (harmless > 0) & (total >= self._enough)
        is_needed = is_candidate.copy()
        if is_enough.any():
            is_needed[int(is_enough.argmax()) + 1 :] = False
        return is_needed

    def error(self) -> str:
        """Return the faults met on the way, joined; empty if there were none."""
        words = (self._verdict.vocabulary[number] for number in np.unique(self._words[self._words != 0]).tolist())
        faults = tuple(word.reasons[0] for word in words if word.code is Code.ERROR)
        return aggregate(faults) if faults else ""

    def message(self) -> str:
        """Return upstream's sentence for a search that found nothing."""
        vocabulary = self._verdict.vocabulary
        words = np.where(self._words != 0, self._words, vocabulary.number(NOT_HELPFUL)).astype(np.int32)
        return Verdict(words, vocabulary, self._verdict.names).fit_error()

    def _preemption(self, tried: Tried, position: int) -> Preemption:
        return tried.preemption(position, self._verdict.names[int(tried.evictable.rows[position])])


class Victims(NamedTuple):
    """The pods that may go from the rows of a dry run: who they are, and whether evicting each goes over a budget.

    Those that go over one come first among those of their row, and the others by their importance.
    """

    columns: PlacedColumns
    places: NDArray[np.intp]
    is_over: Mask


class Tried:
    """The rows of one dry run; most of them are only counted, never looked at one by one."""

    def __init__(self, victims: Victims, evictable: Evictable, result: DryRun) -> None:
        self.evictable = evictable
        self.words = result.words
        columns, self._places, self._is_over = victims
        # Whatever is written or cleared away there later leaves these as they are.
        self._pods, self._starts = columns.pods, columns.starts
        self._goes = result.goes
        self.harm = self._harm(columns.priorities.take(self._places))

    def preemption(self, position: int, node_name: str) -> Preemption:
        """Return what has to be done on one of the rows."""
        return Preemption(node_name, tuple(self._victims(position)), int(self.harm[0, position]))

    def started_at(self, positions: Rows) -> Scores:
        """Return when the first of the most important victims on rows started; somebody must go there."""
        places = np.where(self._goes, np.arange(len(self._goes)), len(self._goes))
        firsts = np.minimum.reduceat(places, self.evictable.offsets[:-1])[positions]
        found: Scores = self._starts.take(self._places.take(firsts))
        # Only where budgets are in play are the pods of a row not in the order of their importance.
        for index in np.flatnonzero(self._is_over.take(firsts)).tolist():
            found[index] = microseconds(self._victims(int(positions[index]))[0])
        return found

    def _victims(self, position: int) -> list[Pod]:
        """Return the pods that go, the most important first."""
        start, end = self.evictable.offsets[position : position + 2].tolist()
        going = self._places[start:end][self._goes[start:end]].tolist()
        victims = [self._pods[place].pod for place in going]
        if self._is_over[start]:
            victims.sort(key=importance)
        return victims

    def _harm(self, each: Scores) -> Harm:
        """Add up the costs by row, given the priority of each pod; a row without victims has none to speak of."""
        offsets = self.evictable.offsets
        if not len(self._places):
            return np.zeros((4, 0), dtype=np.int64)
        goes = self._goes.astype(np.int64)
        highest = np.maximum.reduceat(np.where(self._goes, each, LOWEST_PRIORITY), offsets[:-1])
        sums = sum_rows(np.stack((goes * self._is_over, goes * (each + PRIORITY_SHIFT), goes)), offsets)
        return np.stack((sums[0], highest, sums[1], sums[2]))


def least_harmful(harm: Harm, started_at: Callable[[], Scores]) -> int:
    """Return the node that does best in the first cost in which it differs; of equals, that of the youngest victims.

    `started_at` says when the first of each node's most important victims started: the later, the better.
    """
    best = np.arange(harm.shape[1])
    for cost in harm:
        costs = cost[best]
        best = best[costs == costs.min()]
        if len(best) == 1:
            return int(best[0])
    return int(best[started_at()[best].argmax()])


def pick(candidates: Sequence[Preemption]) -> Preemption:
    """Return the candidate that does the least harm; of equals the first."""
    harm = np.array([_costs(candidate) for candidate in candidates], dtype=np.int64).T
    return candidates[least_harmful(harm, lambda: np.array([_first_start(each) for each in candidates]))]


def _costs(candidate: Preemption) -> tuple[int, int, int, int]:
    priorities = [victim.priority for victim in candidate.victims]
    weight = sum(priorities) + PRIORITY_SHIFT * len(priorities)
    return candidate.pdb_violations, priorities[0], weight, len(priorities)


def _first_start(candidate: Preemption) -> int:
    highest = max(victim.priority for victim in candidate.victims)
    return min(microseconds(victim) for victim in candidate.victims if victim.priority == highest)

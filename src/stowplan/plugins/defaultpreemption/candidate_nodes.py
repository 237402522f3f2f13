"""The nodes on which a search has found that evictions make room, why others are none, and when to stop.

`search.py` adds rows that were tried. Of the candidates, the one is taken where evictions do the least harm.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from stowplan.framework.contract import Preemption
from stowplan.framework.verdict import Code, Rejection, Verdict, Words
from stowplan.model.label_syntax import aggregate
from stowplan.plugins.defaultpreemption.placed_columns import microseconds
from stowplan.plugins.defaultpreemption.tried_rows import PRIORITY_SHIFT, Harm, TriedRows
from stowplan.table.columns import NO_ROWS, Mask, Rows, Scores

NOT_HELPFUL: Final = Rejection(("Preemption is not helpful for scheduling",), Code.UNRESOLVABLE)


class Findings(ABC):
    """The candidates, and for every other row that was looked at the word against it."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self._words: Words = np.zeros(len(verdict.names), dtype=np.int32)

    @abstractmethod
    def __bool__(self) -> bool:
        """Say whether there are any candidates."""

    @property
    @abstractmethod
    def is_enough(self) -> bool:
        """Whether to stop: there are enough candidates, and one of them at least violates no budget."""

    @property
    @abstractmethod
    def candidates(self) -> list[Preemption]:
        """Every candidate, written out."""

    @abstractmethod
    def best(self) -> Preemption:
        """Return the candidate that does the least harm."""

    def refuse(self, rows: list[int], rejection: Rejection) -> None:
        """Note why rows are no candidates."""
        if rows:
            self._words[rows] = self._verdict.vocabulary.number(rejection)

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


class RowFindings(Findings):
    """The candidates among rows that were tried."""

    def __init__(self, verdict: Verdict, enough: int, tried: TriedRows) -> None:
        super().__init__(verdict)
        self._enough = enough
        self._tried = tried
        self._rows: Rows = NO_ROWS
        self._harmless = 0
        self._violating = 0

    def __bool__(self) -> bool:
        return bool(self._harmless or self._violating)

    @property
    def is_enough(self) -> bool:
        return self._harmless > 0 and self._harmless + self._violating >= self._enough

    @property
    def candidates(self) -> list[Preemption]:
        return [self._preemption(row) for row in self._rows.tolist()]

    def best(self) -> Preemption:
        index = least_harmful(self._tried.harm[:, self._rows], lambda: self._tried.starts[self._rows])
        return self._preemption(int(self._rows[index]))

    def add(self, rows: Rows) -> None:
        """Take in rows that were tried, in their order, as far as they are still needed."""
        words, harm = self._tried.words[rows], self._tried.harm[:, rows]
        fits, has_victims, is_violating = words == 0, harm[3] > 0, harm[0] > 0
        self._words[rows] = words
        for row in rows[fits & ~has_victims].tolist():
            problem = f'expected at least one victim pod on node "{self._verdict.names[row]}"'
            self.refuse([row], Rejection((problem,), Code.ERROR))
        needed = self._up_to_enough(fits & has_victims, is_violating)
        harmless = np.flatnonzero(needed & ~is_violating)[: self._enough - self._harmless]
        violating = np.flatnonzero(needed & is_violating)[: self._enough - self._violating]
        self._harmless += len(harmless)
        self._violating += len(violating)
        self._rows = np.concatenate((self._rows, rows[harmless], rows[violating]))

    def _up_to_enough(self, is_candidate: Mask, is_violating: Mask) -> Mask:
        """Leave out the candidates that come after the one with which there are enough."""
        harmless = self._harmless + np.cumsum(is_candidate & ~is_violating)
        total = self._violating + harmless + np.cumsum(is_candidate & is_violating)
        is_enough = (harmless > 0) & (total >= self._enough)
        is_needed = is_candidate.copy()
        if is_enough.any():
            is_needed[int(is_enough.argmax()) + 1 :] = False
        return is_needed

    def _preemption(self, row: int) -> Preemption:
        return self._tried.preemption(row, self._verdict.names[row])


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

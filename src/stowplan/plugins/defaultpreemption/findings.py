"""What a search has found so far: nodes where evictions make room, why others are none, and when to stop."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from stowplan.framework.contract import Preemption
from stowplan.framework.verdict import Code, Rejection, Verdict, Words
from stowplan.model.label_syntax import aggregate
from stowplan.plugins.defaultpreemption.choice import least_harmful
from stowplan.plugins.defaultpreemption.tried import Tried
from stowplan.table.columns import Mask, Rows

NOT_HELPFUL = Rejection(("Preemption is not helpful for scheduling",), Code.UNRESOLVABLE)


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
        members = [(tried, position) for tried, kept in self._kept for position in kept.tolist()]
        harm = np.concatenate([tried.harm[:, kept] for tried, kept in self._kept], axis=1)

        def started_at(index: int) -> datetime:
            tried, position = members[index]
            return tried.started_at(position)

        return self._preemption(*members[least_harmful(harm, started_at)])

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
            self.refuse([row], _no_victim(self._verdict.names[row]))
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


def _no_victim(node_name: str) -> Rejection:
    return Rejection((f'expected at least one victim pod on node "{node_name}"',), Code.ERROR)

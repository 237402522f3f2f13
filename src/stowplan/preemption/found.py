"""What a search has found so far: nodes where evictions make room, why others are none, and when to stop."""

from __future__ import annotations

import numpy as np

from stowplan.framework.contract import Preemption
from stowplan.framework.verdict import Code, Rejection, Verdict, Words
from stowplan.model.label_syntax import aggregate
from stowplan.preemption.choice import least_harmful
from stowplan.preemption.tried import Tried
from stowplan.table.columns import Rows

NOT_HELPFUL = Rejection(("Preemption is not helpful for scheduling",), Code.UNRESOLVABLE)


class Found:
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
    def missing(self) -> int:
        """How many rows to look at next."""
        missing = self._enough - self._harmless - self._violating
        return missing if missing > 0 else self._enough

    @property
    def candidates(self) -> list[Preemption]:
        """Every candidate, written out."""
        return [self._preemption(tried, position) for tried, kept in self._kept for position in kept.tolist()]

    def best(self) -> Preemption:
        """Return the candidate that does the least harm."""
        members = [(tried, position) for tried, kept in self._kept for position in kept.tolist()]
        harm = np.concatenate([tried.harm[:, kept] for tried, kept in self._kept], axis=1)
        return self._preemption(*members[least_harmful(harm, lambda index: members[index][0].started_at(members[index][1]))])

    def refuse(self, rows: list[int], rejection: Rejection) -> None:
        """Note why rows are no candidates."""
        if rows:
            self._words[rows] = self._verdict.vocabulary.number(rejection)

    def add(self, tried: Tried) -> None:
        """Take in the rows of a dry run."""
        rows = tried.evictable.rows
        self._words[rows] = tried.words
        fits = tried.words == 0
        has_victims = tried.harm[3] > 0
        for row in rows[fits & ~has_victims].tolist():
            self.refuse([row], _no_victim(self._verdict.names[row]))
        is_violating = tried.harm[0] > 0
        harmless = np.flatnonzero(fits & has_victims & ~is_violating)
        violating = np.flatnonzero(fits & has_victims & is_violating)
        if self._violating >= self._enough:
            # The search went on only for one that violates nothing.
            harmless, violating = harmless[:1], violating[:0]
        self._harmless += len(harmless)
        self._violating += len(violating)
        self._kept.append((tried, np.concatenate((harmless, violating))))

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

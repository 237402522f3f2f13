"""The search for a node on which evicting less important pods makes room, from eligibility to the choice.

Rows that are asked about are dry-run together (`reprieve`); `choice` picks among those where it works out.
`plugins.default_preemption` puts the result into the words of the plugin contract.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from stowplan.framework.contract import Attempt, Preemption
from stowplan.framework.handle import PlacedPod, PreemptingHandle
from stowplan.framework.verdict import Code, Rejection, Verdict
from stowplan.model.importance import importance
from stowplan.model.label_syntax import aggregate
from stowplan.model.pod import Pod
from stowplan.preemption.budgets import Budgets
from stowplan.preemption.reprieve import Standing, dry_run
from stowplan.table.columns import Rows
from stowplan.table.shape import PodShape

NO_VICTIMS = Rejection(("No preemption victims found for incoming pod",), Code.UNRESOLVABLE)
NOT_HELPFUL = Rejection(("Preemption is not helpful for scheduling",), Code.UNRESOLVABLE)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many candidates are enough: a share of the nodes that come into question, but at least so many."""

    percentage: int = 10
    absolute: int = 100

    def enough(self, nodes: int) -> int:
        return min(nodes, max(nodes * self.percentage // 100, self.absolute))


@dataclass(slots=True)
class Found:
    """What a search found: candidates, best kept budgets first, and why other nodes are none."""

    harmless: list[Preemption] = field(default_factory=list)
    violating: list[Preemption] = field(default_factory=list)
    refused: dict[int, Rejection] = field(default_factory=dict)

    @property
    def candidates(self) -> list[Preemption]:
        return self.harmless + self.violating

    def is_enough(self, enough: int) -> bool:
        """Say whether to stop: with so many candidates, at least one of which violates no budget."""
        return bool(self.harmless) and len(self.harmless) + len(self.violating) >= enough

    def error(self) -> str:
        """Return the faults met on the way, joined; empty if there were none."""
        faults = [rejection.reasons[0] for rejection in self.refused.values() if rejection.code is Code.ERROR]
        return aggregate(tuple(dict.fromkeys(faults))) if faults else ""

    def message(self, verdict: Verdict) -> str:
        """Return upstream's sentence for a search that found nothing."""
        vocabulary = verdict.vocabulary
        words = np.full(len(verdict.names), vocabulary.number(NOT_HELPFUL), dtype=np.int32)
        for row, rejection in self.refused.items():
            words[row] = vocabulary.number(rejection)
        return Verdict(words, vocabulary, verdict.names).fit_error()


class Search:
    """The search for one pod."""

    def __init__(self, pod: Pod, attempt: Attempt, handle: PreemptingHandle) -> None:
        self._pod = pod
        self._attempt = attempt
        self._pods = handle.pods
        self._budgets = Budgets(handle.listers.pod_disruption_budgets())
        self._standing = _standing(pod, attempt, handle)

    def potential_rows(self) -> Rows:
        """Return the rows that evictions may help: refused, but not for good."""
        verdict = self._attempt.verdict
        if verdict.pre_filter is not None:
            # The filters were never prepared, so nothing can be supposed.
            return np.empty(0, dtype=np.intp)
        rejections = verdict.vocabulary.rejections
        codes = [rejection is not None and rejection.code is Code.UNSCHEDULABLE for rejection in rejections]
        return np.flatnonzero(np.array(codes, dtype=bool)[verdict.words])

    def run(self, rows: Rows, enough: int) -> Found:
        """Look for candidates among `rows`, in their order, until there are enough."""
        found = Found()
        start = 0
        while start < len(rows) and not found.is_enough(enough):
            missing = enough - len(found.harmless) - len(found.violating)
            some = rows[start : start + (missing if missing > 0 else enough)].tolist()
            start += len(some)
            self._look_at(some, found, enough)
        return found

    def _look_at(self, rows: list[int], found: Found, enough: int) -> None:
        evictable = []
        for row in rows:
            victims = self._evictable(row)
            if victims:
                evictable.append((row, *self._in_turn(victims)))
            else:
                found.refused[row] = NO_VICTIMS
        for row, result in self._dry_run(evictable):
            if isinstance(result, Rejection):
                found.refused[row] = result
            elif not found.is_enough(enough):
                kept = found.violating if result.pdb_violations else found.harmless
                kept.extend([result] if len(kept) < enough else [])

    def _evictable(self, row: int) -> Sequence[PlacedPod]:
        """Return the pods of a row that the pod may evict, the most important first."""
        pods = self._pods.by_importance(self._attempt.verdict.names[row])
        limit = self._pod.spec.priority
        if not pods or pods[0].pod.spec.priority < limit:
            return pods
        # Sorted by falling priority: everybody from the first of a lower one on.
        return pods[bisect_right(pods, -limit, key=lambda placed: -placed.pod.spec.priority) :]

    def _in_turn(self, victims: Sequence[PlacedPod]) -> tuple[Sequence[PlacedPod], int]:
        """Return the victims in the order in which they are put back, and how many of them violate a budget.

        Those whose eviction violates a budget come first.
        """
        if not self._budgets:
            return victims, 0
        violates = self._budgets.violated_by(victims)
        over = [placed for placed, is_over in zip(victims, violates, strict=True) if is_over]
        within = [placed for placed, is_over in zip(victims, violates, strict=True) if not is_over]
        return over + within, len(over)

    def _dry_run(
        self, evictable: list[tuple[int, Sequence[PlacedPod], int]]
    ) -> Iterator[tuple[int, Preemption | Rejection]]:
        shapes = [(row, [placed.shape for placed in victims]) for row, victims, _ in evictable]
        words, goes = dry_run(self._attempt, shapes, self._standing)
        numbers = words.tolist()
        for (row, victims, violating), word, flags in zip(evictable, numbers, goes, strict=True):
            if word:
                yield row, self._attempt.verdict.vocabulary[word]
            else:
                yield row, self._candidate(row, victims, violating, flags)

    def _candidate(
        self, row: int, victims: Sequence[PlacedPod], violating: int, goes: list[bool]
    ) -> Preemption | Rejection:
        name = self._attempt.verdict.names[row]
        chosen = [placed.pod for placed, is_away in zip(victims, goes, strict=True) if is_away]
        if not chosen:
            return Rejection((f'expected at least one victim pod on node "{name}"',), Code.ERROR)
        if violating:
            chosen.sort(key=importance)
        return Preemption(name, tuple(chosen), sum(goes[:violating]))


def _standing(pod: Pod, attempt: Attempt, handle: PreemptingHandle) -> Standing:
    """Return, by row, the nominated pods that must fit beside `pod`."""
    nominated = handle.nominations.standing_before(pod)
    if not nominated:
        return {}
    row_of = {name: row for row, name in enumerate(attempt.verdict.names) if name in nominated}
    shapes: dict[int, list[PodShape]] = {
        row: [attempt.nodes.shape_of(other) for other in nominated[name]] for name, row in row_of.items()
    }
    return shapes

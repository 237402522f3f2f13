"""The choice when extenders have a say: the same steps as `choose`, with their answers awaited in between.

Sample, let the extenders narrow what is left, rank, and add what they give. The table does not move meanwhile: what the
cluster tells is applied after the cycle. A node nominated for the pod is asked about alone first.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from stowplan.engine import scheduling_cycle
from stowplan.engine.ports import ExtenderSaid
from stowplan.engine.results import Chosen, Failed, Refused, Result
from stowplan.engine.scheduling_cycle import Field, Found
from stowplan.engine.ties import TieRule
from stowplan.extender import chain
from stowplan.extender.chain import ExtendedVerdict, Refusals
from stowplan.extender.questions import OpenQuestions
from stowplan.framework.contract import Preemption
from stowplan.framework.extender import Extender, PodsOn, unseen, with_refusals
from stowplan.framework.handle import ExtenderError
from stowplan.framework.plugin_faults import SIGN, PluginError
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection, Verdict
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.columns import Mask, Rows, Scores
from stowplan.table.shape import PodShape


@dataclass(frozen=True, slots=True)
class Extended:
    """Chooses nodes together with extenders."""

    field: Field
    extenders: Sequence[Extender]
    pods_on: PodsOn
    #: Told what extenders said against pods, and which of them failed.
    tell: Callable[[ExtenderSaid], None]
    #: Draws between equal nodes that extenders have scored: upstream leaves these to chance, whatever else it does.
    draw: TieRule
    #: What the cycle under way waits for.
    questions: OpenQuestions = dataclasses.field(default_factory=OpenQuestions)

    async def choose(self, profile: Profile, pod: Pod, shape: PodShape) -> Result:
        """Choose a node for `pod`, or say why there is none."""
        # Settles the order for this attempt, as `choose.choose` does.
        self.field.table.order()
        if not len(self.field.table):
            return Failed(pod, scheduling_cycle.NO_NODES)
        try:
            return await self._choose(profile, pod, shape)
        except PluginError as error:
            if error.point != SIGN:
                self.field.memo.forget(profile, pod, shape)
            return Failed(pod, str(error), error.plugin)
        except ExtenderError as error:
            self._tell(pod, [error])
            return Failed(pod, str(error))

    async def agree(self, pod: Pod, candidates: Sequence[Preemption]) -> Sequence[Preemption]:
        """Return the candidates for preemption that no extender objects to."""
        try:
            agreed = await chain.agree(self.extenders, pod, candidates, self.pods_on, self.questions)
        except ExtenderError as error:
            self._tell(pod, [error])
            raise
        self._tell(pod, agreed.ignored, is_ignored=True)
        for extender, left in agreed.objections:
            self.tell(ExtenderSaid(pod, extender, "preempt", f"{left} of the nodes offered may be preempted on"))
        return agreed.candidates

    async def bind(self, pod: Pod, node_name: str) -> Rejection | Literal[False] | None:
        """Have an extender bind the pod: None if one did, False if that is for the plugins to do."""
        try:
            answer = await chain.bind(self.extenders, pod, node_name)
        except ExtenderError as error:
            self._tell(pod, [error])
            return Rejection((str(error),), Code.ERROR)
        self._tell(pod, answer.ignored, is_ignored=True)
        return None if answer.is_bound else False

    async def _choose(self, profile: Profile, pod: Pod, shape: PodShape) -> Result:
        found = scheduling_cycle.find_feasible(self.field, profile, pod, shape)
        verdict = found.verdict or found.kept.filtering.verdict()
        if not found.count:
            scheduling_cycle.pass_by_narrowed(self.field, found)
            return Refused(pod, verdict.fit_error(), verdict)
        nominated = await self._nominated(pod, found)
        if nominated is not None:
            return nominated
        scheduling_cycle.pass_by_narrowed(self.field, found)
        beyond = scheduling_cycle.beyond_sample(self.field, profile, found, self.extenders)
        found = scheduling_cycle.sampled(self.field, profile, found, self.extenders)
        narrowed = await chain.narrow(self.extenders, pod, self._nodes(found), self.questions)
        self._report(pod, narrowed)
        if not narrowed.names:
            return _refused(pod, verdict if beyond is None else unseen(verdict, beyond), narrowed)
        return await self._pick(profile, pod, self._only(found, narrowed.names), narrowed)

    async def _nominated(self, pod: Pod, found: Found) -> Chosen | None:
        """Take the node that is nominated for the pod if everybody agrees; trouble with it is no reason to fail."""
        row = self.field.table.row_of.get(pod.status.nominated_node_name)
        if row is None or not found.feasible[row]:
            return None
        name = self.field.table.names()[row]
        try:
            narrowed = await chain.narrow(self.extenders, pod, {name: self.field.table.nodes[row]}, self.questions)
        except ExtenderError as error:
            self._tell(pod, [error], is_ignored=True)
            return None
        return Chosen(pod, name, row, found.count) if narrowed.names else None

    async def _pick(self, profile: Profile, pod: Pod, found: Found, narrowed: ExtendedVerdict) -> Chosen:
        table, names = self.field.table, narrowed.names
        order = np.fromiter((table.row_of[name] for name in names), dtype=np.intp, count=len(names))
        if found.count == 1:
            row = int(order[0])
            return Chosen(pod, table.names()[row], row, 1)
        ranking = scheduling_cycle.rank(self.field, profile, pod, found, as_empty=narrowed.has_whole_nodes)
        nodes = {name: table.nodes[table.row_of[name]] for name in names}
        given = await chain.prioritize(self.extenders, pod, nodes, self.questions)
        self._tell(pod, given.ignored, is_ignored=True)
        total = ranking.total.copy()
        scored = np.zeros(len(table), dtype=bool)
        for name, points in given.total.items():
            place = table.row_of.get(name)
            if place is not None and found.feasible[place]:
                total[place] += points
                scored[place] = True
        if given.has_silent:
            scored |= found.feasible
        row = self._best(total, found.feasible, scored, order)
        return Chosen(pod, table.names()[row], row, found.count, int(total[row]))

    def _best(self, total: Scores, feasible: Mask, scored: Mask, order: Rows) -> int:
        """Return the row with the highest total; of equal ones, one that extenders have scored, if there is any."""
        highest = total[feasible].max()
        best = feasible & (total == highest)
        drawn = np.flatnonzero(best & scored)
        if drawn.size:
            return self.draw.pick(drawn, lambda: order)
        return self.field.ties.pick(np.flatnonzero(best), lambda: order)

    def _nodes(self, found: Found) -> dict[str, Node]:
        """Return the nodes that are left, in the order in which they are found."""
        nodes = self.field.table.nodes
        return {nodes[row].name: nodes[row] for row in scheduling_cycle.in_order(self.field, found).tolist()}

    def _only(self, found: Found, names: Sequence[str]) -> Found:
        feasible = np.zeros_like(found.feasible)
        feasible[[self.field.table.row_of[name] for name in names]] = True
        if np.array_equal(feasible, found.feasible):
            return found
        return Found(found.kept, found.verdict, feasible, len(names), is_kept=False)

    # Telling

    def _report(self, pod: Pod, narrowed: ExtendedVerdict) -> None:
        self._tell(pod, narrowed.ignored, is_ignored=True)
        if not narrowed.names:
            for extender, refusals in narrowed.refusals:
                self.tell(ExtenderSaid(pod, extender.name, "filter", in_words(refusals)))

    def _tell(self, pod: Pod, errors: Iterable[ExtenderError], *, is_ignored: bool = False) -> None:
        for error in errors:
            self.tell(ExtenderSaid(pod, error.extender, error.verb, str(error), True, is_ignored))


def in_words(refusals: Refusals) -> str:
    """Say how many nodes an extender refuses, and why."""
    reasons = Counter(", ".join(rejection.reasons) or "without a word" for rejection in refusals.values())
    counted = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"rejects {len(refusals)} node{'' if len(refusals) == 1 else 's'}: {counted}"


def _refused(pod: Pod, verdict: Verdict, narrowed: ExtendedVerdict) -> Refused:
    verdict = with_refusals(verdict, (), narrowed.rejected)
    return Refused(pod, verdict.fit_error(), verdict)

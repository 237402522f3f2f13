"""Room for a whole pod group: all less important units go, the group is tried once, and whoever can stay is put back.

The search is over the whole cluster: there is no node to pick. What is evicted together is in `units.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from stowplan.framework.handle import PreemptingHandle
from stowplan.framework.placing import SUCCESS
from stowplan.framework.plugin_faults import SECOND_NS
from stowplan.framework.pod_groups import Assignment, GroupAttempt, GroupNominated
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod, pod_id
from stowplan.plugins.defaultpreemption.search import Budgets
from stowplan.plugins.defaultpreemption.units import Unit, Units, UnknownNodeError

EVALUATIONS = "scheduler_preemption_evaluation_duration_seconds"
NO_VICTIMS = "No preemption victims found for incoming preemptor"
NEVER = "not eligible due to preemptionPolicy=Never."
ONGOING = "ongoing preemption on nominated nodes"


class GroupSearch:
    """The search for one group."""

    def __init__(self, attempt: GroupAttempt, handle: PreemptingHandle, units: Units, budgets: Budgets) -> None:
        self._attempt, self._handle, self._units, self._budgets = attempt, handle, units, budgets
        self._pods = handle.pods

    async def run(self, policy: str) -> GroupNominated | Rejection:
        """Return whom to evict and where the pods will go, or why there is no such way."""
        try:
            units = self._units.of(placed for placed in self._pods.pods() if self._pods.has_node(placed.node_name))
        except UnknownNodeError as error:
            return _rejection(f"failed to create domain: {error}", Code.ERROR)
        if policy == "Never":
            return _rejection(NEVER)
        if self._is_ongoing():
            nominated = {pod_id(pod): pod.status.nominated_node_name for pod in self._attempt.pods}
            return GroupNominated(_said(ONGOING), nominated)
        started_ns = self._handle.now_ns()
        answer = await self._evaluate(units)
        seconds = (self._handle.now_ns() - started_ns) / SECOND_NS
        self._handle.measures.time(EVALUATIONS, seconds, "podgroup", status_of(answer))
        return answer

    async def _evaluate(self, units: Sequence[Unit]) -> GroupNominated | Rejection:
        less_important = [unit for unit in units if unit.priority < self._attempt.group.spec.priority]
        return await self._select(less_important) if less_important else _rejection(NO_VICTIMS, Code.UNRESOLVABLE)

    def _is_ongoing(self) -> bool:
        """Say whether victims on a nominated node are still on their way out."""
        names = {pod.status.nominated_node_name for pod in self._attempt.pods} - {""}
        on_nodes = (placed.pod for name in names for placed in self._pods.by_importance(name))
        priority = self._attempt.group.spec.priority
        return any(is_being_preempted(pod) and self._units.priority_of(pod) < priority for pod in on_nodes)

    async def _select(self, units: Sequence[Unit]) -> GroupNominated | Rejection:
        trial = self._attempt.trial
        for unit in units:
            trial.take_away(_pods(unit))
        placed = await trial.schedule()
        if placed.rejection is not None:
            return _rejection(", ".join(placed.rejection.reasons), placed.rejection.code)
        in_turn = sorted(units, key=lambda unit: unit.importance)
        counts = violations(self._budgets, in_turn)
        going: list[Unit] = []
        violated = 0
        for unit, count in sorted(zip(in_turn, counts, strict=True), key=lambda one: one[1] == 0):
            if not self._can_stay(unit, placed.assignments):
                going.append(unit)
                violated += count
        going.sort(key=lambda unit: unit.importance)
        victims = tuple(placed.pod for unit in going for placed in unit.pods)
        node_of = {pod_id(one.pod): one.node_name for one in placed.assignments}
        disruptions = sum(unit.rank > 1 for unit in going)
        text = f"found a placement for podgroup, preempting {len(victims)} victims"
        return GroupNominated(_said(text), node_of, victims, violated, disruptions)

    def _can_stay(self, unit: Unit, assignments: Sequence[Assignment]) -> bool:
        self._attempt.trial.put_back(_pods(unit))
        if self._attempt.trial.still_fits(assignments):
            return True
        self._attempt.trial.take_away(_pods(unit))
        return False


def _pods(unit: Unit) -> list[Pod]:
    return [placed.pod for placed in unit.pods]


def status_of(answer: GroupNominated | Rejection) -> str:
    """Return the word for an answer in metrics."""
    return answer.code.value if isinstance(answer, Rejection) else SUCCESS


def violations(budgets: Budgets, units: Sequence[Unit]) -> list[int]:
    """Count, for each unit, the pods whose eviction, after all before them, goes over a budget."""
    over = iter(budgets.violated_by([placed for unit in units for placed in unit.pods]))
    return [sum(next(over) for _ in unit.pods) for unit in units]


def is_being_preempted(pod: Pod) -> bool:
    """Say whether a pod is going because a scheduler evicted it."""
    if not pod.is_terminating:
        return False
    target = pod.status.condition("DisruptionTarget")
    return target is not None and (target.status, target.reason) == ("True", "PreemptionByScheduler")


def _said(message: str) -> str:
    return f"pod group preemption: {message}"


def _rejection(message: str, code: Code = Code.UNSCHEDULABLE) -> Rejection:
    return Rejection((_said(message),), code)

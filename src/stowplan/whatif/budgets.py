"""Disruption budgets as evictions meet them: who may go now, and which budget stands in the way.

A budget that no controller has looked at yet, as in a file, allows what it would allow if every pod with a node were
healthy. One that a controller looked at and could not count, for it is about pods that nobody scales, allows nothing.
"""

from __future__ import annotations

from math import ceil

from stowplan.model.kinds import PodDisruptionBudget
from stowplan.model.pod import Pod
from stowplan.model.selectors import Selector, SelectorError, compile_label_selector
from stowplan.whatif.world import World


class BudgetBook:
    """All budgets of a cluster, and how many more pods each lets go."""

    def __init__(self, world: World) -> None:
        self._by_namespace: dict[str, list[tuple[PodDisruptionBudget, Selector]]] = {}
        for budget in world.cache.objects.list(PodDisruptionBudget):
            selector = _selector(budget)
            if selector is not None:
                self._by_namespace.setdefault(budget.namespace, []).append((budget, selector))
        self._left = {
            budget.key: _allowed(budget, selector, world)
            for found in self._by_namespace.values()
            for budget, selector in found
        }

    def about(self, pod: Pod) -> list[str]:
        """Return the budgets that are about a pod."""
        return [budget.key for budget in self._about(pod)]

    def in_the_way(self, pod: Pod) -> list[str]:
        """Return the budgets that do not let a pod go now; nobody evicts a pod that several are about."""
        found = self._about(pod)
        if len(found) > 1:
            return [] if _asks_no_budget(pod) else [budget.key for budget in found]
        return [budget.key for budget in found if self._left[budget.key] <= 0 and not _is_beyond(pod, budget)]

    def why(self, pod: Pod) -> str:
        """Say why a pod may not go now, of one that may not."""
        found = self._about(pod)
        keys = ", ".join(budget.key for budget in found)
        if len(found) > 1:
            return f"nobody can evict it: more than one budget is about it, {keys}"
        problem = next(filter(None, map(_sync_problem, found)), "")
        if problem:
            return f"nobody can evict it: {keys} cannot be counted, {problem}"
        return f"evicting it would violate {keys}"

    def go(self, pod: Pod) -> None:
        """Count a pod as missing for good, if it was not so before."""
        for budget in self._about(pod):
            if not _is_beyond(pod, budget):
                self._left[budget.key] -= 1

    def _about(self, pod: Pod) -> list[PodDisruptionBudget]:
        known = self._by_namespace.get(pod.namespace, ())
        return [budget for budget, selector in known if selector.matches(pod.labels)]


def is_supposed(pod: Pod) -> bool:
    """Say whether nobody has run a pod: it was written by hand, or has been placed in a supposition."""
    return not pod.status.conditions and pod.status.start_time is None


def _is_beyond(pod: Pod, budget: PodDisruptionBudget) -> bool:
    """Say whether a pod may go without being counted: it does not run, or is not ready and the others are enough."""
    status = budget.status
    if not _is_counted(budget) or is_supposed(pod):
        return False
    if _asks_no_budget(pod):
        return True
    ready = pod.status.condition("Ready")
    if ready is not None and ready.status == "True":
        return False
    is_enough = 0 < status.desired_healthy <= status.current_healthy
    return is_enough or budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow"


def _asks_no_budget(pod: Pod) -> bool:
    """Say whether a pod may go whatever budgets say: it does not run yet, or no longer."""
    return not is_supposed(pod) and pod.status.phase != "Running"


def _selector(budget: PodDisruptionBudget) -> Selector | None:
    """Compile the selector of a budget, which may be about all pods; one that is missing or wrong protects nobody."""
    try:
        selector = compile_label_selector(budget.spec.selector)
    except SelectorError:
        return None
    return None if selector.is_nothing else selector


def _is_counted(budget: PodDisruptionBudget) -> bool:
    """Say whether a controller has counted the pods of a budget, or tried to."""
    status = budget.status
    return bool(status.observed_generation or status.expected_pods or status.disruptions_allowed or status.conditions)


def _sync_problem(budget: PodDisruptionBudget) -> str:
    """Return why a controller could not count the pods of a budget; nothing if it could."""
    failed = (one for one in budget.status.conditions if one.reason == "SyncFailed")
    return next((one.message or one.reason for one in failed), "")


def _allowed(budget: PodDisruptionBudget, selector: Selector, world: World) -> int:
    if _is_counted(budget):
        return budget.status.disruptions_allowed
    placed = (one.pod for one in world.cache.pods() if one.pod.namespace == budget.namespace)
    healthy = sum(selector.matches(pod.labels) and not pod.is_terminating for pod in placed)
    return max(0, healthy - _desired(budget, healthy))


def _desired(budget: PodDisruptionBudget, expected: int) -> int:
    """Return how many pods have to be healthy, of so many; all of them, if the budget does not say."""
    if budget.spec.max_unavailable is not None:
        return expected - _number(budget.spec.max_unavailable, expected)
    return _number(budget.spec.min_available, expected) if budget.spec.min_available is not None else expected


def _number(written: int | str, whole: int) -> int:
    """Read a number, or a percentage, which is rounded up."""
    if isinstance(written, int):
        return written
    percent = written.removesuffix("%")
    return ceil(int(percent) * whole / 100) if percent.isdigit() else 0

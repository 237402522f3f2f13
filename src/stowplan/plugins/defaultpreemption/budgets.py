"""PodDisruptionBudgets: which of the pods that might be evicted from a node would go over a budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stowplan.framework.handle import PlacedPod
from stowplan.model.pod import Pod
from stowplan.model.selectors import Selector, SelectorError, compile_label_selector
from stowplan.model.workload import PodDisruptionBudget
from stowplan.table.shape import PodShape


class Budgets:
    """All budgets of the cluster during one search; which of them are about a pod is found once for all pods alike."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        self._by_namespace: dict[str, list[tuple[PodDisruptionBudget, Selector]]] = {}
        self._about: dict[PodShape, tuple[PodDisruptionBudget, ...]] = {}
        for budget in budgets:
            selector = _selector(budget)
            if selector is not None:
                self._by_namespace.setdefault(budget.namespace, []).append((budget, selector))

    def __bool__(self) -> bool:
        return bool(self._by_namespace)

    def violated_by(self, pods: Sequence[PlacedPod]) -> list[bool]:
        """Say of each pod of a node whether evicting it, after all before it, goes over one of its budgets.

        A pod counts against every budget that is about it, except one that has its eviction on record already.
        """
        left: dict[str, int] = {}
        return [self._take(placed.pod, self._of(placed), left) for placed in pods]

    def _take(self, pod: Pod, budgets: Iterable[PodDisruptionBudget], left: dict[str, int]) -> bool:
        is_over = False
        for budget in budgets:
            if pod.name not in budget.status.disrupted_pods:
                allowed = left.get(budget.key, budget.status.disruptions_allowed) - 1
                left[budget.key] = allowed
                is_over = is_over or allowed < 0
        return is_over

    def _of(self, placed: PlacedPod) -> tuple[PodDisruptionBudget, ...]:
        found = self._about.get(placed.shape)
        if found is None:
            namespace, labels = placed.pod.namespace, placed.pod.labels
            # A pod without labels is about nobody's budget, even of one that asks for labels to be absent.
            known = self._by_namespace.get(namespace, ()) if labels else ()
            found = self._about[placed.shape] = tuple(budget for budget, selector in known if selector.matches(labels))
        return found


def _selector(budget: PodDisruptionBudget) -> Selector | None:
    """Compile the selector of a budget; one that is missing, empty or wrong protects nobody."""
    try:
        selector = compile_label_selector(budget.spec.selector)
    except SelectorError:
        return None
    return None if selector.is_everything or selector.is_nothing else selector

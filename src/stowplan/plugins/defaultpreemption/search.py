"""The search for nodes on which evicting less important pods makes room.

Rows are dry-run many at a time (`dry_run.py`); what comes out is kept as columns and picked from in
`candidate_nodes.py`. `plugin.py` puts the result into the words of the plugin contract.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stowplan.framework.attempt import Attempt
from stowplan.framework.handle import Handle, PlacedPod, PreemptingHandle
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.kinds import PodDisruptionBudget
from stowplan.model.pod import Pod
from stowplan.model.selectors import Selector, SelectorError, compile_label_selector
from stowplan.plugins.defaultpreemption.candidate_nodes import RowFindings
from stowplan.plugins.defaultpreemption.dry_run import Evictable, dry_run
from stowplan.plugins.defaultpreemption.placed_columns import LaidOutPods, PlacedColumns
from stowplan.plugins.defaultpreemption.tried_rows import TriedRows, Victims
from stowplan.table.columns import Mask, Rows
from stowplan.table.hypothetical import Offsets, offsets_of, sum_rows
from stowplan.table.shape import PodShape

NO_VICTIMS = Rejection(("No preemption victims found for incoming pod",), Code.UNRESOLVABLE)

# A dry run of a few rows costs hardly less than one of a hundred.
FEWEST_AT_A_TIME = 100


class VictimSearch:
    """The search for one pod."""

    def __init__(self, pod: Pod, attempt: Attempt, handle: PreemptingHandle, columns: PlacedColumns) -> None:
        self._pod = pod
        self._attempt = attempt
        self._columns = columns
        self._budgets = budgets_of(handle)

    def potential_rows(self) -> Rows:
        """Return the rows that evictions may help: rejected, but not for good."""
        verdict = self._attempt.verdict
        if verdict.pre_filter is not None:
            # The filters were never prepared, so nothing can be supposed.
            return np.empty(0, dtype=np.intp)
        rejections = verdict.vocabulary.rejections
        may_help = [rejection is not None and rejection.code is Code.UNSCHEDULABLE for rejection in rejections]
        return np.flatnonzero(np.array(may_help)[verdict.words])

    def run(self, rows: Rows, enough: int, known: TriedRows | None = None) -> RowFindings:
        """Look for candidates among `rows`, in their order, until there are enough; `known` is what others came to."""
        names = self._attempt.verdict.names
        # How many more evictions a budget allows changes with every one of them.
        tried = known if known is not None and not self._budgets else TriedRows(self._columns, len(names))
        found = RowFindings(self._attempt.verdict, enough, tried)
        at_a_time = max(enough, FEWEST_AT_A_TIME)
        self._columns.begin(len(names))
        for start in range(0, len(rows), at_a_time):
            if found.is_enough:
                break
            some = rows[start : start + at_a_time]
            self._columns.refresh(some, names)
            unknown = tried.unknown(some)
            if len(unknown):
                self._try(unknown, tried)
            found.add(some)
        return found

    def _try(self, rows: Rows, tried: TriedRows) -> None:
        places, offsets = self._evictable(rows)
        lengths = np.diff(offsets)
        has_some = lengths > 0
        if not has_some.all():
            tried.refuse(rows[~has_some], self._attempt.verdict.vocabulary.number(NO_VICTIMS))
            rows, offsets = rows[has_some], offsets_of(lengths[has_some])
        if len(rows):
            places, is_over = self._in_turn(places, offsets)
            evictable = Evictable(rows, *self._columns.shapes_at(places), offsets)
            result = dry_run(self._attempt, evictable, self._attempt.nominated)
            tried.note(rows, Victims(places, offsets, is_over), result)

    def _evictable(self, rows: Rows) -> LaidOutPods:
        """Return the pods of rows that the pod may evict, the most important of each row first."""
        places, offsets = self._columns.lay_out(rows)
        is_lower = self._columns.priorities.take(places) < self._pod.spec.priority
        if is_lower.all():
            return LaidOutPods(places, offsets)
        return LaidOutPods(places[is_lower], offsets_of(sum_rows(is_lower.astype(np.int64), offsets)))

    def _in_turn(self, places: NDArray[np.intp], offsets: Offsets) -> tuple[NDArray[np.intp], Mask]:
        """Bring those to the front, node by node, whose eviction violates a budget: they are put back first."""
        if not self._budgets:
            return places, np.zeros(len(places), dtype=bool)
        in_turn: list[int] = []
        is_over: list[bool] = []
        for start, end in pairwise(offsets.tolist()):
            own = places[start:end].tolist()
            violates = self._budgets.violated_by([self._columns.pods[place] for place in own])
            order = sorted(range(len(own)), key=lambda index: not violates[index])
            in_turn += [own[index] for index in order]
            is_over += [violates[index] for index in order]
        return np.array(in_turn, dtype=np.intp), np.array(is_over, dtype=bool)


def budgets_of(handle: Handle) -> Budgets:
    """Return all budgets of the cluster, as they are."""
    stops = handle.feature_gates.changed("FirstViolatedBudgetEndsTheCount")
    return Budgets(handle.listers.list(PodDisruptionBudget), stops_at_first=stops)


class Budgets:
    """All budgets of the cluster during one search; which of them are about a pod is found once for all pods alike."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget], *, stops_at_first: bool) -> None:
        self._stops_at_first = stops_at_first
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

        A pod counts against every budget that is about it, except one that has its eviction on record already; and
        since 1.37, against none that comes after one that it violates.
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
                if is_over and self._stops_at_first:
                    break
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

"""DefaultPreemption: when no node can take a pod, find one where evicting less important pods would make room.

The search is in `search.py`; carrying out what it finds is the engine's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from stowplan.config.declarations import PluginArgs
from stowplan.config.errors import invalid
from stowplan.config.feature_gates import FeatureGates
from stowplan.framework import changes
from stowplan.framework.attempt import Attempt, KeptWords
from stowplan.framework.changes import Action
from stowplan.framework.contract import (
    Awaited,
    Nominated,
    PodGroupPostFilter,
    PostFilter,
    Preemption,
    PreEnqueue,
    Proposed,
    Requeue,
    Withdrawn,
    refuse,
)
from stowplan.framework.handle import PreemptingHandle
from stowplan.framework.placing import SUCCESS
from stowplan.framework.plugin_faults import SECOND_NS
from stowplan.framework.pod_groups import GroupAttempt, GroupNominated, has_groups
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.meta import Int32
from stowplan.model.pod import Pod
from stowplan.model.pod_group import own_group
from stowplan.plugins.defaultpreemption import candidate_nodes, group_search
from stowplan.plugins.defaultpreemption.candidate_nodes import Findings
from stowplan.plugins.defaultpreemption.group_search import EVALUATIONS, GroupSearch, is_being_preempted
from stowplan.plugins.defaultpreemption.placed_columns import PlacedColumns
from stowplan.plugins.defaultpreemption.search import VictimSearch, budgets_of
from stowplan.plugins.defaultpreemption.tried_rows import TriedRows
from stowplan.plugins.defaultpreemption.unit_search import UnitSearch
from stowplan.plugins.defaultpreemption.units import Units
from stowplan.table.columns import Rows

Answer = TypeVar("Answer", bound=Nominated | Withdrawn | Rejection)

GROUP_ATTEMPTS = "scheduler_workload_preemption_attempts_total"
NO_CANDIDATE = "no candidate node for preemption"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
UNDERWAY = "waiting for the preemption for this pod to be finished"
GROUP_UNDERWAY = "waiting for the preemption for this pod group to be finished"


class DefaultPreemptionArgs(PluginArgs, frozen=True):
    """How many candidates are enough: a share of the nodes that come into question, but at least so many."""

    #: Share of the nodes, in percent, that are enough as candidates; 0 to 100.
    min_candidate_nodes_percentage: Int32 = 10
    #: So many candidates at least; 0 or more, not both 0.
    min_candidate_nodes_absolute: Int32 = 100

    def enough(self, nodes: int) -> int:
        share = nodes * self.min_candidate_nodes_percentage // 100
        return min(nodes, max(share, self.min_candidate_nodes_absolute))

    def faults(self, path: str, gates: FeatureGates) -> list[str]:
        percentage, absolute = self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
        percentage_path, absolute_path = f"{path}.minCandidateNodesPercentage", f"{path}.minCandidateNodesAbsolute"
        faults: list[str] = []
        if not 0 <= percentage <= 100:
            faults.append(invalid(percentage_path, percentage, "not in valid range [0, 100]"))
        if absolute < 0:
            faults.append(invalid(absolute_path, absolute, "not in valid range [0, inf)"))
        if percentage == 0 and absolute == 0:
            why = "cannot be zero at the same time as"
            faults.append(invalid(percentage_path, 0, f"{why} minCandidateNodesAbsolute"))
            faults.append(invalid(absolute_path, 0, f"{why} minCandidateNodesPercentage"))
        return faults


DEFAULT_ARGS = DefaultPreemptionArgs()


class DefaultPreemption(PreEnqueue, PostFilter, PodGroupPostFilter, Requeue):
    """Makes room for a pod by evicting pods of lower priority from one node.

    Preempts: on every node that was rejected, but not for good, all pods of lower priority are supposed to go; if the
        pod fits then, they are put back as long as it still fits: those first whose eviction violates a disruption
        budget, then by importance (priority, then age). Of the nodes where that works, the one is taken with the
        fewest violated budgets, then the least important victims. Pods nominated to the node, of at least the pod's
        priority, keep their room. A pod that says `preemptionPolicy: Never`, or whose victims on its nominated node
        are still terminating, does not preempt.
    Gates: a pod whose victims are being evicted.
    Arguments: `minCandidateNodesPercentage` and `minCandidateNodesAbsolute`: the search stops at so many
        candidates, of the nodes that come into question; 10 percent, but at least 100.
    Requeued by: nothing; the plugins that rejected the pod hear of the evicted pods.
    Upstream: pkg/scheduler/framework/plugins/defaultpreemption and pkg/scheduler/framework/preemption.
    """

    args_type = DefaultPreemptionArgs
    lists = ("PodDisruptionBudget",)

    def __init__(self, handle: PreemptingHandle, args: DefaultPreemptionArgs = DEFAULT_ARGS) -> None:
        self._handle = handle
        self._args = args
        self._columns: PlacedColumns | None = None
        # What rows came to for other pods of a signature, for as long as answers are kept for it.
        self._tried: WeakKeyDictionary[KeptWords, TriedRows] = WeakKeyDictionary()
        gates = handle.feature_gates
        self._has_groups, self._has_trees = has_groups(gates), gates.enabled("CompositePodGroup")
        self._has_group_policies = gates.enabled("PodGroupPreemptionPolicy")
        self._tells_placement = handle.feature_gates.changed("PreemptionTellsPlacement")

    def _units(self) -> Units:
        return Units(self._handle.pods, self._handle.groups, has_trees=self._has_trees)

    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        if pod.spec.scheduling_group is not None and self._has_groups:
            return self._pre_enqueue_member(pod)
        return refuse(UNDERWAY) if self._handle.evictions.is_underway(pod) else None

    def _pre_enqueue_member(self, pod: Pod) -> Rejection | None:
        key = own_group(pod)
        if key is None:
            return None
        if self._has_trees:
            root = self._handle.groups.tree_of(key)
            if root is None:
                return None
            key = root.group_key
        return refuse(GROUP_UNDERWAY) if self._handle.evictions.is_underway_for(key) else None

    async def pod_group_post_filter(self, attempt: GroupAttempt) -> GroupNominated | Rejection:
        handle, group = self._handle, attempt.group
        policy = group.spec.preemption_policy
        if not self._has_group_policies:
            policy = "Never" if any(pod.spec.preemption_policy == "Never" for pod in attempt.pods) else ""
        answer = await GroupSearch(attempt, handle, self._units(), budgets_of(handle)).run(policy)
        handle.measures.count(GROUP_ATTEMPTS, group_search.status_of(answer))
        return answer

    def post_filter(self, pod: Pod, attempt: Attempt) -> Nominated | Proposed | Withdrawn | Rejection:
        started_ns, answer = self._handle.now_ns(), self._evaluate(pod, attempt)
        if not isinstance(answer, Proposed):
            return self._evaluated(started_ns, answer)
        # It is over when the extenders have agreed, or failed.
        settle, fail = answer.settle, answer.fail
        return Proposed(
            answer.candidates,
            lambda agreed: self._evaluated(started_ns, settle(agreed)),
            lambda text: self._evaluated(started_ns, fail(text)),
        )

    def _evaluated(self, started_ns: int, answer: Answer) -> Answer:
        """Note how long it took to come to an answer."""
        rejection = answer.rejection if isinstance(answer, Withdrawn) else answer
        status = rejection.code.value if isinstance(rejection, Rejection) else SUCCESS
        seconds = (self._handle.now_ns() - started_ns) / SECOND_NS
        self._handle.measures.time(EVALUATIONS, seconds, "pod", status)
        return answer

    def _evaluate(self, pod: Pod, attempt: Attempt) -> Nominated | Proposed | Withdrawn | Rejection:
        problem = self.why_ineligible(pod, attempt)
        if problem:
            return _rejection(problem)
        found = self.search(pod, attempt)
        if not found:
            error = found.error()
            return _rejection(error, Code.ERROR) if error else Withdrawn(_rejection(found.message()))
        if self._handle.asks_before_preempting(pod):
            return Proposed(found.candidates, self._settle, _fail)
        return self._nominated(found.best())

    def events(self) -> tuple[Awaited, ...]:
        if not self._handle.feature_gates.enabled("SchedulerAsyncPreemption"):
            # Nobody is gated who waits for victims: the attempt does.
            return ()
        # A pod gone is when to look again whether the pod may be tried; whether it is worth it is for others to say.
        return (Awaited(changes.ASSIGNED_POD, Action.DELETE, lambda pod, old, new: False),)

    def why_ineligible(self, pod: Pod, attempt: Attempt) -> str:
        """Return why the pod may not preempt; empty if it may."""
        if pod.spec.preemption_policy == "Never":
            return NEVER
        node_name = pod.status.nominated_node_name
        if not node_name or _is_beyond_help(attempt, node_name):
            return ""
        on_node = (placed.pod for placed in self._handle.pods.by_importance(node_name))
        victims = (other for other in on_node if self._priority_of(other) < pod.priority)
        return TERMINATING if any(map(is_being_preempted, victims)) else ""

    def _priority_of(self, pod: Pod) -> int:
        return self._units().priority_of(pod) if self._has_groups else pod.priority

    def search(self, pod: Pod, attempt: Attempt) -> Findings:
        """Find the nodes on which room can be made, starting at a random one of those that come into question."""
        if self._columns is None:
            self._columns = PlacedColumns(self._handle.pods)
        search = VictimSearch(pod, attempt, self._handle, self._columns)
        rows = search.potential_rows()
        start = self._handle.draw(len(rows)) if len(rows) else 0
        in_turn, enough = np.roll(rows, -start), self._args.enough(len(rows))
        if self._has_groups and self._has_groups_on(rows, attempt):
            return UnitSearch(pod, attempt, self._handle, self._units()).run(in_turn, enough)
        return search.run(in_turn, enough, self._known(pod, attempt, self._columns))

    def _known(self, pod: Pod, attempt: Attempt, columns: PlacedColumns) -> TriedRows | None:
        """Return what rows came to for pods of the same signature, as far as it still holds."""
        if attempt.kept_words is None:
            return None
        rows = len(attempt.verdict.names)
        known = self._tried.get(attempt.kept_words)
        if known is None:
            known = self._tried[attempt.kept_words] = TriedRows(columns, rows)
        known.forget(attempt.kept_words.stale(pod), rows)
        return known

    def _has_groups_on(self, rows: Rows, attempt: Attempt) -> bool:
        """Say whether pods of groups are on any of the rows: only there is it more than pods that is evicted."""
        used = self._handle.groups.nodes_in_use()
        return bool(used) and any(attempt.verdict.names[row] in used for row in rows.tolist())

    def _settle(self, candidates: Sequence[Preemption]) -> Nominated | Rejection:
        return self._nominated(candidate_nodes.pick(candidates)) if candidates else _rejection(NO_CANDIDATE)

    def _nominated(self, preemption: Preemption) -> Nominated:
        node_name, victims = preemption.node_name, len(preemption.victims)
        text = f"preemption: found a potential placement for pod on node {node_name}, preempting {victims} victims"
        return Nominated(node_name, preemption, text if self._tells_placement else "")


def _fail(problem: str) -> Rejection:
    return _rejection(problem, Code.ERROR)


def _rejection(message: str, code: Code = Code.UNSCHEDULABLE) -> Rejection:
    return Rejection((f"preemption: {message}",), code)


def _is_beyond_help(attempt: Attempt, node_name: str) -> bool:
    """Say whether waiting for the nominated node is in vain: it is gone, or no eviction would make it fit."""
    verdict = attempt.verdict
    if node_name not in verdict.names:
        return True
    rejection = verdict.pre_filter or verdict.rejection(verdict.names.index(node_name))
    return rejection is None or rejection.code is Code.UNRESOLVABLE

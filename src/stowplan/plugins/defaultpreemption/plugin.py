"""DefaultPreemption: when no node can take a pod, find one where evicting less important pods would make room.

The search is in `search.py`; carrying out what it finds is the engine's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stowplan.config.declarations import PluginArgs
from stowplan.config.errors import invalid
from stowplan.config.feature_gates import FeatureGates
from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import (
    Attempt,
    Awaited,
    Nominated,
    PostFilter,
    Preemption,
    PreEnqueue,
    Proposed,
    Requeue,
    Withdrawn,
    refuse,
)
from stowplan.framework.handle import PreemptingHandle
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.meta import Int32
from stowplan.model.pod import Pod
from stowplan.plugins.defaultpreemption import candidate_nodes
from stowplan.plugins.defaultpreemption.candidate_nodes import Findings
from stowplan.plugins.defaultpreemption.search import VictimSearch

NO_CANDIDATE = "no candidate node for preemption"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
UNDERWAY = "waiting for the preemption for this pod to be finished"


class DefaultPreemptionArgs(PluginArgs, frozen=True):
    """How many candidates are enough: a share of the nodes that come into question, but at least so many."""

    min_candidate_nodes_percentage: Int32 = 10
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


class DefaultPreemption(PreEnqueue, PostFilter, Requeue):
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
    idle_points = frozenset({"pod_group_post_filter"})
    lists = ("PodDisruptionBudget",)

    def __init__(self, handle: PreemptingHandle, args: DefaultPreemptionArgs = DEFAULT_ARGS) -> None:
        self._handle = handle
        self._args = args
        self._tells_placement = handle.feature_gates.changed("PreemptionTellsPlacement")

    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        return refuse(UNDERWAY) if self._handle.evictions.is_underway(pod) else None

    def post_filter(self, pod: Pod, attempt: Attempt) -> Nominated | Proposed | Withdrawn | Rejection:
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
        victims = (other for other in on_node if other.priority < pod.priority)
        return TERMINATING if any(map(_is_being_preempted, victims)) else ""

    def search(self, pod: Pod, attempt: Attempt) -> Findings:
        """Find the nodes on which room can be made, starting at a random one of those that come into question."""
        search = VictimSearch(pod, attempt, self._handle)
        rows = search.potential_rows()
        start = self._handle.draw(len(rows)) if len(rows) else 0
        return search.run(np.roll(rows, -start), self._args.enough(len(rows)))

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


def _is_being_preempted(pod: Pod) -> bool:
    """Say whether a pod is going because a scheduler evicted it."""
    if not pod.is_terminating:
        return False
    target = pod.status.condition("DisruptionTarget")
    return target is not None and (target.status, target.reason) == ("True", "PreemptionByScheduler")


def _is_beyond_help(attempt: Attempt, node_name: str) -> bool:
    """Say whether waiting for the nominated node is in vain: it is gone, or no eviction would make it fit."""
    verdict = attempt.verdict
    if node_name not in verdict.names:
        return True
    rejection = verdict.pre_filter or verdict.rejection(verdict.names.index(node_name))
    return rejection is None or rejection.code is Code.UNRESOLVABLE

"""Keeps pods in the queue whose kubelet has no room to resize them, so that room can be made on their nodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import SKIP, Awaited, Filter, Permit, PreFilter, Reject, Requeue, Skip, refuse, reject
from stowplan.framework.handle import Handle
from stowplan.framework.kept.incremental import TellsApart
from stowplan.framework.verdict import Rejection
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes

GATE: Final = "InPlacePodVerticalScalingSchedulerPreemption"
ELSEWHERE: Final = "pod assigned to different node"
DISABLED: Final = "node had resize preemption disabled"
FITS: Final = "pod resize fits, waiting for Kubelet actuation"


class DeferredPodScheduling(TellsApart, PreFilter, Filter, Permit, Requeue):
    """A pod that runs, and is to grow where there is no room for that, waits until there is.

    Rejects: for a pod with condition PodResizePending of reason Deferred, every node but its own, and its own if
        `spec.podPreemptionPolicy.disableResizePreemption` names anybody. Both unresolvable. Such a pod that fits is
        rejected in Permit: what is left to do is the kubelet's. Skipped for all other pods.
    Requeued by: the node of the pod added, or allowing preemption again.
    Upstream: pkg/scheduler/framework/plugins/deferredpodscheduling. There, a pod that fits ends with an error before
        Permit is asked, because it counts on its node already.
    """

    feature_gate = GATE

    def __init__(self, handle: Handle) -> None:
        self._is_on = handle.feature_gates.enabled(GATE)

    def sign(self, pod: Pod) -> Hashable:
        return (pod.uid, pod.metadata.resource_version) if self._is_on and pod.spec.node_name else None

    def pre_filter(self, pod: Pod, nodes: Nodes) -> Skip | None:
        return None if self._concerns(pod) else SKIP

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        if not self._concerns(pod):
            return
        is_own = nodes.with_names(frozenset((pod.spec.node_name,)))
        if pod.spec.node_name and not is_own.all():
            yield reject(~is_own, ELSEWHERE, unresolvable=True)
        is_spared = nodes.fact("disablesResizePreemption", _disables_preemption, bool)
        if pod.spec.node_name:
            is_spared = is_spared & is_own
        if is_spared.any():
            yield reject(is_spared, DISABLED, unresolvable=True)

    def permit(self, pod: Pod, node_name: str) -> Rejection | None:
        return refuse(FITS) if self._concerns(pod) else None

    def events(self) -> tuple[Awaited, ...]:
        return (
            Awaited(changes.NODE, Action.UPDATE_NODE_PREEMPTION_POLICY, self._is_schedulable_after_node_change),
            Awaited(changes.NODE, Action.ADD, self._is_schedulable_after_node_change),
        )

    def _is_schedulable_after_node_change(self, pod: Pod, old: Node | None, new: Node) -> bool:
        if not self._concerns(pod) or pod.spec.node_name != new.name:
            return False
        return (old is None or _disables_preemption(old)) and not _disables_preemption(new)

    def _concerns(self, pod: Pod) -> bool:
        return self._is_on and pod.is_resize_deferred


def _disables_preemption(node: Node) -> bool:
    policy = node.spec.pod_preemption_policy
    return policy is not None and bool(policy.disable_resize_preemption)

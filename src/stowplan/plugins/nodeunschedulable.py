"""Keeps pods off cordoned nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import Awaited, Filter, PreFilter, Reject, Requeue, reject
from stowplan.framework.handle import Handle
from stowplan.framework.remedies import Need, RejectedRows, tolerate
from stowplan.model import tolerations
from stowplan.model.node import Node, Taint
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes

REASON: Final = "node(s) were unschedulable"
CORDON: Final = Taint(key="node.kubernetes.io/unschedulable", effect=tolerations.NO_SCHEDULE)


class NodeUnschedulable(PreFilter, Filter, Requeue):
    """A cordoned node takes only pods that tolerate being there.

    Rejects: nodes with `spec.unschedulable`, unless the pod tolerates the taint `node.kubernetes.io/unschedulable` with
        effect NoSchedule. Unresolvable.
    Requeued by: a node added or uncordoned; a change of the pod's tolerations.
    Remedies: to tolerate the taint of a cordoned node.
    Upstream: pkg/scheduler/framework/plugins/nodeunschedulable.
    """

    judges_resizes = False
    looks_at_rows_alone = True
    looks_at_pods = False
    late_points = frozenset({"pre_filter"})
    formerly_before = "NodeName"

    def __init__(self, handle: Handle) -> None:
        self._comparison_operators = handle.feature_gates.enabled("TaintTolerationComparisonOperators")

    def pre_filter(self, pod: Pod, nodes: Nodes) -> None:
        """Prepare nothing, as upstream: configurations may list the plugin there."""

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        is_cordoned = nodes.fact("unschedulable", lambda node: node.spec.unschedulable, bool)
        if is_cordoned.any() and not self._tolerates(pod):
            yield reject(is_cordoned, REASON, unresolvable=True)

    def events(self) -> tuple[Awaited, ...]:
        return (
            Awaited(changes.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, _is_schedulable_after_node_change),
            Awaited(changes.TARGET_POD, Action.UPDATE_POD_TOLERATION, self._is_schedulable_after_toleration_change),
        )

    def remedies(self, rejected: RejectedRows) -> tuple[Need]:
        return (Need(tolerate(CORDON), rejected.mask),)

    def _is_schedulable_after_toleration_change(self, pod: Pod, old: Pod, new: Pod) -> bool:
        return self._tolerates(new)

    def _tolerates(self, pod: Pod) -> bool:
        return tolerations.is_tolerated(CORDON, pod.spec.tolerations, self._comparison_operators)


def _is_schedulable_after_node_change(pod: Pod, old: Node | None, new: Node) -> bool:
    was_open = old is not None and not old.spec.unschedulable
    return not was_open and not new.spec.unschedulable

"""Keeps pods off cordoned nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from stowplan.framework.contract import Filter, Reject, reject
from stowplan.model import tolerations
from stowplan.model.node import Node, Taint
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes

REASON: Final = "node(s) were unschedulable"
CORDON: Final = Taint(key="node.kubernetes.io/unschedulable", effect=tolerations.NO_SCHEDULE)


class NodeUnschedulable(Filter):
    """A cordoned node takes only pods that tolerate being there.

    Rejects: nodes with `spec.unschedulable`, unless the pod tolerates the taint `node.kubernetes.io/unschedulable` with
        effect NoSchedule. Unresolvable.
    Requeued by: a node added or uncordoned; a change of the pod's tolerations.
    Upstream: pkg/scheduler/framework/plugins/nodeunschedulable.
    """

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        is_cordoned = nodes.fact("unschedulable", _is_cordoned, bool)
        if is_cordoned.any() and not tolerations.is_tolerated(CORDON, pod.spec.tolerations):
            yield reject(is_cordoned, REASON, unresolvable=True)


def _is_cordoned(node: Node) -> bool:
    return node.spec.unschedulable

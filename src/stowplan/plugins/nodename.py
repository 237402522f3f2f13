"""Keeps a pod that names its node off all others."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import Awaited, Filter, Narrowed, PreFilter, Reject, Requeue, reject
from stowplan.framework.remedies import Need, RejectedRows, Variant, with_spec
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes

REASON: Final = "node(s) didn't match the requested node name"


class NodeName(PreFilter, Filter, Requeue):
    """A pod that names its node goes there or nowhere.

    Rejects: nodes of another name than `spec.nodeName`, if the pod has one. Unresolvable. They are not even looked at,
        in 1.36 each is rejected for itself.
    Requeued by: a node added.
    Remedies: not to name a node.
    Upstream: pkg/scheduler/framework/plugins/nodename.
    """

    looks_at_rows_alone = True
    looks_at_pods = False
    late_points = frozenset({"pre_filter"})

    def sign(self, pod: Pod) -> Hashable:
        return pod.spec.node_name

    def pre_filter(self, pod: Pod, nodes: Nodes) -> Narrowed | None:
        return Narrowed(frozenset((pod.spec.node_name,))) if pod.spec.node_name else None

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        if pod.spec.node_name:
            yield reject(~nodes.with_names(frozenset((pod.spec.node_name,))), REASON, unresolvable=True)

    def remedies(self, rejected: RejectedRows) -> tuple[Need]:
        unnamed = Variant("if the pod did not name its node", lambda pod: with_spec(pod, node_name=""))
        return (Need(unnamed, rejected.mask),)

    def events(self) -> tuple[Awaited, ...]:
        return (Awaited(changes.NODE, Action.ADD),)

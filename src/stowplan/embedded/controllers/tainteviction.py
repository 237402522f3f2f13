"""Evicts pods from nodes with NoExecute taints that they do not tolerate, or no longer."""

from __future__ import annotations

from stowplan.embedded.controllers.disruption import note_disruption
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.metadata import ObjectKey
from stowplan.embedded.informers.nodes import KnownNode
from stowplan.embedded.informers.pods import KnownPod
from stowplan.model.node import Taint
from stowplan.model.tolerations import NO_EXECUTE, tolerates

_REASON, _MESSAGE = "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"


class TaintEvictionController(Controller):
    """Works on pods that are on a node with NoExecute taints; all others are never queued."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "taint-eviction-controller", context.pods.resource)
        #: Since when a pod has been on a node with such taints.
        self._since: dict[ObjectKey, tuple[tuple[Taint, ...], float]] = {}
        self._watch(context.nodes, self._on_node)
        self._watch(context.pods, self._on_pod)

    def reconcile(self, key: ObjectKey) -> float | None:
        """Delete a pod whose time is up; return how much it has left otherwise."""
        pod = self._context.pods.get(key)
        taints = self._taints_of(pod.node) if pod is not None else ()
        if pod is None or pod.is_terminating or not taints:
            self._since.pop(key, None)
            return None
        now = self._now().timestamp()
        before = self._since.get(key)
        since = before[1] if before is not None and before[0] == taints else now
        self._since[key] = (taints, since)
        allowed = tolerated_seconds(pod, taints)
        if allowed is None:
            return None
        if since + allowed > now:
            return since + allowed - now
        obj = self._api.get(self._resource, *pod.key)
        self._normal(obj, "TaintManagerEviction", f"Marking for deletion Pod {pod.namespace}/{pod.name}")
        note_disruption(obj, _REASON, _MESSAGE, self._moment())
        self._update(self._resource, obj, "status")
        self._api.delete(self._resource, *pod.key, {"preconditions": {"uid": pod.uid}})
        return None

    def _taints_of(self, name: str) -> tuple[Taint, ...]:
        node = self._context.nodes.named(name) if name else None
        return () if node is None else no_execute(node)

    def _on_node(self, before: KnownNode | None, after: KnownNode | None) -> None:
        known = after or before
        had, has = (no_execute(node) if node is not None else () for node in (before, after))
        if known is not None and had != has:
            self._enqueue_all(self._context.pods.by_node.find(known.name))

    def _on_pod(self, before: KnownPod | None, after: KnownPod | None) -> None:
        if after is None:
            if before is not None:
                self._since.pop(before.key, None)
        elif after.node and self._taints_of(after.node):
            self._queue.add(after.key)


def no_execute(node: KnownNode) -> tuple[Taint, ...]:
    """The taints of a node that end pods."""
    return tuple(taint for taint in node.taints if taint.effect == NO_EXECUTE)


def tolerated_seconds(pod: KnownPod, taints: tuple[Taint, ...]) -> float | None:
    """How long a pod puts up with taints: None for ever, 0 not at all."""
    used = []
    for taint in taints:
        covering = [toleration for toleration in pod.tolerations if tolerates(toleration, taint)]
        if not covering:
            return 0.0
        used += covering
    limits = [toleration.toleration_seconds for toleration in used if toleration.toleration_seconds is not None]
    return max(0.0, float(min(limits))) if limits else None

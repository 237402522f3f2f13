"""Removes the pods of nodes that are gone: no kubelet is left to end them."""

from __future__ import annotations

from stowplan.embedded.controllers.disruption import note_disruption
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.metadata import ObjectKey
from stowplan.embedded.informers.nodes import KnownNode
from stowplan.embedded.informers.pods import KnownPod

_REASON, _MESSAGE = "DeletionByPodGC", "PodGC: node no longer exists"


class PodGCController(Controller):
    """Works on nodes that pods are bound to and that are not there; they get some time to come back."""

    def __init__(self, context: ControllerContext, gone_node_seconds: float) -> None:
        super().__init__(context, "pod-garbage-collector-controller", context.pods.resource)
        self._gone_node_seconds = gone_node_seconds
        self._watch(context.nodes, self._on_node)
        self._watch(context.pods, self._on_pod)

    def reconcile(self, key: ObjectKey) -> None:
        """Delete the pods of a node that is still gone."""
        name = key[1]
        if self._context.nodes.named(name) is None:
            for pod in self._context.pods.by_node.find(name):
                self._remove(pod)

    def _remove(self, pod: KnownPod) -> None:
        """End a pod for good; one that others still hold by a finalizer is left to them."""
        if pod.is_terminating and pod.grace_seconds == 0:
            return
        obj = self._api.get(self._resource, *pod.key)
        if not pod.is_finished:
            obj.setdefault("status", {})["phase"] = "Failed"
            note_disruption(obj, _REASON, _MESSAGE, self._moment())
            self._update(self._resource, obj, "status")
        self._api.delete(self._resource, *pod.key, {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.uid}})

    def _on_node(self, before: KnownNode | None, after: KnownNode | None) -> None:
        if after is None and before is not None:
            self._queue.add_after(before.key, self._gone_node_seconds)

    def _on_pod(self, before: KnownPod | None, after: KnownPod | None) -> None:
        is_new = after is not None and after.node and (before is None or before.node != after.node)
        if after is not None and is_new and self._context.nodes.named(after.node) is None:
            self._queue.add_after(("", after.node), self._gone_node_seconds)

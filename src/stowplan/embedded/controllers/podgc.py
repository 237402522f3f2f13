"""Removes the pods of nodes that are gone: no kubelet is left to end them."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from stowplan.embedded.controllers import disruption
from stowplan.embedded.informers import resources
from stowplan.embedded.informers.controller import ControllerContext
from stowplan.embedded.informers.informer import ObjectKey
from stowplan.embedded.informers.nodes import KnownNode
from stowplan.embedded.informers.pods import KnownPod
from stowplan.embedded.informers.workqueue import Worker, WorkQueue

_REASON, _MESSAGE = "DeletionByPodGC", "PodGC: node no longer exists"


class PodGCController:
    """Works on nodes that pods are bound to and that are not there; they get some time to come back."""

    def __init__(self, setting: ControllerContext, patience_seconds: float) -> None:
        self._setting = setting
        self._patience_seconds = patience_seconds
        self._queue = WorkQueue()
        self._failures = setting.failures("pod-garbage-collector-controller", resources.pods(setting.api))
        setting.nodes.follower.tell(self._on_node)
        setting.pods.follower.tell(self._on_pod)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        followers = (self._setting.nodes.follower, self._setting.pods.follower)
        return [Worker(self._queue, self.reconcile, followers, self._failures).run()]

    def reconcile(self, key: ObjectKey) -> float | None:
        """Delete the pods of a node that is still gone."""
        name = key[1]
        if self._setting.nodes.get(name) is None:
            for pod in self._setting.pods.on_node(name):
                self._remove(pod)
        return None

    def _remove(self, pod: KnownPod) -> None:
        """End a pod for good; one that others still hold by a finalizer is left to them."""
        if pod.is_terminating and pod.grace_seconds == 0:
            return
        api, resource = self._setting.api, resources.pods(self._setting.api)
        obj = api.get(resource, *pod.key)
        if not pod.is_finished:
            obj.setdefault("status", {})["phase"] = "Failed"
            disruption.note_disruption(api, obj, (_REASON, _MESSAGE), self._setting.now())
        api.delete(resource, *pod.key, {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.uid}})

    def _on_node(self, before: KnownNode | None, after: KnownNode | None) -> None:
        if after is None and before is not None:
            self._queue.add_after(("", before.name), self._patience_seconds)

    def _on_pod(self, before: KnownPod | None, after: KnownPod | None) -> None:
        is_new = after is not None and after.node and (before is None or before.node != after.node)
        if after is not None and is_new and self._setting.nodes.get(after.node) is None:
            self._queue.add_after(("", after.node), self._patience_seconds)

"""Looks after objects that control pods: queues them when they or their pods change, reads them, writes their status.

Their pods are claimed by controller reference and selector, made and deleted here; `pod_control` says what they are.
The controllers of ReplicaSets, Deployments, StatefulSets, DaemonSets, Jobs and CronJobs are built on this one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from stowplan.embedded.admission import chain
from stowplan.embedded.controllers.pod_control import WorkloadObject
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.informer import Extract, Index, SharedInformer
from stowplan.embedded.informers.metadata import ObjectKey, controller_of, is_terminating, remove_owner
from stowplan.embedded.informers.pods import KnownPod, asked_label, matching
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.stored import Stored
from stowplan.model import decode
from stowplan.model.meta import LabelSelector
from stowplan.model.selectors import NOTHING, Selector, SelectorError, compile_label_selector, from_labels

#: Pods made or deleted in one go before everybody else has a turn.
BURST = 50
#: A large set is looked at less often, so that a change of each of its pods does not cost a look at all of them.
REST_SECONDS_PER_POD = 2e-5
_SMALL = 100


class KnownWorkload(Extract, frozen=True, gc=False):
    """The extract of an object that controls pods."""

    uid: str
    #: Of its own controller, such as the Deployment of a ReplicaSet; "" where there is none.
    owner_uid: str
    selector: Selector
    #: Changes with what is wished for, not with what is reported.
    generation: int
    is_terminating: bool


class WorkloadInformer(SharedInformer[KnownWorkload]):
    """The objects of one such resource, found by uid, by their own controllers, and by the labels they select."""

    def __init__(self, api: Api, resource: Resource) -> None:
        super().__init__(api, resource, _read)
        self.by_uid = Index[KnownWorkload](lambda known: (known.uid,), self)
        self.by_owner = Index[KnownWorkload](lambda known: (known.owner_uid,) if known.owner_uid else (), self)
        self.orphans = Index[KnownWorkload](lambda known: () if known.owner_uid else (known.namespace,), self)
        self._by_label = Index[KnownWorkload](_selected_label, self)

    def objects_owned_by(self, uid: str) -> list[Object]:
        """Read the objects whose controller has this uid as they are now, by name."""
        keys = sorted(known.key for known in self.by_owner.find(uid))
        found = [self._store.get(self.resource, *key) for key in keys]
        return [stored.object for stored in found if stored is not None]

    def selecting(self, pod: KnownPod) -> Iterable[KnownWorkload]:
        """Name the objects that would adopt a pod."""
        for label in (*pod.labels.items(), ("", "")) if pod.labels and self.known else ():
            for known in self._by_label.collection((pod.namespace, *label)):
                if known.selector.matches(pod.labels):
                    yield known


class WorkloadController(Controller):
    """The controller of one such resource."""

    def __init__(self, context: ControllerContext, component: str, resource: Resource) -> None:
        super().__init__(context, component, resource)
        self.informer = WorkloadInformer(context.api, resource)
        self._own_informers.append(self.informer)
        self._watch(self.informer, self._on_workload)
        self._watch(context.pods, self._on_pod)

    @abstractmethod
    def sync(self, workload: WorkloadObject) -> float | None:
        """Bring an object and its pods to where its spec says; return after how many seconds to look again."""

    def reconcile(self, key: ObjectKey) -> float | None:
        """Read an object as it is now, and bring it in line unless it is gone."""
        try:
            obj = self._api.get(self._resource, *key)
        except StatusError as error:
            if error.code != 404:
                raise
            return None
        # Of another cluster or an older release, it may lack what is filled in today: nothing that is made from it
        # would be found to be the same as it.
        chain.fill_in(self._resource, obj)
        return self.sync(WorkloadObject(self._resource, obj, selector_of(obj)))

    def _write_status(self, workload: WorkloadObject, status: Object) -> None:
        """Write a status that changed."""
        if status != workload.obj.get("status"):
            workload.obj["status"] = status
            workload.save_status(self._api)

    def _claim(self, workload: WorkloadObject, may_adopt: Callable[[KnownPod], bool] | None = None) -> list[KnownPod]:
        """Adopt orphans, release pods that no longer match, and list those that the workload has then."""
        owned = self._context.pods.by_owner.find(workload.uid)
        own = matching(workload.selector, owned)
        if workload.is_terminating:
            return own
        orphans = self._context.pods.orphans(workload.namespace, workload.selector)
        adopted = [pod for pod in orphans if pod.is_active and (may_adopt is None or may_adopt(pod))]
        for pod in adopted:
            self._edit_pod(pod, lambda obj: _adopt(obj, workload))
        if len(own) < len(owned):
            kept = {pod.key for pod in own}
            for pod in owned:
                if pod.key not in kept and not pod.is_terminating:
                    self._edit_pod(pod, lambda obj: remove_owner(obj, workload.uid))
        if not adopted:
            return own
        self._context.pods.catch_up()
        return matching(workload.selector, self._context.pods.by_owner.find(workload.uid))

    def _create_pod(self, workload: WorkloadObject, pod: Object) -> None:
        """Create a pod for its owner; if the API refuses, say so on the owner and raise the refusal."""
        try:
            created = self._api.create(self._context.pods.resource, workload.namespace, pod)
        except StatusError as error:
            # A namespace on its way out refuses everything, and everybody in it goes too.
            causes = (error.details or {}).get("causes", [])
            if not any(cause.get("reason") == "NamespaceTerminating" for cause in causes):
                self._warning(workload.obj, "FailedCreate", f"Error creating: {error.message}")
            raise
        self._normal(workload.obj, "SuccessfulCreate", f"Created pod: {created['metadata']['name']}")

    def _delete_pod(self, workload: WorkloadObject, pod: KnownPod) -> None:
        """Delete a pod of its owner; one that is gone already is fine."""
        try:
            self._api.delete(self._context.pods.resource, *pod.key, {"preconditions": {"uid": pod.uid}})
        except StatusError as error:
            if error.code in (404, 409):
                return
            self._warning(workload.obj, "FailedDelete", f"Error deleting: {error.message}")
            raise
        self._normal(workload.obj, "SuccessfulDelete", f"Deleted pod: {pod.name}")

    def _edit_pod(self, pod: KnownPod, edit: Callable[[Object], None]) -> None:
        try:
            obj = self._api.get(self._context.pods.resource, *pod.key)
            if obj["metadata"]["uid"] == pod.uid:
                edit(obj)
                self._api.update(self._context.pods.resource, *pod.key, obj)
        except StatusError as error:
            # Gone, or changed meanwhile: the next look decides anew.
            if error.code not in (404, 409):
                raise

    def _on_workload(self, before: KnownWorkload | None, after: KnownWorkload | None) -> None:
        # Its own reports are no news to a controller.
        if after is not None and (before is None or _wish(before) != _wish(after)):
            self._queue.add(after.key)

    def _on_pod(self, before: KnownPod | None, after: KnownPod | None) -> None:
        for pod in (before, after):
            if pod is None:
                continue
            if pod.owner is None:
                self._enqueue_all(self.informer.selecting(pod))
            elif pod.owner.kind == self._resource.kind and pod.owner.api_version == self._resource.api_version:
                count = self._context.pods.by_owner.count(pod.owner.uid)
                key = (pod.namespace, pod.owner.name)
                if count <= _SMALL:
                    self._queue.add(key)
                else:
                    self._queue.add_after(key, count * REST_SECONDS_PER_POD)


def _adopt(pod: Object, workload: WorkloadObject) -> None:
    if controller_of(pod) is None:
        pod["metadata"].setdefault("ownerReferences", []).append(workload.reference)


def selector_of(obj: Object) -> Selector:
    """Compile the selector of an object; one that is missing or broken selects nothing."""
    written = obj.get("spec", {}).get("selector")
    if obj.get("kind") == "ReplicationController":
        # A plain map of labels.
        return from_labels(written) if written else NOTHING
    if not isinstance(written, dict):
        return NOTHING
    try:
        return compile_label_selector(decode.convert(LabelSelector, written))
    except (SelectorError, decode.MalformedObject):
        return NOTHING


def scaled_value(value: Any, total: int, *, rounds_up: bool) -> int:
    """Read a number that may be a percentage of `total`, such as maxSurge; what cannot be read counts as none."""
    if isinstance(value, int):
        return value
    if not isinstance(value, str) or not value.endswith("%") or not value[:-1].isdigit():
        return 0
    exact = int(value[:-1]) * total
    return -(-exact // 100) if rounds_up else exact // 100


def _read(stored: Stored) -> KnownWorkload:
    obj = stored.object
    owner = controller_of(obj)
    return KnownWorkload(
        stored.namespace,
        stored.name,
        stored.uid,
        owner["uid"] if owner else "",
        selector_of(obj),
        obj["metadata"].get("generation", 0),
        is_terminating(obj),
    )


def _wish(known: KnownWorkload) -> tuple[str, str, int, bool]:
    return (known.uid, known.owner_uid, known.generation, known.is_terminating)


def _selected_label(known: KnownWorkload) -> Iterable[tuple[str, str, str]]:
    """Where to find an object by one of the labels it asks for."""
    yield (known.namespace, *(asked_label(known.selector) or ("", "")))

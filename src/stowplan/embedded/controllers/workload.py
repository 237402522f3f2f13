"""Follows the objects of one kind that control pods, and queues them when they or their pods change."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from stowplan.embedded import admission
from stowplan.embedded.informers import resources
from stowplan.embedded.informers.controller import ControllerContext
from stowplan.embedded.informers.informer import ObjectKey, SharedInformer
from stowplan.embedded.informers.owners import controller_of, controller_reference
from stowplan.embedded.informers.pods import KnownPod, matching
from stowplan.embedded.informers.workqueue import Reconcile, Worker, WorkQueue
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.stored import Stored
from stowplan.model import decode
from stowplan.model.meta import LabelSelector
from stowplan.model.selectors import EQUALS, NOTHING, Selector, SelectorError, compile_label_selector, from_labels

#: A large set is looked at less often, so that a change of each of its pods does not cost a look at all of them.
_REST_SECONDS_PER_POD = 2e-5
_SMALL = 100

#: As whom the controllers of these kinds tell what they do.
COMPONENTS = {
    "CronJob": "cronjob-controller",
    "DaemonSet": "daemonset-controller",
    "Deployment": "deployment-controller",
    "Job": "job-controller",
    "ReplicaSet": "replicaset-controller",
    "ReplicationController": "replication-controller",
    "StatefulSet": "statefulset-controller",
}


class KnownOwner(msgspec.Struct, frozen=True, gc=False):
    """The extract of an object that controls pods."""

    namespace: str
    name: str
    uid: str
    owner_uid: str
    selector: Selector
    #: Changes with what is wished for, not with what is reported.
    generation: int = 0
    is_terminating: bool = False

    @property
    def key(self) -> ObjectKey:
        return (self.namespace, self.name)


class WorkloadController:
    """All objects of one such resource, and the queue of those to look at."""

    def __init__(self, setting: ControllerContext, resource: Resource) -> None:
        self.resource = resource
        self.queue = WorkQueue()
        self.follower = SharedInformer(setting.api, resource, _read)
        self._setting = setting
        self._by_label: dict[tuple[str, str, str], dict[ObjectKey, KnownOwner]] = {}
        self.follower.tell(self._on_set)
        setting.pods.follower.tell(self._on_pod)

    def claimant(self, key: ObjectKey) -> PodOwner | None:
        """Read an object as it is now, None if it is gone."""
        try:
            obj = self._setting.api.get(self.resource, *key)
        except StatusError as error:
            if error.code != 404:
                raise
            return None
        # Of another cluster or an older release, it may lack what is filled in today: nothing that is made from it
        # would be found to be the same as it.
        admission.fill_in(self.resource, obj)
        return PodOwner(self.resource, obj, selector_in(obj))

    def work(self, reconcile: Reconcile, *others: SharedInformer[Any]) -> list[Coroutine[Any, Any, None]]:
        """What runs for ever: following the objects, and working them off."""
        followers: tuple[SharedInformer[Any], ...] = (self.follower, self._setting.pods.follower, *others)
        failures = self._setting.failures(COMPONENTS[self.resource.kind], self.resource)
        return [self.follower.run(), Worker(self.queue, reconcile, followers, failures).run()]

    def write_status(self, claimant: PodOwner, status: Object) -> None:
        """Write a status that changed."""
        if status != claimant.obj.get("status"):
            claimant.obj["status"] = status
            save(self._setting.api, claimant, "status")

    def _on_set(self, before: KnownOwner | None, after: KnownOwner | None) -> None:
        if before is not None:
            self._by_label[_place(before)].pop(before.key, None)
        if after is not None:
            self._by_label.setdefault(_place(after), {})[after.key] = after
        # Its own reports are no news to a controller.
        if after is not None and (before is None or _wish(before) != _wish(after)):
            self.queue.add(after.key)

    def _on_pod(self, before: KnownPod | None, after: KnownPod | None) -> None:
        for pod in (before, after):
            if pod is None:
                continue
            if pod.owner is None:
                for key in self._selecting(pod):
                    self.queue.add(key)
            elif pod.owner.kind == self.resource.kind and pod.owner.api_version == self.resource.api_version:
                self._add_rested((pod.namespace, pod.owner.name), pod.owner.uid)

    def _add_rested(self, key: ObjectKey, uid: str) -> None:
        count = self._setting.pods.count_owned_by(uid)
        if count <= _SMALL:
            self.queue.add(key)
        else:
            self.queue.add_after(key, count * _REST_SECONDS_PER_POD)

    def _selecting(self, pod: KnownPod) -> Iterable[ObjectKey]:
        """The sets that would adopt this pod."""
        if not self._by_label:
            return
        places = [(pod.namespace, *pair) for pair in (*pod.labels.items(), ("", ""))]
        for place in places if pod.labels else ():
            for known in self._by_label.get(place, {}).values():
                if known.selector.matches(pod.labels):
                    yield known.key


def selector_in(obj: Object) -> Selector:
    """Compile the selector of an object; that of a ReplicationController is a plain map of labels."""
    selector = obj.get("spec", {}).get("selector")
    if obj.get("kind") == "ReplicationController":
        return from_labels(selector) if selector else compile_selector(None)
    return compile_selector(selector)


def _read(stored: Stored) -> KnownOwner:
    obj = stored.object
    owner, meta = controller_of(obj), obj["metadata"]
    return KnownOwner(
        stored.namespace,
        stored.name,
        stored.uid,
        owner["uid"] if owner else "",
        selector_in(obj),
        meta.get("generation", 0),
        "deletionTimestamp" in meta,
    )


def _wish(known: KnownOwner) -> tuple[str, str, int, bool]:
    return (known.uid, known.owner_uid, known.generation, known.is_terminating)


def _place(known: KnownOwner) -> tuple[str, str, str]:
    """Where to find a set by one of the labels it asks for."""
    for requirement in known.selector.requirements:
        if requirement.operator == EQUALS:
            return (known.namespace, requirement.key, requirement.values[0])
    return (known.namespace, "", "")


@dataclass(frozen=True, slots=True)
class PodOwner:
    """An object that controls pods by a selector."""

    resource: Resource
    obj: Object
    selector: Selector

    @property
    def uid(self) -> str:
        uid: str = self.obj["metadata"]["uid"]
        return uid

    @property
    def namespace(self) -> str:
        namespace: str = self.obj["metadata"]["namespace"]
        return namespace

    @property
    def reference(self) -> Object:
        return controller_reference(self.resource, self.obj)


def save(api: Api, claimant: PodOwner, subresource: str = "") -> None:
    """Write the object; what comes after works on what the API made of it."""
    key = claimant.namespace, claimant.obj["metadata"]["name"]
    saved = api.update(claimant.resource, *key, claimant.obj, subresource=subresource)
    claimant.obj.clear()
    claimant.obj.update(saved)


def compile_selector(written: Any) -> Selector:
    """Compile a label selector as written; one that is missing or broken selects nothing."""
    if not isinstance(written, dict):
        return NOTHING
    try:
        return compile_label_selector(decode.convert(LabelSelector, written))
    except (SelectorError, decode.MalformedObject):
        return NOTHING


def claim_pods(
    setting: ControllerContext, claimant: PodOwner, may_adopt: Callable[[KnownPod], bool] | None = None
) -> list[KnownPod]:
    """Adopt and release pods, and list those that the claimant has then."""
    owned = setting.pods.owned_by(claimant.uid)
    own = matching(claimant.selector, owned)
    if "deletionTimestamp" in claimant.obj["metadata"]:
        return own
    orphans = setting.pods.orphans(claimant.namespace, claimant.selector)
    adopted = [pod for pod in orphans if pod.is_active and (may_adopt is None or may_adopt(pod))]
    for pod in adopted:
        _adopt(setting, claimant, pod)
    if len(own) < len(owned):
        kept = {pod.key for pod in own}
        for pod in owned:
            if pod.key not in kept and not pod.is_terminating:
                _release(setting, claimant, pod)
    if not adopted:
        return own
    setting.pods.follower.catch_up()
    return matching(claimant.selector, setting.pods.owned_by(claimant.uid))


def _adopt(setting: ControllerContext, claimant: PodOwner, pod: KnownPod) -> None:
    def add(obj: Object) -> None:
        if controller_of(obj) is None:
            obj["metadata"].setdefault("ownerReferences", []).append(claimant.reference)

    _change(setting, pod, add)


def _release(setting: ControllerContext, claimant: PodOwner, pod: KnownPod) -> None:
    def remove(obj: Object) -> None:
        references = obj["metadata"].get("ownerReferences", [])
        obj["metadata"]["ownerReferences"] = [each for each in references if each.get("uid") != claimant.uid]

    _change(setting, pod, remove)


def _change(setting: ControllerContext, pod: KnownPod, edit: Callable[[Object], None]) -> None:
    resource = resources.pods(setting.api)
    try:
        obj = setting.api.get(resource, *pod.key)
        if obj["metadata"]["uid"] == pod.uid:
            edit(obj)
            setting.api.update(resource, *pod.key, obj)
    except StatusError as error:
        # Gone, or changed meanwhile: the next look decides anew.
        if error.code not in (404, 409):
            raise

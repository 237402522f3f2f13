"""Follows the objects of one kind that control pods, and queues them when they or their pods change."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import Any

import msgspec

from stowplan.embedded.admission import chain
from stowplan.embedded.controllers.claims import Claimant, save, selector_of
from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.following.owners import controller_of
from stowplan.embedded.following.pods import KnownPod
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.work import Reconcile, Worker, WorkQueue
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.stored import Stored
from stowplan.model.selectors import EQUALS, Selector, from_labels

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


class KnownSet(msgspec.Struct, frozen=True, gc=False):
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
    def key(self) -> Key:
        return (self.namespace, self.name)


class Sets:
    """All objects of one such resource, and the queue of those to look at."""

    def __init__(self, setting: Setting, resource: Resource) -> None:
        self.resource = resource
        self.queue = WorkQueue()
        self.follower = Follower(setting.api, resource, _read)
        self._setting = setting
        self._by_label: dict[tuple[str, str, str], dict[Key, KnownSet]] = {}
        self.follower.tell(self._on_set)
        setting.pods.follower.tell(self._on_pod)

    def claimant(self, key: Key) -> Claimant | None:
        """Read an object as it is now, None if it is gone."""
        try:
            obj = self._setting.api.get(self.resource, *key)
        except StatusError as error:
            if error.code != 404:
                raise
            return None
        # Of another cluster or an older release, it may lack what is filled in today: nothing that is made from it
        # would be found to be the same as it.
        chain.fill_in(self.resource, obj)
        return Claimant(self.resource, obj, selector_in(obj))

    def work(self, reconcile: Reconcile, *others: Follower[Any]) -> list[Coroutine[Any, Any, None]]:
        """What runs for ever: following the objects, and working them off."""
        followers: tuple[Follower[Any], ...] = (self.follower, self._setting.pods.follower, *others)
        failures = self._setting.failures(COMPONENTS[self.resource.kind], self.resource)
        return [self.follower.run(), Worker(self.queue, reconcile, followers, failures).run()]

    def write_status(self, claimant: Claimant, status: Object) -> None:
        """Write a status that changed."""
        if status != claimant.obj.get("status"):
            claimant.obj["status"] = status
            save(self._setting.api, claimant, "status")

    def _on_set(self, before: KnownSet | None, after: KnownSet | None) -> None:
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

    def _add_rested(self, key: Key, uid: str) -> None:
        count = self._setting.pods.count_owned_by(uid)
        if count <= _SMALL:
            self.queue.add(key)
        else:
            self.queue.add_after(key, count * _REST_SECONDS_PER_POD)

    def _selecting(self, pod: KnownPod) -> Iterable[Key]:
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
        return from_labels(selector) if selector else selector_of(None)
    return selector_of(selector)


def _read(stored: Stored) -> KnownSet:
    obj = stored.object
    owner, meta = controller_of(obj), obj["metadata"]
    return KnownSet(
        stored.namespace,
        stored.name,
        stored.uid,
        owner["uid"] if owner else "",
        selector_in(obj),
        meta.get("generation", 0),
        "deletionTimestamp" in meta,
    )


def _wish(known: KnownSet) -> tuple[str, str, int, bool]:
    return (known.uid, known.owner_uid, known.generation, known.is_terminating)


def _place(known: KnownSet) -> tuple[str, str, str]:
    """Where to find a set by one of the labels it asks for."""
    for requirement in known.selector.requirements:
        if requirement.operator == EQUALS:
            return (known.namespace, requirement.key, requirement.values[0])
    return (known.namespace, "", "")

"""What controllers need to know of ResourceClaims: whom they were made for, and who has reserved them."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import msgspec

from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.following.owners import controller_of
from stowplan.embedded.objects import reading
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.stored import Stored

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
FINALIZER = "resource.kubernetes.io/delete-protection"


class Consumer(msgspec.Struct, frozen=True, gc=False):
    """One entry of `status.reservedFor`."""

    api_group: str
    resource: str
    name: str
    uid: str

    @property
    def is_pod(self) -> bool:
        return not self.api_group and self.resource == "pods"


class KnownDeviceClaim(msgspec.Struct, frozen=True, gc=False):
    """The extract of one ResourceClaim."""

    namespace: str
    name: str
    #: The pod it was made for, as name and uid; "" for one that stands for itself.
    pod: str
    pod_uid: str
    #: The entry of that pod it was made for.
    entry: str
    consumers: tuple[Consumer, ...]
    is_allocated: bool
    is_held: bool
    is_terminating: bool

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)


class DeviceClaims:
    """All ResourceClaims as extracts, found by the pods they were made for."""

    def __init__(self, api: Api) -> None:
        self.follower = Follower(api, resources.find(api, "resource.k8s.io/v1", "ResourceClaim"), _read)
        self._by_pod: dict[str, dict[Key, KnownDeviceClaim]] = {}
        self.follower.tell(self._index)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [self.follower.run()]

    def get(self, key: Key) -> KnownDeviceClaim | None:
        return self.follower.known.get(key)

    def made_for(self, pod_uid: str) -> list[KnownDeviceClaim]:
        return list(self._by_pod.get(pod_uid, {}).values())

    def _index(self, before: KnownDeviceClaim | None, after: KnownDeviceClaim | None) -> None:
        if before is not None and before.pod_uid:
            del self._by_pod[before.pod_uid][before.key]
            if not self._by_pod[before.pod_uid]:
                del self._by_pod[before.pod_uid]
        if after is not None and after.pod_uid:
            self._by_pod.setdefault(after.pod_uid, {})[after.key] = after


def _read(stored: Stored) -> KnownDeviceClaim:
    obj = stored.object
    owner = controller_of(obj) or {}
    is_of_pod = owner.get("kind") == "Pod" and owner.get("apiVersion") == "v1"
    return KnownDeviceClaim(
        namespace=stored.namespace,
        name=stored.name,
        pod=owner["name"] if is_of_pod else "",
        pod_uid=owner["uid"] if is_of_pod else "",
        entry=reading.text(obj, "metadata", "annotations", POD_CLAIM_NAME),
        consumers=tuple(
            Consumer(*(reading.text(each, key) for key in ("apiGroup", "resource", "name", "uid")))
            for each in reading.entries(obj, "status", "reservedFor")
        ),
        is_allocated=bool(reading.mapping(obj, "status", "allocation")),
        is_held=FINALIZER in reading.texts(obj, "metadata", "finalizers"),
        is_terminating=reading.is_deleted(obj),
    )

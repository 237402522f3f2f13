"""What controllers need to know of volumes, of the claims for them and of storage classes, found by each other."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import msgspec

from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.stored import Stored
from stowplan.model import decode
from stowplan.model.meta import LabelSelector
from stowplan.model.quantity import Quantity
from stowplan.model.selectors import EVERYTHING, Selector, compile_label_selector

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
#: Written beside it, for provisioners of long ago.
BETA_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


class KnownVolume(msgspec.Struct, frozen=True, gc=False):
    """The extract of one PersistentVolume; `claim_uid` is "" where only a name was reserved."""

    name: str
    class_name: str
    modes: tuple[str, ...]
    volume_mode: str
    size: Quantity
    labels: dict[str, str]
    phase: str
    #: The claim it is reserved for or bound to.
    claim: Key | None
    claim_uid: str
    #: Who made it; "" for one that was written by hand.
    provisioner: str
    is_csi: bool
    policy: str
    is_terminating: bool

    @property
    def key(self) -> Key:
        return ("", self.name)

    @property
    def is_free(self) -> bool:
        return self.phase == "Available" and self.claim is None and not self.is_terminating

    def is_for(self, claim: KnownClaim) -> bool:
        """Whether it is reserved for a claim, by its name or by its uid too."""
        return self.claim == claim.key and self.claim_uid in ("", claim.uid)


class KnownClaim(msgspec.Struct, frozen=True, gc=False):
    """The extract of one PersistentVolumeClaim; `class_name` None leaves the choice to the cluster."""

    namespace: str
    name: str
    uid: str
    class_name: str | None
    modes: tuple[str, ...]
    volume_mode: str
    size: Quantity
    selector: Selector
    volume: str
    is_bind_completed: bool
    selected_node: str
    #: Who is asked for a volume; "" while nobody is.
    provisioner: str
    is_terminating: bool

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)


class KnownClass(msgspec.Struct, frozen=True, gc=False):
    """The extract of one StorageClass."""

    name: str
    provisioner: str
    waits_for_consumer: bool
    is_default: bool
    created: str


class Storage:
    """All volumes, claims and classes of the cluster as extracts."""

    def __init__(self, api: Api) -> None:
        self.volumes = Follower(api, resources.find(api, "v1", "PersistentVolume"), _read_volume)
        self.claims = Follower(api, resources.find(api, "v1", "PersistentVolumeClaim"), _read_claim)
        self.classes = Follower(api, resources.find(api, "storage.k8s.io/v1", "StorageClass"), _read_class)
        self._free: dict[str, dict[str, KnownVolume]] = {}
        self._by_claim: dict[Key, dict[str, KnownVolume]] = {}
        self._by_volume: dict[str, dict[Key, KnownClaim]] = {}
        self.volumes.tell(self._index_volume)
        self.claims.tell(self._index_claim)

    @property
    def followers(self) -> tuple[Follower[Any], ...]:
        return (self.classes, self.volumes, self.claims)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [follower.run() for follower in self.followers]

    def volume(self, name: str) -> KnownVolume | None:
        return self.volumes.known.get(("", name))

    def claim(self, key: Key) -> KnownClaim | None:
        return self.claims.known.get(key)

    def free(self, class_name: str) -> list[KnownVolume]:
        """List the volumes of a class that nobody has."""
        return list(self._free.get(class_name, {}).values())

    def reserved_for(self, key: Key) -> list[KnownVolume]:
        """List the volumes that name a claim."""
        return list(self._by_claim.get(key, {}).values())

    def asking_for(self, volume: str) -> list[KnownClaim]:
        """List the claims that name a volume."""
        return list(self._by_volume.get(volume, {}).values())

    def class_of(self, claim: KnownClaim) -> KnownClass | None:
        return self.classes.known.get(("", claim.class_name)) if claim.class_name else None

    def default_class(self) -> KnownClass | None:
        """The class of claims that name none: of several the youngest."""
        marked = sorted((each for each in self.classes.known.values() if each.is_default), key=lambda each: each.name)
        return max(marked, key=lambda each: each.created, default=None)

    def _index_volume(self, before: KnownVolume | None, after: KnownVolume | None) -> None:
        if before is not None:
            self._free.get(before.class_name, {}).pop(before.name, None)
            if before.claim is not None:
                _take(self._by_claim, before.claim, before.name)
        if after is not None and after.is_free:
            self._free.setdefault(after.class_name, {})[after.name] = after
        if after is not None and after.claim is not None:
            self._by_claim.setdefault(after.claim, {})[after.name] = after

    def _index_claim(self, before: KnownClaim | None, after: KnownClaim | None) -> None:
        if before is not None and before.volume:
            _take(self._by_volume, before.volume, before.key)
        if after is not None and after.volume:
            self._by_volume.setdefault(after.volume, {})[after.key] = after


def _take(index: dict[Any, dict[Any, Any]], at: Any, key: Any) -> None:
    del index[at][key]
    if not index[at]:
        del index[at]


def _read_volume(stored: Stored) -> KnownVolume:
    obj = stored.object
    reference, annotations = reading.mapping(obj, "spec", "claimRef"), reading.mapping(obj, "metadata", "annotations")
    return KnownVolume(
        name=stored.name,
        class_name=annotations.get(_BETA_CLASS) or reading.text(obj, "spec", "storageClassName"),
        modes=tuple(reading.texts(obj, "spec", "accessModes")),
        volume_mode=reading.text(obj, "spec", "volumeMode") or "Filesystem",
        size=_size(reading.mapping(obj, "spec", "capacity")),
        labels=reading.mapping(obj, "metadata", "labels"),
        phase=reading.text(obj, "status", "phase") or "Pending",
        claim=(reading.text(reference, "namespace"), reading.text(reference, "name")) if reference else None,
        claim_uid=reading.text(reference, "uid"),
        provisioner=annotations.get(PROVISIONED_BY, ""),
        is_csi="csi" in obj["spec"],
        policy=reading.text(obj, "spec", "persistentVolumeReclaimPolicy"),
        is_terminating=reading.is_deleted(obj),
    )


def _read_claim(stored: Stored) -> KnownClaim:
    obj = stored.object
    spec, annotations = obj["spec"], reading.mapping(obj, "metadata", "annotations")
    return KnownClaim(
        namespace=stored.namespace,
        name=stored.name,
        uid=stored.uid,
        class_name=annotations.get(_BETA_CLASS) or spec.get("storageClassName"),
        modes=tuple(reading.texts(spec, "accessModes")),
        volume_mode=reading.text(spec, "volumeMode") or "Filesystem",
        size=_size(reading.mapping(spec, "resources", "requests")),
        selector=_selector(spec),
        volume=reading.text(spec, "volumeName"),
        is_bind_completed=BIND_COMPLETED in annotations,
        selected_node=annotations.get(SELECTED_NODE, ""),
        provisioner=annotations.get(STORAGE_PROVISIONER, ""),
        is_terminating=reading.is_deleted(obj),
    )


def _read_class(stored: Stored) -> KnownClass:
    obj = stored.object
    return KnownClass(
        name=stored.name,
        provisioner=reading.text(obj, "provisioner"),
        waits_for_consumer=reading.text(obj, "volumeBindingMode") == "WaitForFirstConsumer",
        is_default=reading.text(obj, "metadata", "annotations", DEFAULT_CLASS) == "true",
        created=reading.text(obj, "metadata", "creationTimestamp"),
    )


def _size(amounts: Object) -> Quantity:
    return Quantity.parse(str(amounts.get("storage", "0")))


def _selector(spec: Object) -> Selector:
    """Compile the selector of a claim; without one any volume will do."""
    written = spec.get("selector")
    return EVERYTHING if written is None else compile_label_selector(decode.convert(LabelSelector, written))

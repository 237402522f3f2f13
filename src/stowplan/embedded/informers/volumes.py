"""What controllers need to know of PersistentVolumes, the claims for them and storage classes, found by each other."""

from __future__ import annotations

from typing import Any

from stowplan.embedded.informers.informer import Extract, Index, SharedInformer
from stowplan.embedded.informers.metadata import ObjectKey, find_resource
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


class KnownVolume(Extract, frozen=True, gc=False):
    """The extract of one PersistentVolume; `claim_uid` is "" where only a name was reserved."""

    class_name: str
    modes: tuple[str, ...]
    volume_mode: str
    size: Quantity
    labels: dict[str, str]
    phase: str
    #: The claim it is reserved for or bound to.
    claim: ObjectKey | None
    claim_uid: str
    #: Who made it; "" for one that was written by hand.
    provisioner: str
    is_csi: bool
    policy: str
    is_terminating: bool

    @property
    def is_free(self) -> bool:
        return self.phase == "Available" and self.claim is None and not self.is_terminating

    def is_for(self, claim: KnownClaim) -> bool:
        """Whether it is reserved for a claim, by its name or by its uid too."""
        return self.claim == claim.key and self.claim_uid in ("", claim.uid)


class KnownClaim(Extract, frozen=True, gc=False):
    """The extract of one PersistentVolumeClaim; `class_name` None leaves the choice to the cluster."""

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


class KnownClass(Extract, frozen=True, gc=False):
    """The extract of one StorageClass."""

    provisioner: str
    waits_for_consumer: bool
    is_default: bool
    created: str


class VolumeInformers:
    """All volumes, claims and classes of the cluster as extracts."""

    def __init__(self, api: Api) -> None:
        self.classes = SharedInformer(api, find_resource(api, "storage.k8s.io/v1", "StorageClass"), _read_class)
        self.volumes = SharedInformer(api, find_resource(api, "v1", "PersistentVolume"), _read_volume)
        self.claims = SharedInformer(api, find_resource(api, "v1", "PersistentVolumeClaim"), _read_claim)
        #: Volumes that nobody has by class, volumes by the claim they name, claims by the volume they name.
        self.free = Index[KnownVolume](lambda each: (each.class_name,) if each.is_free else (), self.volumes)
        self.by_claim = Index[KnownVolume](lambda each: (each.claim,) if each.claim else (), self.volumes)
        self.by_volume = Index[KnownClaim](lambda each: (each.volume,) if each.volume else (), self.claims)

    @property
    def informers(self) -> tuple[SharedInformer[Any], ...]:
        return (self.classes, self.volumes, self.claims)

    def volume(self, name: str) -> KnownVolume | None:
        return self.volumes.known.get(("", name))

    def class_of(self, claim: KnownClaim) -> KnownClass | None:
        return self.classes.known.get(("", claim.class_name)) if claim.class_name else None

    def default_class(self) -> KnownClass | None:
        """The class of claims that name none: of several the youngest."""
        marked = sorted((each for each in self.classes.known.values() if each.is_default), key=lambda each: each.name)
        return max(marked, key=lambda each: each.created, default=None)


def _read_volume(stored: Stored) -> KnownVolume:
    obj = stored.object
    reference, annotations = reading.mapping(obj, "spec", "claimRef"), reading.mapping(obj, "metadata", "annotations")
    return KnownVolume(
        *stored.key,
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
    # Without a selector any volume will do.
    written = spec.get("selector")
    return KnownClaim(
        *stored.key,
        uid=stored.uid,
        class_name=annotations.get(_BETA_CLASS) or spec.get("storageClassName"),
        modes=tuple(reading.texts(spec, "accessModes")),
        volume_mode=reading.text(spec, "volumeMode") or "Filesystem",
        size=_size(reading.mapping(spec, "resources", "requests")),
        selector=EVERYTHING if written is None else compile_label_selector(decode.convert(LabelSelector, written)),
        volume=reading.text(spec, "volumeName"),
        is_bind_completed=BIND_COMPLETED in annotations,
        selected_node=annotations.get(SELECTED_NODE, ""),
        provisioner=annotations.get(STORAGE_PROVISIONER, ""),
        is_terminating=reading.is_deleted(obj),
    )


def _read_class(stored: Stored) -> KnownClass:
    obj = stored.object
    return KnownClass(
        *stored.key,
        provisioner=reading.text(obj, "provisioner"),
        waits_for_consumer=reading.text(obj, "volumeBindingMode") == "WaitForFirstConsumer",
        is_default=reading.text(obj, "metadata", "annotations", DEFAULT_CLASS) == "true",
        created=reading.text(obj, "metadata", "creationTimestamp"),
    )


def _size(amounts: Object) -> Quantity:
    return Quantity.parse(str(amounts.get("storage", "0")))

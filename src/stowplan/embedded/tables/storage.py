"""The columns of storage: volumes, claims, classes and drivers."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.tables.column import AGE, NAME, Column, Sheet, column, value
from stowplan.embedded.tables.wording import NONE, UNSET

_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_DEFAULT_ATTRIBUTES: Final = ("volumeattributesclass.kubernetes.io/is-default-class",)


def access_modes(obj: Object, part: str) -> str:
    modes = reading.texts(obj, part, "accessModes")
    return ",".join(short for mode, short in _MODES.items() if mode in modes)


def claim_capacity(claim: Object) -> str:
    """Say how large the volume of a claim is; a claim without one has no capacity yet."""
    return _quantity(claim, "status", "capacity") if reading.text(claim, "spec", "volumeName") else ""


def claim_modes(claim: Object) -> str:
    return access_modes(claim, "status") if reading.text(claim, "spec", "volumeName") else ""


def storage_class(obj: Object) -> str:
    annotated = reading.text(obj, "metadata", "annotations", _CLASS_ANNOTATION)
    return annotated or reading.text(obj, "spec", "storageClassName")


def _phase(obj: Object) -> str:
    return "Terminating" if reading.is_deleted(obj) else reading.text(obj, "status", "phase")


def _quantity(obj: Object, *path: str) -> str:
    amount = reading.at(obj, *path, "storage")
    return "0" if amount is None else str(amount)


def _claim_of(volume: Object) -> str:
    claim = reading.mapping(volume, "spec", "claimRef")
    return f"{reading.text(claim, 'namespace')}/{reading.text(claim, 'name')}" if claim else ""


def _name_of_class(obj: Object, annotations: tuple[str, ...]) -> str:
    is_default = any(reading.text(obj, "metadata", "annotations", key) == "true" for key in annotations)
    name = reading.text(obj, "metadata", "name")
    return f"{name} (default)" if is_default else name


def _class_name(annotations: tuple[str, ...]) -> Column:
    return Column("Name", lambda obj, now: _name_of_class(obj, annotations), format="name")


def _flag(name: str, *path: str, absent: bool = False) -> Column:
    def read(obj: Object) -> bool:
        found = reading.at(obj, *path)
        return absent if found is None else bool(found)

    return column(name, read, "boolean")


def _audiences(driver: Object) -> str:
    requests = reading.at(driver, "spec", "tokenRequests")
    if requests is None:
        return UNSET
    return ",".join(reading.text(each, "audience") for each in reading.entries(driver, "spec", "tokenRequests"))


_ATTRIBUTES: Final = value("VolumeAttributesClass", "spec", "volumeAttributesClassName", absent=UNSET)
_VOLUME_MODE: Final = value("VolumeMode", "spec", "volumeMode", absent=UNSET, priority=1)

SHEETS: Final = {
    "persistentvolumes": Sheet(
        (
            NAME,
            column("Capacity", lambda obj: _quantity(obj, "spec", "capacity")),
            column("Access Modes", lambda obj: access_modes(obj, "spec")),
            value("Reclaim Policy", "spec", "persistentVolumeReclaimPolicy"),
            column("Status", _phase),
            column("Claim", _claim_of),
            column("StorageClass", storage_class),
            _ATTRIBUTES,
            value("Reason", "status", "reason"),
            AGE,
            _VOLUME_MODE,
        )
    ),
    "persistentvolumeclaims": Sheet(
        (
            NAME,
            column("Status", _phase),
            value("Volume", "spec", "volumeName"),
            column("Capacity", claim_capacity),
            column("Access Modes", claim_modes),
            column("StorageClass", storage_class),
            _ATTRIBUTES,
            AGE,
            _VOLUME_MODE,
        )
    ),
    "storageclasses.storage.k8s.io": Sheet(
        (
            _class_name(_DEFAULT_CLASS),
            value("Provisioner", "provisioner"),
            value("ReclaimPolicy", "reclaimPolicy", absent="Delete"),
            value("VolumeBindingMode", "volumeBindingMode", absent="Immediate"),
            column("AllowVolumeExpansion", lambda obj: reading.is_true(obj, "allowVolumeExpansion")),
            AGE,
        )
    ),
    "volumeattributesclasses.storage.k8s.io": Sheet(
        (_class_name(_DEFAULT_ATTRIBUTES), value("DriverName", "driverName"), AGE)
    ),
    "csinodes.storage.k8s.io": Sheet(
        (NAME, column("Drivers", lambda obj: len(reading.entries(obj, "spec", "drivers")), "integer"), AGE)
    ),
    "csidrivers.storage.k8s.io": Sheet(
        (
            NAME,
            _flag("AttachRequired", "spec", "attachRequired", absent=True),
            _flag("PodInfoOnMount", "spec", "podInfoOnMount"),
            _flag("StorageCapacity", "spec", "storageCapacity"),
            column("TokenRequests", _audiences),
            _flag("RequiresRepublish", "spec", "requiresRepublish"),
            column("Modes", lambda obj: ",".join(reading.texts(obj, "spec", "volumeLifecycleModes")) or NONE),
            AGE,
        )
    ),
    "volumeattachments.storage.k8s.io": Sheet(
        (
            NAME,
            Column("Attacher", lambda obj, now: reading.text(obj, "spec", "attacher"), format="name"),
            value("PV", "spec", "source", "persistentVolumeName"),
            value("Node", "spec", "nodeName"),
            _flag("Attached", "status", "attached"),
            AGE,
        )
    ),
}

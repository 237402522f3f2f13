"""The columns of storage: volumes, claims, classes and drivers."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.tables.column import AGE, Columns, TableColumn, column, count, flag, shown, value
from stowplan.embedded.tables.wording import NONE, UNSET, reference

_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"


def access_modes(obj: Object, part: str) -> str:
    modes = reading.texts(obj, part, "accessModes")
    return ",".join(short for mode, short in _MODES.items() if mode in modes)


def claim_capacity(claim: Object) -> str:
    """Say how large the volume of a claim is; a claim without one has no capacity yet."""
    amount = reading.at(claim, "status", "capacity", "storage")
    return str(amount or "0") if reading.text(claim, "spec", "volumeName") else ""


def claim_modes(claim: Object) -> str:
    return access_modes(claim, "status") if reading.text(claim, "spec", "volumeName") else ""


def storage_class(obj: Object) -> str:
    annotated = reading.text(obj, "metadata", "annotations", _CLASS_ANNOTATION)
    return annotated or reading.text(obj, "spec", "storageClassName")


def _phase(obj: Object) -> str:
    return "Terminating" if reading.is_deleted(obj) else reading.text(obj, "status", "phase")


def _claim_of(volume: Object) -> str:
    claim = reading.mapping(volume, "spec", "claimRef")
    return reference(claim, "namespace", "name") if claim else ""


def _class_name(*annotations: str) -> TableColumn:
    """Make the column of the name of a class, which says of one that it is the default."""

    def read(obj: Object, now: datetime) -> str:
        is_default = any(reading.text(obj, "metadata", "annotations", key) == "true" for key in annotations)
        name = reading.text(obj, "metadata", "name")
        return f"{name} (default)" if is_default else name

    return TableColumn("Name", read, format="name")


def _audiences(driver: Object) -> str:
    requests = reading.at(driver, "spec", "tokenRequests")
    if requests is None:
        return UNSET
    return ",".join(reading.text(each, "audience") for each in reading.entries(driver, "spec", "tokenRequests"))


_ATTRIBUTES: Final = value("VolumeAttributesClass", "spec.volumeAttributesClassName", UNSET)
_VOLUME_MODE: Final = value("VolumeMode", "spec.volumeMode", UNSET, priority=1)

COLUMNS: Final[Columns] = {
    "persistentvolumes": (
        shown("Capacity", "spec.capacity.storage", "0"),
        column("Access Modes", lambda obj: access_modes(obj, "spec")),
        value("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
        column("Status", _phase),
        column("Claim", _claim_of),
        column("StorageClass", storage_class),
        _ATTRIBUTES,
        value("Reason", "status.reason"),
        AGE,
        _VOLUME_MODE,
    ),
    "persistentvolumeclaims": (
        column("Status", _phase),
        value("Volume", "spec.volumeName"),
        column("Capacity", claim_capacity),
        column("Access Modes", claim_modes),
        column("StorageClass", storage_class),
        _ATTRIBUTES,
        AGE,
        _VOLUME_MODE,
    ),
    "storageclasses.storage.k8s.io": (
        _class_name("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"),
        value("Provisioner", "provisioner"),
        value("ReclaimPolicy", "reclaimPolicy", "Delete"),
        value("VolumeBindingMode", "volumeBindingMode", "Immediate"),
        column("AllowVolumeExpansion", lambda obj: reading.is_true(obj, "allowVolumeExpansion")),
        AGE,
    ),
    "volumeattributesclasses.storage.k8s.io": (
        _class_name("volumeattributesclass.kubernetes.io/is-default-class"),
        value("DriverName", "driverName"),
        AGE,
    ),
    "csinodes.storage.k8s.io": (count("Drivers", "spec.drivers"), AGE),
    "csidrivers.storage.k8s.io": (
        flag("AttachRequired", "spec.attachRequired", absent=True),
        flag("PodInfoOnMount", "spec.podInfoOnMount"),
        flag("StorageCapacity", "spec.storageCapacity"),
        column("TokenRequests", _audiences),
        flag("RequiresRepublish", "spec.requiresRepublish"),
        column("Modes", lambda obj: ",".join(reading.texts(obj, "spec", "volumeLifecycleModes")) or NONE),
        AGE,
    ),
    "volumeattachments.storage.k8s.io": (
        TableColumn("Attacher", lambda obj, now: reading.text(obj, "spec", "attacher"), format="name"),
        value("PV", "spec.source.persistentVolumeName"),
        value("Node", "spec.nodeName"),
        flag("Attached", "status.attached"),
        AGE,
    ),
}

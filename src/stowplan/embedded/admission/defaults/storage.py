"""Defaults of volumes, claims and their classes."""

from __future__ import annotations

from stowplan.embedded.objects.resource import Object


def complete_claim(claim: Object) -> None:
    """Fill in a claim."""
    spec = claim.setdefault("spec", {})
    spec.setdefault("resources", {})
    spec.setdefault("volumeMode", "Filesystem")
    if not claim.get("status"):
        claim["status"] = {"phase": "Pending"}


def complete_volume(volume: Object) -> None:
    """Fill in a persistent volume."""
    spec = volume.setdefault("spec", {})
    spec["persistentVolumeReclaimPolicy"] = spec.get("persistentVolumeReclaimPolicy") or "Retain"
    spec.setdefault("volumeMode", "Filesystem")
    if "hostPath" in spec:
        spec["hostPath"].setdefault("type", "")
    if not volume.get("status"):
        volume["status"] = {"phase": "Pending"}


def complete_class(storage_class: Object) -> None:
    """Fill in a storage class."""
    storage_class["reclaimPolicy"] = storage_class.get("reclaimPolicy") or "Delete"
    storage_class["volumeBindingMode"] = storage_class.get("volumeBindingMode") or "Immediate"


def complete_driver(driver: Object) -> None:
    """Fill in a CSI driver."""
    spec = driver.setdefault("spec", {})
    spec.setdefault("attachRequired", True)
    for name in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
        spec.setdefault(name, False)
    spec["volumeLifecycleModes"] = spec.get("volumeLifecycleModes") or ["Persistent"]
    spec["fsGroupPolicy"] = spec.get("fsGroupPolicy") or "ReadWriteOnceWithFSType"

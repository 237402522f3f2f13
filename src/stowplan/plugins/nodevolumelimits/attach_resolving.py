"""From a reference to the volume that a driver attaches: by the claim, its volume, or the class it is to be of."""

from __future__ import annotations

from typing import Final, assert_never

import msgspec

from stowplan.framework.handle import Listers
from stowplan.model.storage import PersistentVolumeClaim
from stowplan.plugins.nodevolumelimits.attach_references import Attachment, Claim, Disk, Reference
from stowplan.plugins.volumes import csi_migration
from stowplan.plugins.volumes.annotations import class_of_claim
from stowplan.plugins.volumes.csi_migration import SOURCES, Attachable

CLAIM: Final = "PersistentVolumeClaim"
VOLUME: Final = "PersistentVolume"
CLASS: Final = "StorageClass"
#: What a claim without a volume is taken for; a driver's handle never starts like this.
_TO_COME: Final = "\0to come for "

#: Kind, namespace and name of an object.
Key = tuple[str, str, str]


class Resolution(msgspec.Struct, frozen=True, gc=False):
    """What a reference comes to: a volume to attach, or nothing that counts, or a reason why it cannot be told."""

    volume: Attachable | None = None
    #: It counts only where a node has a CSINode.
    is_migrated: bool = False
    is_missing: bool = False
    problem: str = ""
    #: The objects that were looked at, or for.
    reads: tuple[Key, ...] = ()


def resolve(reference: Reference, listers: Listers) -> Resolution:
    """Find out what a reference comes to as things are now."""
    match reference:
        case Disk():
            return Resolution(reference.volume, is_migrated=True, problem=reference.problem)
        case Attachment():
            return _attached(reference, listers)
        case Claim():
            return _claimed(reference, listers)
        case _:
            assert_never(reference)


def _attached(reference: Attachment, listers: Listers) -> Resolution:
    volume, key = listers.persistent_volume(reference.volume_name), (VOLUME, "", reference.volume_name)
    if volume is None or volume.spec.csi is None:
        return Resolution(reads=(key,))
    return Resolution(Attachable(reference.attacher, volume.spec.csi.volume_handle), reads=(key,))


def _claimed(reference: Claim, listers: Listers) -> Resolution:
    if not reference.name:
        return Resolution(problem="PersistentVolumeClaim had no name")
    claim = listers.persistent_volume_claim(reference.namespace, reference.name)
    key = (CLAIM, reference.namespace, reference.name)
    if claim is None:
        return Resolution(is_missing=True, problem=_not_found(reference), reads=(key,))
    if reference.pod and not _is_owned(claim, reference.uid):
        return Resolution(problem=_not_owned(reference), reads=(key,))
    return _bound(claim, listers, key) if claim.spec.volume_name else _unbound(claim, listers, (key,))


def _bound(claim: PersistentVolumeClaim, listers: Listers, key: Key) -> Resolution:
    reads = (key, (VOLUME, "", claim.spec.volume_name))
    volume = listers.persistent_volume(claim.spec.volume_name)
    if volume is None:
        return _unbound(claim, listers, reads)
    if volume.spec.csi is None:
        return Resolution(csi_migration.in_volume(volume), is_migrated=True, reads=reads)
    csi = volume.spec.csi
    is_known = bool(csi.driver and csi.volume_handle)
    return Resolution(Attachable(csi.driver, csi.volume_handle) if is_known else None, reads=reads)


def _unbound(claim: PersistentVolumeClaim, listers: Listers, reads: tuple[Key, ...]) -> Resolution:
    """Take a claim that has no volume, or none that is known, for one volume of its class to come."""
    class_name = class_of_claim(claim)
    if not class_name:
        return Resolution(reads=reads)
    reads = (*reads, (CLASS, "", class_name))
    found = listers.storage_class(class_name)
    driver = csi_migration.serving_driver(found.provisioner) if found is not None else ""
    if found is None or not driver:
        return Resolution(reads=reads)
    return Resolution(Attachable(driver, f"{_TO_COME}{claim.key}"), found.provisioner in SOURCES, reads=reads)


def _is_owned(claim: PersistentVolumeClaim, uid: str) -> bool:
    controller = next((owner for owner in claim.metadata.owner_references if owner.controller), None)
    return controller is not None and controller.uid == uid


def _not_found(claim: Claim) -> str:
    return f'looking up PVC {claim.namespace}/{claim.name}: persistentvolumeclaim "{claim.name}" not found'


def _not_owned(claim: Claim) -> str:
    return (
        f"PVC {claim.namespace}/{claim.name} was not created for pod {claim.namespace}/{claim.pod} (pod is not owner)"
    )

"""The CSI volumes that have to be attached for a pod: from its claims and disks to what a driver attaches.

A reference is all that a pod or a VolumeAttachment tells by itself. `resolve` follows it over the claim, its volume, or
the class the volume is to be of; `Resolutions` remembers the answers for `attached_volumes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, assert_never

import msgspec

from stowplan.framework.handle import Listers, RecentChanges
from stowplan.framework.kept.incremental import Incremental
from stowplan.model.pod import Pod
from stowplan.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from stowplan.model.volumes import Volume
from stowplan.plugins import volume_sources
from stowplan.plugins.volume_sources import CSIVolume, class_of_claim
from stowplan.table.columns import NO_ROWS, Rows
from stowplan.table.nodes import Nodes

CLAIM: Final = "PersistentVolumeClaim"
VOLUME: Final = "PersistentVolume"
CLASS: Final = "StorageClass"
#: What a claim without a volume is taken for; a driver's handle never starts like this.
_TO_COME: Final = "\0to come for "
#: Kind, namespace and name of an object.
ObjectKey = tuple[str, str, str]


def wanted_by(pod: Pod, listers: Listers, is_named: IsNamed) -> PodCSIVolumes:
    """Find out what the volumes of a pod come to; `is_named` says which of them are told apart."""
    found = [resolve(reference, listers) for reference in POD_VOLUMES.things(pod)]
    wanted = _wanted(found, is_named)
    own = [each for each in found if not each.is_migrated]
    return PodCSIVolumes(wanted, wanted if len(own) == len(found) else _wanted(own, is_named))


#: Says whether it matters which volume it is that a pod wants, of so many of its driver.
IsNamed = Callable[[CSIVolume, int], bool]


@dataclass(frozen=True, slots=True)
class PodCSIVolumes(Incremental):
    """What a pod wants where there is a CSINode, and where there is none: disks that were taken over do not count."""

    registered: DriverVolumes
    bare: DriverVolumes

    def changed_rows(self, before: Any, nodes: Nodes) -> Rows | None:
        return NO_ROWS if self == before else None


class WantedVolumes(NamedTuple):
    """Volumes of one driver: so many, whichever they are, and those of which it matters that some pod uses them."""

    driver: str
    nameless: int
    named: frozenset[CSIVolume]


class DriverVolumes(NamedTuple):
    """The volumes of a pod by driver; or that one of its claims is missing, or an error that ends the attempt."""

    by_driver: tuple[WantedVolumes, ...] = ()
    missing: str = ""
    error: str = ""

    @property
    def is_clear(self) -> bool:
        """Whether nothing stands in the way but the limits of nodes."""
        return not (self.missing or self.error)


def _wanted(found: Iterable[Resolution], is_named: IsNamed) -> DriverVolumes:
    volumes: dict[str, set[CSIVolume]] = {}
    for each in found:
        if each.problem:
            return DriverVolumes(missing=each.problem) if each.is_missing else DriverVolumes(error=each.problem)
        if each.volume is not None:
            volumes.setdefault(each.volume.driver, set()).add(each.volume)
    return DriverVolumes(tuple([_of_driver(driver, volumes[driver], is_named) for driver in sorted(volumes)]))


def _of_driver(driver: str, volumes: set[CSIVolume], is_named: IsNamed) -> WantedVolumes:
    named = frozenset([volume for volume in volumes if is_named(volume, len(volumes))])
    return WantedVolumes(driver, len(volumes) - len(named), named)


@dataclass(frozen=True, slots=True)
class CSIVolumeReferences:
    """Names the claims and disks of a pod, in their order (`table.counts.Held`)."""

    def things(self, pod: Pod) -> list[ClaimReference | InlineDisk]:
        found = (_reference(pod, volume) for volume in pod.spec.volumes)
        return [reference for reference in found if reference is not None]

    def amount(self, pod: Pod) -> int:
        return len(self.things(pod))


POD_VOLUMES: Final = CSIVolumeReferences()


class ClaimReference(msgspec.Struct, frozen=True, gc=False):
    """A claim that a pod names; or one that was made for it, and for it alone: `pod` and `uid` must be its owner's."""

    namespace: str
    name: str
    pod: str = ""
    uid: str = ""


class InlineDisk(msgspec.Struct, frozen=True, gc=False):
    """A disk that is written into a pod; `problem` if its id cannot be read."""

    volume: CSIVolume
    problem: str = ""


class AttachmentReference(msgspec.Struct, frozen=True, gc=False):
    """A VolumeAttachment of a node."""

    name: str
    node_name: str
    attacher: str
    volume_name: str


Reference = ClaimReference | InlineDisk | AttachmentReference


def _reference(pod: Pod, volume: Volume) -> ClaimReference | InlineDisk | None:
    if volume.persistent_volume_claim is not None:
        return ClaimReference(pod.namespace, volume.persistent_volume_claim.claim_name)
    if volume.ephemeral is not None:
        return ClaimReference(pod.namespace, f"{pod.name}-{volume.name}", pod.name, pod.uid)
    try:
        disk = volume_sources.in_pod(volume)
    except ValueError as error:
        return InlineDisk(CSIVolume("", ""), f"converting volume({volume.name}) from inline to csi: {error}")
    return InlineDisk(disk) if disk is not None else None


def resolve(reference: Reference, listers: Listers) -> Resolution:
    """Find out what a reference comes to as things are now."""
    match reference:
        case InlineDisk():
            return Resolution(reference.volume, is_migrated=True, problem=reference.problem)
        case AttachmentReference():
            return _attached(reference, listers)
        case ClaimReference():
            return _claimed(reference, listers)
        case _:
            assert_never(reference)


class Resolution(msgspec.Struct, frozen=True, gc=False):
    """What a reference comes to: a volume to attach, or nothing that counts, or a reason why it cannot be told."""

    volume: CSIVolume | None = None
    #: It counts only where a node has a CSINode.
    is_migrated: bool = False
    is_missing: bool = False
    problem: str = ""
    #: The objects that were looked at, or for.
    reads: tuple[ObjectKey, ...] = ()


def _attached(reference: AttachmentReference, listers: Listers) -> Resolution:
    volume, key = listers.get(PersistentVolume, "", reference.volume_name), (VOLUME, "", reference.volume_name)
    if volume is None or volume.spec.csi is None:
        return Resolution(reads=(key,))
    return Resolution(CSIVolume(reference.attacher, volume.spec.csi.volume_handle), reads=(key,))


def _claimed(reference: ClaimReference, listers: Listers) -> Resolution:
    if not reference.name:
        return Resolution(problem="PersistentVolumeClaim had no name")
    claim = listers.get(PersistentVolumeClaim, reference.namespace, reference.name)
    key = (CLAIM, reference.namespace, reference.name)
    if claim is None:
        where = f"looking up PVC {reference.namespace}/{reference.name}"
        problem = f'{where}: persistentvolumeclaim "{reference.name}" not found'
        return Resolution(is_missing=True, problem=problem, reads=(key,))
    if reference.pod and (claim.controller is None or claim.controller.uid != reference.uid):
        pod = f"{reference.namespace}/{reference.pod}"
        return Resolution(problem=f"PVC {claim.key} was not created for pod {pod} (pod is not owner)", reads=(key,))
    return _bound(claim, listers, key) if claim.spec.volume_name else _unbound(claim, listers, (key,))


def _bound(claim: PersistentVolumeClaim, listers: Listers, key: ObjectKey) -> Resolution:
    reads = (key, (VOLUME, "", claim.spec.volume_name))
    volume = listers.get(PersistentVolume, "", claim.spec.volume_name)
    if volume is None:
        return _unbound(claim, listers, reads)
    if volume.spec.csi is None:
        return Resolution(volume_sources.in_volume(volume), is_migrated=True, reads=reads)
    csi = volume.spec.csi
    is_known = bool(csi.driver and csi.volume_handle)
    return Resolution(CSIVolume(csi.driver, csi.volume_handle) if is_known else None, reads=reads)


def _unbound(claim: PersistentVolumeClaim, listers: Listers, reads: tuple[ObjectKey, ...]) -> Resolution:
    """Take a claim that has no volume, or none that is known, for one volume of its class to come."""
    class_name = class_of_claim(claim)
    if not class_name:
        return Resolution(reads=reads)
    reads = (*reads, (CLASS, "", class_name))
    found = listers.get(StorageClass, "", class_name)
    driver = volume_sources.serving_driver(found.provisioner) if found is not None else ""
    if found is None or not driver:
        return Resolution(reads=reads)
    return Resolution(
        CSIVolume(driver, f"{_TO_COME}{claim.key}"), volume_sources.is_in_tree(found.provisioner), reads=reads
    )


class Resolutions:
    """Resolutions by reference, and by object the references that depend on it."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._changes = {kind: RecentChanges(listers, kind) for kind in (CLAIM, VOLUME, CLASS)}
        for changes in self._changes.values():
            changes.take()
        self._known: dict[Reference, Resolution] = {}
        self._dependent: dict[ObjectKey, set[Reference]] = {}

    def find(self, reference: Reference) -> Resolution:
        """Return what a reference comes to, and remember it until it is forgotten."""
        known = self._known.get(reference)
        if known is None:
            known = self._known[reference] = resolve(reference, self._listers)
            for key in known.reads:
                self._dependent.setdefault(key, set()).add(reference)
        return known

    def look_up(self, reference: Reference) -> Resolution:
        """Return what a reference comes to, without keeping it."""
        return self._known.get(reference) or resolve(reference, self._listers)

    def forget(self, reference: Reference) -> None:
        """Drop what is remembered of a reference."""
        known = self._known.pop(reference, None)
        for key in known.reads if known is not None else ():
            self._dependent[key].discard(reference)
            if not self._dependent[key]:
                del self._dependent[key]

    def changed(self) -> Set[Reference] | None:
        """Forget what may no longer be true since the last time, and return it; None if it may be anything."""
        found: set[Reference] = set()
        is_lost = False
        for kind, changes in self._changes.items():
            changed = changes.take()
            is_lost = is_lost or changed is None
            for namespace, name in changed or ():
                found |= self._dependent.get((kind, namespace, name), frozenset())
        for reference in found:
            self.forget(reference)
        return None if is_lost else found

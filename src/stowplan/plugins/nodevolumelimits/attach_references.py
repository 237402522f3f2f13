"""What may have to be attached for a pod, as far as the pod itself tells; `attach_resolving` finds out what it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from stowplan.model.pod import Pod
from stowplan.model.volumes import Volume
from stowplan.plugins.volumes import csi_migration
from stowplan.plugins.volumes.csi_migration import Attachable


class Claim(msgspec.Struct, frozen=True, gc=False):
    """A claim that a pod names; or one that was made for it, and for it alone: `pod` and `uid` must be its owner's."""

    namespace: str
    name: str
    pod: str = ""
    uid: str = ""


class Disk(msgspec.Struct, frozen=True, gc=False):
    """A disk that is written into a pod; `problem` if its id cannot be read."""

    volume: Attachable
    problem: str = ""


class Attachment(msgspec.Struct, frozen=True, gc=False):
    """A VolumeAttachment of a node."""

    name: str
    node_name: str
    attacher: str
    volume_name: str


Reference = Claim | Disk | Attachment


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """Names the claims and disks of a pod, in their order (`table.counts.Held`)."""

    def things(self, pod: Pod) -> list[Claim | Disk]:
        found = (_reference(pod, volume) for volume in pod.spec.volumes)
        return [reference for reference in found if reference is not None]

    def amount(self, pod: Pod) -> int:
        return len(self.things(pod))


POD_VOLUMES: Final = PodVolumes()


def _reference(pod: Pod, volume: Volume) -> Claim | Disk | None:
    if volume.persistent_volume_claim is not None:
        return Claim(pod.namespace, volume.persistent_volume_claim.claim_name)
    if volume.ephemeral is not None:
        return Claim(pod.namespace, f"{pod.name}-{volume.name}", pod.name, pod.uid)
    try:
        disk = csi_migration.in_pod(volume)
    except ValueError as error:
        return Disk(Attachable("", ""), f"converting volume({volume.name}) from inline to csi: {error}")
    return Disk(disk) if disk is not None else None

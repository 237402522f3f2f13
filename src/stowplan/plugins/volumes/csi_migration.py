"""In-tree volumes that CSI drivers have taken over: which driver, and under which handle it knows a disk.

Seven sources have been taken over; five of them count against the limits of a driver, wherever a node has a CSINode.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from stowplan.model.storage import PersistentVolume
from stowplan.model.volumes import AwsElasticBlockStore, AzureDisk, Cinder, GcePersistentDisk, PortworxVolume, Volume
from stowplan.plugins.volumes.hints import MIGRATED_DRIVERS, ZONE_SEPARATOR

#: The provisioners of in-tree volumes, and the source of each.
SOURCES: Final[Mapping[str, str]] = {
    "kubernetes.io/gce-pd": "gce_persistent_disk",
    "kubernetes.io/aws-ebs": "aws_elastic_block_store",
    "kubernetes.io/azure-disk": "azure_disk",
    "kubernetes.io/azure-file": "azure_file",
    "kubernetes.io/cinder": "cinder",
    "kubernetes.io/vsphere-volume": "vsphere_volume",
    "kubernetes.io/portworx-volume": "portworx_volume",
}
COUNTED: Final = ("gce_persistent_disk", "aws_elastic_block_store", "azure_disk", "cinder", "portworx_volume")

_ZONES: Final = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
_UNSPECIFIED: Final = "UNSPECIFIED"
_AWS_URL: Final = re.compile(r"aws://[^/?#]*/*(vol-[^/?#]*)/*(?:[?#].*)?")

Disk = GcePersistentDisk | AwsElasticBlockStore | AzureDisk | Cinder | PortworxVolume


class Attachable(msgspec.Struct, frozen=True, gc=False):
    """A volume as its driver knows it: one that is attached to a node once, however many pods use it there."""

    driver: str
    handle: str


def serving_driver(provisioner: str) -> str:
    """Return the driver that serves a provisioner: itself, the one that took it over, or none that counts."""
    source = SOURCES.get(provisioner)
    if source is None:
        return provisioner
    return MIGRATED_DRIVERS[source] if source in COUNTED else ""


def in_pod(volume: Volume) -> Attachable | None:
    """Return the disk that is written into a pod; None if it does not count. Raises ValueError for a malformed id."""
    found = _disk(volume)
    return Attachable(MIGRATED_DRIVERS[found[0]], _handle(found[1], "")) if found is not None else None


def in_volume(volume: PersistentVolume) -> Attachable | None:
    """Return the disk of a persistent volume; None if it does not count, or its driver would not know it."""
    try:
        return in_driver(volume)
    except ValueError:
        return None


def problem_of(volume: PersistentVolume) -> str:
    """Return why a driver cannot take over the disk of a volume; "" if it can, or if there is none to take over."""
    try:
        in_driver(volume)
    except ValueError as error:
        return str(error)
    return ""


def in_driver(volume: PersistentVolume) -> Attachable | None:
    """Return the disk of a volume as its driver knows it. Raises ValueError if the driver cannot take it over."""
    found = _disk(volume)
    if found is None:
        return None
    handle = _handle(found[1], next(filter(None, map(volume.metadata.labels.get, _ZONES)), ""))
    return Attachable(MIGRATED_DRIVERS[found[0]], handle) if handle else None


def _disk(volume: Volume | PersistentVolume) -> tuple[str, Disk] | None:
    holder = volume.spec if isinstance(volume, PersistentVolume) else volume
    found = ((source, getattr(holder, source)) for source in COUNTED)
    return next((each for each in found if each[1] is not None), None)


def _handle(disk: Disk, zones: str) -> str:
    match disk:
        case GcePersistentDisk():
            return f"projects/{_UNSPECIFIED}/{_place(zones)}/disks/{disk.pd_name}"
        case AwsElasticBlockStore():
            return _aws_id(disk.volume_id)
        case AzureDisk():
            return _azure_uri(disk)
        case Cinder() | PortworxVolume():
            return disk.volume_id


def _place(zones: str) -> str:
    """Return where a GCE disk is: in a zone, or in the region of several."""
    names = zones.split(ZONE_SEPARATOR)
    if len(names) == 1:
        return f"zones/{zones or _UNSPECIFIED}"
    return f"regions/{_region(names)}"


def _region(zones: list[str]) -> str:
    """Return the region that zones are in, by their names."""
    regions: set[str] = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            problem = f"zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            raise ValueError(f"failed to get region from zones: {problem}")
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        shown = " ".join(f"{region}:{{}}" for region in sorted(regions))
        problem = f"multiple or no regions gotten from zones, got: map[{shown}]"
        raise ValueError(f"failed to get region from zones: {problem}")
    return regions.pop()


def _azure_uri(disk: AzureDisk) -> str:
    if disk.kind and disk.kind.lower() != "managed":
        raise ValueError(f"kind({disk.kind}) is not supported in csi migration")
    return disk.disk_uri


def _aws_id(text: str) -> str:
    if not text.startswith("aws://"):
        return text
    match = _AWS_URL.fullmatch(text)
    if match is None:
        problem = f"Invalid format for AWS volume ({text})"
        raise ValueError(f"failed to translate Kubernetes ID to EBS Volume ID {problem}")
    return match.group(1)

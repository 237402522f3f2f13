"""What the volumes of a pod stand for, as several plugins read it: claims, and disks that CSI drivers have taken over.

A pod names PersistentVolumeClaims, or has them made for its ephemeral volumes. Seven in-tree sources have been taken
over by CSI drivers, which know their disks under handles; five of them count against the limits of a driver, wherever a
node has a CSINode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import attrgetter
from typing import Final, NamedTuple

import msgspec

from stowplan.model.pod import Pod
from stowplan.model.storage import PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec
from stowplan.model.volumes import AwsElasticBlockStore, AzureDisk, Cinder, GcePersistentDisk, PortworxVolume, Volume

#: The volume binding mode of a class whose claims get their volume when their first pod gets a node.
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
#: On claims and volumes: the name of the class, as it was written before there was a field for it.
BETA_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
#: Between the names of zones in a label of a volume that is in several.
ZONE_SEPARATOR: Final = "__"
#: The labels for zone and region, and those that were used before.
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"


def claim_names(pod: Pod) -> list[str]:
    """Return the claims that a pod names, one for each volume that has one."""
    return [name for name, is_ephemeral in all_claim_names(pod) if not is_ephemeral]


def all_claim_names(pod: Pod) -> Iterator[tuple[str, bool]]:
    """Yield the claims of a pod, and whether each is made for one of its ephemeral volumes."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name, False
        elif volume.ephemeral is not None:
            yield f"{pod.name}-{volume.name}", True


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """Return the name of the class that a claim asks for; "" for none."""
    return claim.metadata.annotations.get(BETA_STORAGE_CLASS, claim.spec.storage_class_name or "")


def is_own_claim(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> bool:
    """A claim may help a pod that uses it, by name or through an ephemeral volume."""
    return pod.namespace == new.namespace and any(name == new.name for name, _ in all_claim_names(pod))


def is_named_claim(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> bool:
    """A claim may help a pod that names it."""
    return pod.namespace == new.namespace and new.name in claim_names(pod)


class InTreePlugin(NamedTuple):
    """A volume plugin of old Kubernetes, and the CSI driver that took it over.

    `source` is the field that names its disks, `zone_label` that by which the driver tells zones, if it has its own.
    """

    name: str
    source: str
    driver: str
    zone_label: str = ""
    #: Whether its disks count against the limits of the driver.
    is_counted: bool = True


IN_TREE_PLUGINS: Final = (
    InTreePlugin("kubernetes.io/gce-pd", "gce_persistent_disk", "pd.csi.storage.gke.io", "topology.gke.io/zone"),
    InTreePlugin(
        "kubernetes.io/aws-ebs", "aws_elastic_block_store", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"
    ),
    InTreePlugin("kubernetes.io/azure-disk", "azure_disk", "disk.csi.azure.com"),
    InTreePlugin("kubernetes.io/azure-file", "azure_file", "file.csi.azure.com", is_counted=False),
    InTreePlugin(
        "kubernetes.io/cinder", "cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"
    ),
    InTreePlugin("kubernetes.io/vsphere-volume", "vsphere_volume", "csi.vsphere.vmware.com", is_counted=False),
    InTreePlugin("kubernetes.io/portworx-volume", "portworx_volume", "pxd.portworx.com"),
)

# Asked of every volume of every pod, most of which are none.
_in_tree_disks: Final = attrgetter(*(plugin.source for plugin in IN_TREE_PLUGINS))
_NO_DISKS: Final = (None,) * len(IN_TREE_PLUGINS)
_UNSPECIFIED: Final = "UNSPECIFIED"
_AWS_URL: Final = re.compile(r"aws://[^/?#]*/*(vol-[^/?#]*)/*(?:[?#].*)?")

InTreeDisk = GcePersistentDisk | AwsElasticBlockStore | AzureDisk | Cinder | PortworxVolume


class CSIVolume(msgspec.Struct, frozen=True, gc=False):
    """A volume as its driver knows it: one that is attached to a node once, however many pods use it there."""

    driver: str
    handle: str


def is_in_tree(provisioner: str) -> bool:
    """Say whether a provisioner is an in-tree plugin."""
    return any(plugin.name == provisioner for plugin in IN_TREE_PLUGINS)


def serving_driver(provisioner: str) -> str:
    """Return the driver that serves a provisioner: itself, the one that took it over, or "" if that does not count."""
    for plugin in IN_TREE_PLUGINS:
        if plugin.name == provisioner:
            return plugin.driver if plugin.is_counted else ""
    return provisioner


def plugin_of(volume: Volume | PersistentVolumeSpec) -> InTreePlugin | None:
    """Return the in-tree plugin whose disk a volume is; None if it is none's."""
    if _in_tree_disks(volume) == _NO_DISKS:
        return None
    return next((plugin for plugin in IN_TREE_PLUGINS if getattr(volume, plugin.source) is not None), None)


def in_pod(volume: Volume) -> CSIVolume | None:
    """Return the disk that is written into a pod; None if it does not count. Raises ValueError for a malformed id."""
    return _translated(volume, "")


def in_volume(volume: PersistentVolume) -> CSIVolume | None:
    """Return the disk of a persistent volume; None if it does not count, or its driver would not know it."""
    return _in_volume(volume)[0]


def problem_of(volume: PersistentVolume) -> str:
    """Return why a driver cannot take over the disk of a volume; "" if it can, or if there is none to take over."""
    return _in_volume(volume)[1]


def _in_volume(volume: PersistentVolume) -> tuple[CSIVolume | None, str]:
    zones = next(filter(None, map(volume.metadata.labels.get, (BETA_ZONE, ZONE))), "")
    try:
        found = _translated(volume.spec, zones)
    except ValueError as error:
        return None, str(error)
    return found if found is not None and found.handle else None, ""


def _translated(volume: Volume | PersistentVolumeSpec, zones: str) -> CSIVolume | None:
    for plugin in IN_TREE_PLUGINS:
        disk = getattr(volume, plugin.source) if plugin.is_counted else None
        if disk is not None:
            return CSIVolume(plugin.driver, _handle(disk, zones))
    return None


def _handle(disk: InTreeDisk, zones: str) -> str:
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

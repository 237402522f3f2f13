"""Which changes may help a pod whose volumes were the problem: the hints of the volume plugins.

`for_volume_binding` and its neighbours are what those plugins await (VolumeRestrictions knows for itself which volumes
collide). Each hint looks at one object, and at the volumes that the pod names; it errs on the side of trying again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import Awaited
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity
from stowplan.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from stowplan.model.volumes import Volume

MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
ZONE_LABELS: Final = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)
ZONE_SEPARATOR: Final = "__"
#: Sources that pods may name themselves and CSI drivers now serve, with the driver of each.
MIGRATED_DRIVERS: Final = {
    "gce_persistent_disk": "pd.csi.storage.gke.io",
    "aws_elastic_block_store": "ebs.csi.aws.com",
    "azure_disk": "disk.csi.azure.com",
    "azure_file": "file.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "vsphere_volume": "csi.vsphere.vmware.com",
    "portworx_volume": "pxd.portworx.com",
}

ADD_OR_UPDATE: Final = Action.ADD | Action.UPDATE
NEW_NODE_LABELS: Final = Action.ADD | Action.UPDATE_NODE_LABEL


def for_volume_binding() -> tuple[Awaited, ...]:
    """Return the changes that may let a pod's claims be bound."""
    return (
        Awaited(changes.STORAGE_CLASS, ADD_OR_UPDATE, has_new_topologies),
        Awaited(changes.PERSISTENT_VOLUME_CLAIM, ADD_OR_UPDATE, is_own_claim),
        Awaited(changes.PERSISTENT_VOLUME, ADD_OR_UPDATE),
        Awaited(changes.NODE, NEW_NODE_LABELS),
        Awaited(changes.CSI_NODE, ADD_OR_UPDATE, migrates_other_plugins),
        Awaited(changes.CSI_DRIVER, Action.UPDATE, asks_capacity_no_more),
        Awaited(changes.CSI_STORAGE_CAPACITY, ADD_OR_UPDATE, holds_larger_volumes),
    )


def for_volume_zone() -> tuple[Awaited, ...]:
    """Return the changes that may bring a pod's volumes and nodes into one zone."""
    return (
        Awaited(changes.STORAGE_CLASS, Action.ADD, waits_for_first_consumer),
        Awaited(changes.NODE, NEW_NODE_LABELS),
        Awaited(changes.PERSISTENT_VOLUME_CLAIM, ADD_OR_UPDATE, is_named_claim),
        Awaited(changes.PERSISTENT_VOLUME, ADD_OR_UPDATE, is_zone_new),
    )


def for_node_volume_limits() -> tuple[Awaited, ...]:
    """Return the changes that may let a node attach more volumes."""
    return (
        Awaited(changes.CSI_NODE, Action.ADD),
        Awaited(changes.CSI_NODE, Action.UPDATE, attaches_more),
        Awaited(changes.POD, Action.DELETE, had_attached_volumes),
        Awaited(changes.PERSISTENT_VOLUME_CLAIM, Action.ADD, is_own_claim),
        Awaited(changes.VOLUME_ATTACHMENT, Action.DELETE, may_attach_instead),
    )


# Claims


def is_own_claim(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> bool:
    """Say whether the pod uses the claim, by name or through an ephemeral volume."""
    return pod.namespace == new.namespace and new.name in _claim_names(pod, ephemeral=True)


def is_named_claim(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> bool:
    """Say whether the pod names the claim."""
    return pod.namespace == new.namespace and new.name in _claim_names(pod, ephemeral=False)


def _claim_names(pod: Pod, *, ephemeral: bool) -> Iterator[str]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name
        elif volume.ephemeral is not None and ephemeral:
            yield f"{pod.name}-{volume.name}"


# Volumes, classes and drivers


def has_new_topologies(pod: Pod, old: StorageClass | None, new: StorageClass) -> bool:
    """A new class may help, and so may one that allows other topologies; its binding mode cannot change."""
    return old is None or old.allowed_topologies != new.allowed_topologies


def waits_for_first_consumer(pod: Pod, old: StorageClass | None, new: StorageClass) -> bool:
    return new.volume_binding_mode == "WaitForFirstConsumer"


def is_zone_new(pod: Pod, old: PersistentVolume | None, new: PersistentVolume) -> bool:
    """A new volume may help, and so may one that was moved to other zones."""
    return old is None or zones(old) != zones(new)


def zones(volume: PersistentVolume) -> dict[str, frozenset[str]]:
    """Read the zones and regions of a volume; a list with an empty name in it counts as none."""
    labels = volume.metadata.labels
    listed = {key: [zone.strip() for zone in labels[key].split(ZONE_SEPARATOR)] for key in ZONE_LABELS if key in labels}
    return {key: frozenset(zones) for key, zones in listed.items() if all(zones)}


def migrates_other_plugins(pod: Pod, old: CSINode | None, new: CSINode) -> bool:
    """A new driver list may help, and so may one by which other in-tree volumes are served."""
    if old is None:
        return True
    # An empty annotation says no more than none.
    return old.metadata.annotations.get(MIGRATED_PLUGINS, "") != new.metadata.annotations.get(MIGRATED_PLUGINS, "")


def asks_capacity_no_more(pod: Pod, old: CSIDriver, new: CSIDriver) -> bool:
    """A driver of the pod's inline volumes helps once it no longer has its free space checked."""
    is_used = any(volume.csi is not None and volume.csi.driver == new.name for volume in pod.spec.volumes)
    return is_used and old.spec.storage_capacity and not new.spec.storage_capacity


def holds_larger_volumes(pod: Pod, old: CSIStorageCapacity | None, new: CSIStorageCapacity) -> bool:
    """New space helps, and so does space for larger volumes than before."""
    if old is None:
        return True
    before, after = _largest(old), _largest(new)
    return after is not None and (before is None or after.value > before.value)


def _largest(capacity: CSIStorageCapacity) -> Quantity | None:
    return capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity


# Limits


def attaches_more(pod: Pod, old: CSINode, new: CSINode) -> bool:
    """A node helps if the limit of one of its drivers was raised; no limit reads as 0."""
    before, after = _limits(old), _limits(new)
    return any(limit > before.get(driver, 0) for driver, limit in after.items())


def _limits(node: CSINode) -> dict[str, int]:
    counts = {driver.name: driver.allocatable.count if driver.allocatable else None for driver in node.spec.drivers}
    return {name: count or 0 for name, count in counts.items()}


def had_attached_volumes(pod: Pod, old: Pod, new: None) -> bool:
    """A pod that goes helps if it was on a node and had anything attached there."""
    return changes.counts_on_a_node(old) and any(map(is_attached, old.spec.volumes))


def may_attach_instead(pod: Pod, old: VolumeAttachment, new: None) -> bool:
    """A volume that is detached helps a pod with a claim, or with a volume of the same driver."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None or old.spec.attacher in _migrated_to(volume):
            return True
    return False


def is_attached(volume: Volume) -> bool:
    """Say whether a volume of a pod is one that may have to be attached to its node."""
    has_claim = volume.persistent_volume_claim is not None or volume.ephemeral is not None
    return has_claim or any(_migrated_to(volume))


def _migrated_to(volume: Volume) -> Iterable[str]:
    return [driver for source, driver in MIGRATED_DRIVERS.items() if getattr(volume, source) is not None]

"""Storage: volumes, claims, classes, and what CSI drivers say about nodes and free space."""

from __future__ import annotations

import msgspec

from stowplan.model.affinity import NodeSelector
from stowplan.model.meta import ApiObject, Int32, LabelSelector, Namespaced, ObjectReference, Part, ResourceList, always
from stowplan.model.quantity import Quantity
from stowplan.model.volumes import CsiVolume, InTreeSources, NodePath, PersistentVolumeClaimSpec


class VolumeNodeAffinity(Part, frozen=True, kw_only=True):
    required: NodeSelector | None = None


class PersistentVolumeSpec(InTreeSources, frozen=True, kw_only=True):
    capacity: ResourceList = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    persistent_volume_reclaim_policy: str = "Retain"
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    mount_options: tuple[str, ...] = ()
    csi: CsiVolume | None = None
    local: NodePath | None = None
    host_path: NodePath | None = None


class PersistentVolumeStatus(Part, frozen=True, kw_only=True):
    phase: str = "Pending"


class PersistentVolume(ApiObject, frozen=True, kw_only=True):
    api_version: str = always("v1")
    kind: str = always("PersistentVolume")
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PersistentVolumeClaimStatus(Part, frozen=True, kw_only=True):
    phase: str = "Pending"
    access_modes: tuple[str, ...] = ()
    capacity: ResourceList = {}


class PersistentVolumeClaim(Namespaced, frozen=True, kw_only=True):
    api_version: str = always("v1")
    kind: str = always("PersistentVolumeClaim")
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class TopologySelectorRequirement(Part, frozen=True, kw_only=True):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Part, frozen=True, kw_only=True):
    match_label_expressions: tuple[TopologySelectorRequirement, ...] = ()


class StorageClass(ApiObject, frozen=True, kw_only=True):
    api_version: str = always("storage.k8s.io/v1")
    kind: str = always("StorageClass")
    provisioner: str = ""
    parameters: dict[str, str] = {}
    reclaim_policy: str = "Delete"
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()
    allow_volume_expansion: bool = False


class VolumeNodeResources(Part, frozen=True, kw_only=True):
    """`count` None means the driver sets no limit."""

    count: Int32 | None = None


class CSINodeDriver(Part, frozen=True, kw_only=True):
    name: str = ""
    node_id: str = msgspec.field(name="nodeID", default="")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Part, frozen=True, kw_only=True):
    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(ApiObject, frozen=True, kw_only=True):
    api_version: str = always("storage.k8s.io/v1")
    kind: str = always("CSINode")
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Part, frozen=True, kw_only=True):
    attach_required: bool = True
    storage_capacity: bool = False
    prevent_pod_scheduling_if_missing: bool = False
    volume_lifecycle_modes: tuple[str, ...] = ("Persistent",)


class CSIDriver(ApiObject, frozen=True, kw_only=True):
    api_version: str = always("storage.k8s.io/v1")
    kind: str = always("CSIDriver")
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Namespaced, frozen=True, kw_only=True):
    """Free space of one class in one topology segment; `node_topology` None is nowhere, an empty one everywhere."""

    api_version: str = always("storage.k8s.io/v1")
    kind: str = always("CSIStorageCapacity")
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class VolumeAttachmentSource(Part, frozen=True, kw_only=True):
    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(Part, frozen=True, kw_only=True):
    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachmentStatus(Part, frozen=True, kw_only=True):
    attached: bool = False


class VolumeAttachment(ApiObject, frozen=True, kw_only=True):
    api_version: str = always("storage.k8s.io/v1")
    kind: str = always("VolumeAttachment")
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()

"""Every kind of object that scheduling reads, by the apiVersion and kind it is served under."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from stowplan.model.binding import Binding
from stowplan.model.coordination import Lease
from stowplan.model.device_pool import DeviceTaintRule, ResourceSlice
from stowplan.model.dra import DeviceClass, ResourceClaim, ResourceClaimTemplate
from stowplan.model.events import Event
from stowplan.model.namespace import Namespace
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.pod_group import CommunityPodGroup, PodGroup, Workload
from stowplan.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from stowplan.model.workload import (
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

ApiObject = (
    Binding
    | CSIDriver
    | CSINode
    | CSIStorageCapacity
    | CommunityPodGroup
    | DeviceClass
    | DeviceTaintRule
    | Event
    | Lease
    | Namespace
    | Node
    | PersistentVolume
    | PersistentVolumeClaim
    | Pod
    | PodDisruptionBudget
    | PodGroup
    | PriorityClass
    | ReplicaSet
    | ReplicationController
    | ResourceClaim
    | ResourceClaimTemplate
    | ResourceSlice
    | Service
    | StatefulSet
    | StorageClass
    | VolumeAttachment
    | Workload
)

_CLASSES: tuple[type[ApiObject], ...] = ApiObject.__args__

KINDS: Mapping[tuple[str, str], type[ApiObject]] = MappingProxyType(
    {(sample.api_version, sample.kind): type(sample) for sample in (kind() for kind in _CLASSES)}
)

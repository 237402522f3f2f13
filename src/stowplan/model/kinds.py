"""Every kind of object that scheduling reads or writes, by the apiVersion and kind it is served under; and the small
ones of them: namespaces, bindings, events and leases.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from stowplan.model.device_pool import DeviceTaintRule, ResourceSlice
from stowplan.model.dra import DeviceClass, ResourceClaim, ResourceClaimTemplate
from stowplan.model.meta import Int32, MicroTime, Named, Namespaced, ObjectReference, Part, always
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


class NamespaceStatus(Part, frozen=True, kw_only=True):
    phase: str = "Active"


class Namespace(Named, frozen=True, kw_only=True):
    """Scheduling reads its labels, for the namespace selectors of pod affinity."""

    api_version: str = always("v1")
    kind: str = always("Namespace")
    status: NamespaceStatus = NamespaceStatus()

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels


class Binding(Namespaced, frozen=True, kw_only=True):
    """Puts a pod on a node: `metadata` names the pod (with its uid), `target` the node."""

    api_version: str = always("v1")
    kind: str = always("Binding")
    target: ObjectReference = ObjectReference()


class LeaseSpec(Part, frozen=True, kw_only=True):
    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    lease_transitions: Int32 | None = None


class Lease(Namespaced, frozen=True, kw_only=True):
    """What leader election holds. Its times are MicroTimes: write them with `timestamps.format_micro_time`."""

    api_version: str = always("coordination.k8s.io/v1")
    kind: str = always("Lease")
    spec: LeaseSpec = LeaseSpec()


class EventSeries(Part, frozen=True, kw_only=True):
    count: Int32 = 0
    last_observed_time: MicroTime | None = None


class Event(Namespaced, frozen=True, kw_only=True):
    """What users are told: `type` is Normal or Warning, `note` the text, `regarding` the object it is about."""

    api_version: str = always("events.k8s.io/v1")
    kind: str = always("Event")
    event_time: MicroTime | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    type: str = ""
    note: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None


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

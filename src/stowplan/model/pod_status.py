"""The status of a pod: phase, conditions, nominated node, generated claims, and what its containers really hold.

`requests.accounted` reads the resources here while a resize is under way.
"""

from __future__ import annotations

import msgspec

from stowplan.model.meta import Condition, Int64, Part, ResourceList, Time
from stowplan.model.volumes import ResourceRequirements


class ContainerStatus(Part, frozen=True, kw_only=True):
    """`allocated_resources` is what the node promised, `resources` what is in force on it."""

    name: str = ""
    ready: bool = False
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None


class PodResourceClaimStatus(Part, frozen=True, kw_only=True):
    """The claim generated for an entry of `spec.resourceClaims`; no name means none was needed."""

    name: str = ""
    resource_claim_name: str | None = None


class ExtendedResourceRequest(Part, frozen=True, kw_only=True):
    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class ExtendedResourceClaimStatus(Part, frozen=True, kw_only=True):
    """The claim that stands behind extended resources served by devices."""

    resource_claim_name: str = ""
    request_mappings: tuple[ExtendedResourceRequest, ...] = ()


class NodeAllocatableResourceClaimStatus(Part, frozen=True, kw_only=True):
    """What the devices of a claim take of the node's own resources, and which containers use the claim."""

    resource_claim_name: str = ""
    containers: tuple[str, ...] = ()
    resources: ResourceList = {}


class PodStatus(Part, frozen=True, kw_only=True):
    """A pod without a phase has just been created: "Pending", as the API server would fill it in."""

    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    observed_generation: Int64 = 0
    start_time: Time | None = None
    nominated_node_name: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: ExtendedResourceClaimStatus | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList = {}
    qos_class: str = ""
    host_ip: str = msgspec.field(name="hostIP", default="")
    pod_ip: str = msgspec.field(name="podIP", default="")

    def condition(self, kind: str) -> Condition | None:
        """The condition of that type, None when the pod has none."""
        return next((condition for condition in self.conditions if condition.type == kind), None)

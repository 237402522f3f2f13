"""The pod: what it asks for, and how far it has come.

Where it wants to be is in `affinity.py`, its volumes in `volumes.py`; what it weighs is computed in `requests.py`,
which reads the resources of the status too while a resize is under way.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from stowplan.model.affinity import Affinity, Toleration, TopologySpreadConstraint
from stowplan.model.meta import Condition, Int32, Int64, Namespaced, Part, ResourceList, Time, always
from stowplan.model.quantity import Quantity
from stowplan.model.volumes import ResourceRequirements, Volume

# A pod that has not started yet starts, if at all, after all that have.
NOT_STARTED = datetime.max.replace(tzinfo=UTC)


class ContainerPort(Part, frozen=True, kw_only=True):
    """A missing protocol is TCP, a missing host IP every address."""

    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = "TCP"
    name: str = ""


class RestartRule(Part, frozen=True, kw_only=True):
    """Scheduling reads only the action: a node must declare that it knows RestartAllContainers."""

    action: str = ""


class ContainerResizePolicy(Part, frozen=True, kw_only=True):
    resource_name: str = ""
    restart_policy: str = ""


class VolumeMount(Part, frozen=True, kw_only=True):
    """Scheduling reads only the options: a node must declare that it knows them."""

    bind_mount_options: tuple[str, ...] = ()


class Container(Part, frozen=True, kw_only=True):
    """A container or an init container; `restart_policy` Always makes an init container a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[RestartRule, ...] = ()
    resize_policy: tuple[ContainerResizePolicy, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()

    @property
    def is_restartable_init(self) -> bool:
        """Whether this init container keeps running beside the containers (a sidecar)."""
        return self.restart_policy == "Always"


class SchedulingGate(Part, frozen=True, kw_only=True):
    name: str = ""


class PodResourceClaim(Part, frozen=True, kw_only=True):
    """Names a ResourceClaim directly, or the template that one is generated from."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class SchedulingGroup(Part, frozen=True, kw_only=True):
    pod_group_name: str = ""


class PodOs(Part, frozen=True, kw_only=True):
    name: str = ""


class PodSpec(Part, frozen=True, kw_only=True):
    """What the pod asks for; defaults are as the API server would fill them in."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    priority: Int32 = 0
    priority_class_name: str = ""
    preemption_policy: str = "PreemptLowerPriority"
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()
    resources: ResourceRequirements | None = None
    overhead: ResourceList = {}
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    scheduling_group: SchedulingGroup | None = None
    host_network: bool = False
    host_users: bool | None = None
    restart_policy: str = "Always"
    os: PodOs | None = None
    service_account_name: str = ""
    termination_grace_period_seconds: Int64 | None = None


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


class NodeAllocatableMappedResources(Part, frozen=True, kw_only=True):
    name: str = ""
    quantity: Quantity | None = None


class NodeAllocatableOverheadResources(Part, frozen=True, kw_only=True):
    name: str = ""
    per_pod: Quantity | None = None
    per_container: Quantity | None = None


class NodeAllocatableResourceClaimStatus(Part, frozen=True, kw_only=True):
    """What the devices of a claim take of the node's own resources, and which containers use the claim.

    Kubernetes 1.36 has it all in `resources`, later releases tell devices that are parts of their node (`mapping`)
    from what using them costs (`overhead`).
    """

    resource_claim_name: str = ""
    containers: tuple[str, ...] = ()
    resources: ResourceList = {}
    mapping: tuple[NodeAllocatableMappedResources, ...] = ()
    overhead: tuple[NodeAllocatableOverheadResources, ...] = ()


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

    @property
    def may_hold_other(self) -> bool:
        """Whether the pod may hold something else on its node than it asks for, a resize being under way."""
        return bool(self.container_statuses or self.init_container_statuses or self.resources or self.conditions)

    def condition(self, kind: str) -> Condition | None:
        """The condition of that type, None when the pod has none."""
        return next((condition for condition in self.conditions if condition.type == kind), None)


class Pod(Namespaced, frozen=True, kw_only=True):
    api_version: str = always("v1")
    kind: str = always("Pod")
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def node_name(self) -> str:
        """The node the pod is bound to, "" while it is pending."""
        return self.spec.node_name

    @property
    def priority(self) -> int:
        return self.spec.priority

    @property
    def is_terminal(self) -> bool:
        """Whether it has ended: such a pod weighs nothing and is never scheduled."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def is_resize_deferred(self) -> bool:
        """Whether it is to be resized, and its kubelet has no room for that at the moment."""
        pending = self.status.condition("PodResizePending")
        return pending is not None and pending.reason == "Deferred"


def started(pod: Pod) -> datetime:
    """Return when a pod started; later than any other if it has not."""
    return pod.status.start_time or NOT_STARTED


def importance(pod: Pod) -> tuple[int, datetime]:
    """Return which of two pods matters more when room must be made: the most important has the smallest key.

    The higher priority comes first, then the pod that has run longer.
    """
    return -pod.spec.priority, pod.status.start_time or NOT_STARTED


def pod_id(pod: Pod) -> str:
    """Return what identifies a pod over its life: its uid, or its name where it has none."""
    return pod.metadata.uid or pod.key

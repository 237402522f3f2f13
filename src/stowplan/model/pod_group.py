"""Groups of pods that are scheduled together (scheduling.k8s.io/v1alpha2), and the workloads they are made from."""

from __future__ import annotations

from stowplan.model.meta import Condition, Int32, Namespaced, Part, always
from stowplan.model.pod import PodResourceClaim
from stowplan.model.pod_status import PodResourceClaimStatus


class BasicPolicy(Part, frozen=True, kw_only=True):
    """Every pod for itself."""


class GangPolicy(Part, frozen=True, kw_only=True):
    """All or nothing: at least `min_count` pods must find a place at the same time."""

    min_count: Int32 = 0


class SchedulingPolicy(Part, frozen=True, kw_only=True):
    """Exactly one is set."""

    basic: BasicPolicy | None = None
    gang: GangPolicy | None = None


class TopologyConstraint(Part, frozen=True, kw_only=True):
    """All pods of the group go to nodes with one value of this label."""

    key: str = ""


class SchedulingConstraints(Part, frozen=True, kw_only=True):
    topology: tuple[TopologyConstraint, ...] = ()


class WorkloadReference(Part, frozen=True, kw_only=True):
    workload_name: str = ""
    pod_group_template_name: str = ""


class TemplateReference(Part, frozen=True, kw_only=True):
    workload: WorkloadReference | None = None


class PodGroupSpec(Part, frozen=True, kw_only=True):
    """`disruption_mode` "Pod" lets members be preempted one by one, "PodGroup" only together."""

    pod_group_template_ref: TemplateReference | None = None
    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    disruption_mode: str = "Pod"
    priority_class_name: str = ""
    priority: Int32 = 0


class PodGroupStatus(Part, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()


class PodGroup(Namespaced, frozen=True, kw_only=True):
    api_version: str = always("scheduling.k8s.io/v1alpha2")
    kind: str = always("PodGroup")
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class PodGroupTemplate(Part, frozen=True, kw_only=True):
    name: str = ""
    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    disruption_mode: str = "Pod"
    priority_class_name: str = ""
    priority: Int32 = 0


class WorkloadSpec(Part, frozen=True, kw_only=True):
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()


class Workload(Namespaced, frozen=True, kw_only=True):
    api_version: str = always("scheduling.k8s.io/v1alpha2")
    kind: str = always("Workload")
    spec: WorkloadSpec = WorkloadSpec()

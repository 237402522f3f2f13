"""Groups of pods that are scheduled together, in both flavours, and the workloads they are made from.

Kubernetes' own `PodGroup` (scheduling.k8s.io/v1alpha2) is named by a pod's `spec.schedulingGroup`; the community's
(scheduling.x-k8s.io/v1alpha1) by a label. They share a kind and nothing else, so a group is known by its API group too:
`GroupKey`. What a group asks of the scheduler is read in `framework/gangs.py`.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import msgspec

from stowplan.model.meta import Condition, Int32, Namespaced, Part, ResourceList, always
from stowplan.model.pod import Pod, PodResourceClaim, PodResourceClaimStatus

OWN_GROUP: Final = "scheduling.k8s.io"
COMMUNITY_GROUP: Final = "scheduling.x-k8s.io"
#: The label by which a pod joins a group of the community's flavour.
COMMUNITY_LABEL: Final = f"{COMMUNITY_GROUP}/pod-group"

MAX_INT32: Final = 2**31 - 1
# A default is not checked: a count of 0 means that nothing was said, and nothing is written.
Positive = Annotated[int, msgspec.Meta(ge=1, le=MAX_INT32)]
NotNegative = Annotated[int, msgspec.Meta(ge=0, le=MAX_INT32)]


class GroupKey(NamedTuple):
    """What identifies a group of pods."""

    api_group: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f'pod group "{self.namespace}/{self.name}"'


def own_group(pod: Pod) -> GroupKey | None:
    named = pod.spec.scheduling_group
    return GroupKey(OWN_GROUP, pod.namespace, named.pod_group_name) if named and named.pod_group_name else None


def community_group(pod: Pod) -> GroupKey | None:
    name = pod.labels.get(COMMUNITY_LABEL)
    return GroupKey(COMMUNITY_GROUP, pod.namespace, name) if name else None


def groups_of(pod: Pod) -> tuple[GroupKey, ...]:
    """Return the groups that a pod names, of either flavour."""
    return tuple(key for key in (own_group(pod), community_group(pod)) if key is not None)


class BasicPolicy(Part, frozen=True, kw_only=True):
    """Every pod for itself."""


class GangPolicy(Part, frozen=True, kw_only=True):
    """All or nothing: at least `min_count` pods must find a place at the same time."""

    min_count: Positive = 0


class SchedulingPolicy(Part, frozen=True, kw_only=True):
    """Exactly one is set."""

    basic: BasicPolicy | None = None
    gang: GangPolicy | None = None

    def __post_init__(self) -> None:
        if self.basic is not None and self.gang is not None:
            raise ValueError("Expected either `basic` or `gang`, got both")


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


class GroupTerms(Part, frozen=True, kw_only=True):
    """How a group is scheduled; `disruption_mode` "Pod" lets members be preempted alone, "PodGroup" only together."""

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    disruption_mode: str = "Pod"
    priority_class_name: str = ""
    priority: Int32 = 0


class PodGroupSpec(GroupTerms, frozen=True, kw_only=True):
    pod_group_template_ref: TemplateReference | None = None


class PodGroupStatus(Part, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()


class PodGroup(Namespaced, frozen=True, kw_only=True):
    api_version: str = always("scheduling.k8s.io/v1alpha2")
    kind: str = always("PodGroup")
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def group_key(self) -> GroupKey:
        return GroupKey(OWN_GROUP, self.namespace, self.name)


class CommunityPodGroupSpec(Part, frozen=True, kw_only=True):
    """`min_member` pods must find a place together; `min_resources` says beforehand how much they need in all."""

    min_member: NotNegative = 0
    min_resources: ResourceList = {}
    schedule_timeout_seconds: NotNegative | None = None


class CommunityPodGroup(Namespaced, frozen=True, kw_only=True):
    """The group of the community's Coscheduling plugin."""

    api_version: str = always("scheduling.x-k8s.io/v1alpha1")
    kind: str = always("PodGroup")
    spec: CommunityPodGroupSpec = CommunityPodGroupSpec()

    @property
    def group_key(self) -> GroupKey:
        return GroupKey(COMMUNITY_GROUP, self.namespace, self.name)


AnyPodGroup = PodGroup | CommunityPodGroup


class PodGroupTemplate(GroupTerms, frozen=True, kw_only=True):
    name: str = ""


class WorkloadSpec(Part, frozen=True, kw_only=True):
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()


class Workload(Namespaced, frozen=True, kw_only=True):
    api_version: str = always("scheduling.k8s.io/v1alpha2")
    kind: str = always("Workload")
    spec: WorkloadSpec = WorkloadSpec()

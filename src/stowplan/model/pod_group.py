"""Groups of pods that are scheduled together, in both flavours, and the workloads they are made from.

Kubernetes' own `PodGroup` (scheduling.k8s.io, v1beta1 since 1.37, v1alpha2 before) is named by a pod's
`spec.schedulingGroup`, and may be a child of a `CompositePodGroup` (v1alpha3); the community's
(scheduling.x-k8s.io/v1alpha1) by a label. They share a kind and nothing else, so a group is known by its API group too:
`GroupKey`. `framework/pod_groups.py` says what is asked about Kubernetes' own, `framework/gangs.py` reads the others.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import msgspec

from stowplan.model.meta import Condition, Int32, Namespaced, Part, ResourceList, always
from stowplan.model.pod import Pod, PodResourceClaim, PodResourceClaimStatus

OWN_GROUP: Final = "scheduling.k8s.io"
#: In the place of the API group, for a group of groups: it shares no names with the groups of pods.
COMPOSITE: Final = "scheduling.k8s.io/CompositePodGroup"
COMMUNITY_GROUP: Final = "scheduling.x-k8s.io"
#: The label by which a pod joins a group of the community's flavour.
COMMUNITY_LABEL: Final = f"{COMMUNITY_GROUP}/pod-group"

#: A tree has at most so many levels; upstream's `WorkloadMaxTreeDepth`.
MAX_TREE_DEPTH: Final = 4
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
        return f'{"composite " if self.is_composite else ""}pod group "{self.namespace}/{self.name}"'

    @property
    def entity_key(self) -> str:
        """How upstream's messages name it."""
        return f"{'composite' if self.is_composite else ''}podgroup/{self.namespace}/{self.name}"

    @property
    def is_composite(self) -> bool:
        """Whether it is a group of groups."""
        return self.api_group == COMPOSITE


def own_group(pod: Pod) -> GroupKey | None:
    named = pod.spec.scheduling_group
    return GroupKey(OWN_GROUP, pod.namespace, named.pod_group_name) if named and named.pod_group_name else None


def community_group(pod: Pod) -> GroupKey | None:
    name = pod.labels.get(COMMUNITY_LABEL)
    return GroupKey(COMMUNITY_GROUP, pod.namespace, name) if name else None


def names_group(pod: Pod) -> bool:
    """Say whether a pod names a group, of either flavour."""
    return pod.spec.scheduling_group is not None or COMMUNITY_LABEL in pod.metadata.labels


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


class SingleDisruption(Part, frozen=True, kw_only=True):
    """Members may be preempted one by one."""


class WholeDisruption(Part, frozen=True, kw_only=True):
    """Whoever preempts a member preempts all of them."""


class DisruptionMode(Part, frozen=True, kw_only=True):
    """At most one is set."""

    single: SingleDisruption | None = None
    all: WholeDisruption | None = None


class WorkloadReference(Part, frozen=True, kw_only=True):
    workload_name: str = ""
    #: Called `podGroupTemplateName` in v1alpha2.
    template_name: str = ""
    pod_group_template_name: str = ""


class TemplateReference(Part, frozen=True, kw_only=True):
    workload: WorkloadReference | None = None


class GroupTerms(Part, frozen=True, kw_only=True):
    """How a group is scheduled.

    `disruption_mode` is a text in v1alpha2: "Pod" lets members be preempted alone, "PodGroup" only together.
    `preemption_policy` is the default of pods if it is empty.
    """

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    disruption_mode: DisruptionMode | str | None = None
    priority_class_name: str = ""
    priority: Int32 = 0
    preemption_policy: str = ""

    @property
    def is_disrupted_as_a_whole(self) -> bool:
        """Whether its pods are preempted together or not at all."""
        mode = self.disruption_mode
        return mode.all is not None if isinstance(mode, DisruptionMode) else mode == "PodGroup"

    @property
    def topology_key(self) -> str | None:
        """The label of which all nodes of the group must have one value; None if it asks for nothing."""
        constraints = self.scheduling_constraints
        return constraints.topology[0].key if constraints is not None and constraints.topology else None


class PodGroupSpec(GroupTerms, frozen=True, kw_only=True):
    parent_composite_pod_group_name: str = ""
    workload_ref: WorkloadReference | None = None
    pod_group_template_ref: TemplateReference | None = None

    @property
    def min_count(self) -> int:
        """How many pods must find a place at the same time."""
        gang = self.scheduling_policy.gang
        return gang.min_count if gang is not None else 1


class PodGroupStatus(Part, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()


class PodGroup(Namespaced, frozen=True, kw_only=True):
    api_version: str = always("scheduling.k8s.io/v1beta1")
    kind: str = always("PodGroup")
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def group_key(self) -> GroupKey:
        return GroupKey(OWN_GROUP, self.namespace, self.name)

    @property
    def parent_key(self) -> GroupKey | None:
        """The group of groups that it is a part of."""
        return _parent(self.namespace, self.spec.parent_composite_pod_group_name)


class CompositeGangPolicy(Part, frozen=True, kw_only=True):
    """All or nothing: at least `min_group_count` of the groups in it must find a place at the same time."""

    min_group_count: Positive = 0


class CompositeSchedulingPolicy(Part, frozen=True, kw_only=True):
    """Exactly one is set."""

    basic: BasicPolicy | None = None
    gang: CompositeGangPolicy | None = None


class CompositePodGroupSpec(Part, frozen=True, kw_only=True):
    parent_composite_pod_group_name: str = ""
    scheduling_policy: CompositeSchedulingPolicy = CompositeSchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 = 0
    preemption_policy: str = ""

    @property
    def is_disrupted_as_a_whole(self) -> bool:
        return self.disruption_mode is not None and self.disruption_mode.all is not None

    @property
    def topology_key(self) -> str | None:
        constraints = self.scheduling_constraints
        return constraints.topology[0].key if constraints is not None and constraints.topology else None

    @property
    def min_count(self) -> int:
        """How many of its groups must find a place at the same time."""
        gang = self.scheduling_policy.gang
        return gang.min_group_count if gang is not None else 1


class CompositePodGroup(Namespaced, frozen=True, kw_only=True):
    """A group of groups: the root of such a tree is scheduled as one."""

    api_version: str = always("scheduling.k8s.io/v1alpha3")
    kind: str = always("CompositePodGroup")
    spec: CompositePodGroupSpec = CompositePodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def group_key(self) -> GroupKey:
        return GroupKey(COMPOSITE, self.namespace, self.name)

    @property
    def parent_key(self) -> GroupKey | None:
        return _parent(self.namespace, self.spec.parent_composite_pod_group_name)


def _parent(namespace: str, name: str) -> GroupKey | None:
    return GroupKey(COMPOSITE, namespace, name) if name else None


#: What a tree of groups is made of.
OwnGroup = PodGroup | CompositePodGroup


class CommunityPodGroupSpec(Part, frozen=True, kw_only=True):
    """`min_member` pods must find a place together; `min_resources` says beforehand how much they need in all."""

    min_member: NotNegative = 0
    min_resources: ResourceList = {}
    schedule_timeout_seconds: NotNegative | None = None

    @property
    def min_count(self) -> int:
        """How many pods must find a place at the same time."""
        return self.min_member


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

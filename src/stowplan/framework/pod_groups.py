"""What plugins are told, and what they answer, when a whole pod group is placed (Kubernetes' own, scheduling.k8s.io).

    placement_generate  -> placements: the sets of nodes that the group may go to as a whole
    placement_feasible  -> after each pod: can it still come to enough, does it already?
    placement_score     -> which of several placements is the best
    pod_group_post_filter -> what is left to try when the group fits nowhere

The classes to inherit are in `contract.py`; `engine/group_cycle.py` has the order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from stowplan.config.feature_gates import FeatureGates
from stowplan.framework.handle import GroupLister, Handle
from stowplan.framework.verdict import Rejection, Verdict
from stowplan.framework.waiting_pods import WaitingPods
from stowplan.model.pod import Pod, pod_id
from stowplan.model.pod_group import MAX_TREE_DEPTH, GroupKey, OwnGroup
from stowplan.table.columns import Mask
from stowplan.table.nodes import Nodes

#: What a group that found no place is told before anything else, upstream's words.
UNSCHEDULABLE_GROUP = "pod group is unschedulable"


class GroupHandle(Handle, Protocol):
    """The handle of a scheduler that knows pod groups."""

    @property
    def groups(self) -> GroupLister: ...

    @property
    def waiting_pods(self) -> WaitingPods: ...


def has_groups(gates: FeatureGates) -> bool:
    """Say whether pods that name a PodGroup are placed as that group."""
    return gates.enabled("GangScheduling")


class ScheduledPods(NamedTuple):
    """The pods of a tree that have a node, and a group in it that lies too deep to be looked at, if there is one."""

    pods: Collection[Pod]
    too_deep: GroupKey | None = None


def scheduled_in(groups: GroupLister, key: GroupKey, levels: int = MAX_TREE_DEPTH) -> ScheduledPods:
    """Look for pods that have a node in a tree, so many levels deep; a circle of groups ends there, too."""
    if not levels:
        return ScheduledPods((), key)
    if not key.is_composite:
        return ScheduledPods(groups.scheduled(key))
    parts = [scheduled_in(groups, child.group_key, levels - 1) for child in groups.children(key)]
    too_deep = next((part.too_deep for part in parts if part.too_deep is not None), None)
    # In a circle a group is met more than once.
    return ScheduledPods({pod_id(pod): pod for part in parts for pod in part.pods}.values(), too_deep)


class GroupProgress(NamedTuple):
    """How far an attempt has come: pods (in a group of groups, groups) that have a place, and that are to come."""

    scheduled: int
    remaining: int


@dataclass(frozen=True, slots=True)
class NotYet:
    """Answer of `placement_feasible`: not enough so far, but it may come to enough."""

    reason: str


@dataclass(frozen=True, slots=True)
class GroupPlacement:
    """Nodes to which a group may go as a whole: the rows in `mask`, all of them if it is None."""

    name: str
    mask: Mask | None = None


class Assignment(NamedTuple):
    """Where a pod of a group would go."""

    pod: Pod
    node_name: str
    #: The plugins that had nothing to say about the pod when it was tried: they are not asked again.
    skipped: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PlacedIn:
    """A placement in which a group fits, and where its pods would go there."""

    placement: GroupPlacement
    assignments: Sequence[Assignment]


@dataclass(frozen=True, slots=True)
class GroupPlaced:
    """What came of trying a group in a cluster as it would be: where its pods go, or why it does not fit."""

    assignments: Sequence[Assignment] = ()
    rejection: Rejection | None = None


class GroupTrial(Protocol):
    """The cluster as it would be without some pods. Whatever is taken away is back when the plugin has answered."""

    @property
    def waited_ns(self) -> int:
        """How long extenders had to be waited for, which is no fault of the plugin's."""

    def take_away(self, pods: Collection[Pod]) -> None:
        """Suppose that pods are gone from their nodes."""

    def put_back(self, pods: Collection[Pod]) -> None:
        """Suppose that they are there again."""

    async def schedule(self) -> GroupPlaced:
        """Try the group in the cluster as it is supposed to be; extenders are asked, too."""

    def still_fits(self, assignments: Sequence[Assignment]) -> bool:
        """Say whether every pod, one after the other, fits on the node that it was given."""


@dataclass(frozen=True, slots=True)
class GroupAttempt:
    """What is known of an attempt in which a group found no place: all that `pod_group_post_filter` is given."""

    group: OwnGroup
    #: Those that wait, in the order in which they were tried.
    pods: Sequence[Pod]
    #: The plugins that PreFilter got to for any of them.
    prepared: frozenset[str]
    trial: GroupTrial
    #: By the ids of pods that found no node, what was said of every node.
    verdicts: Mapping[str, Verdict]
    #: The nodes as they are.
    nodes: Nodes
    #: The ids of pods that had found a node, before the group turned out not to come to enough.
    placed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class GroupNominated:
    """Answer of `pod_group_post_filter`: the group will fit, on these nodes by pod, once the victims are gone."""

    message: str
    node_of: Mapping[str, str]
    #: Most important first; none if they are on their way out already.
    victims: tuple[Pod, ...] = ()
    pdb_violations: int = 0
    #: How many of the units that are evicted are groups, or pods of groups.
    disruptions: int = 0


@dataclass(frozen=True, slots=True)
class GroupArranged:
    """Answer of `pod_group_post_filter`: something is done beside the cycle that may help; others go on."""

    rejection: Rejection
    errands: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = ()


#: What the points answer.
Placements = Sequence[GroupPlacement] | Rejection
Feasibility = Rejection | NotYet | None
RoomForGroup = GroupNominated | GroupArranged | Rejection

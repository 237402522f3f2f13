"""The tree of groups that is tried as one, with the pods that wait, and what about them does not go together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from stowplan.cache.groups import Groups
from stowplan.engine.parts import ActivePolicy
from stowplan.model.pod import Pod
from stowplan.model.pod_group import GroupKey, OwnGroup, PodGroup, own_group
from stowplan.queue.entry import QueuedPod

PREEMPTS = "PreemptLowerPriority"
_SAME = "all pods in a single pod group should have the same"


@dataclass(slots=True)
class GroupNode:
    """A group in its tree, with the pods of it that wait."""

    group: OwnGroup
    members: list[QueuedPod] = field(default_factory=list)
    children: list[GroupNode] = field(default_factory=list)

    @property
    def key(self) -> GroupKey:
        return self.group.group_key

    def leaves(self) -> Iterator[GroupNode]:
        """Go through the groups of pods."""
        if isinstance(self.group, PodGroup):
            yield self
        for child in self.children:
            yield from child.leaves()

    @property
    def pods(self) -> list[Pod]:
        """All pods that wait, in the order in which they are tried."""
        return [member.pod for leaf in self.leaves() for member in leaf.members]


def tree_of(groups: Groups, root: GroupKey, members: Sequence[QueuedPod]) -> GroupNode | None:
    """Put pods into the tree of groups as it is now; None if the root is gone."""
    group = groups.get(root)
    if not isinstance(group, OwnGroup):
        return None
    by_group: dict[GroupKey | None, list[QueuedPod]] = {}
    for member in members:
        by_group.setdefault(own_group(member.pod), []).append(member)
    return _node(groups, group, by_group)


def _node(groups: Groups, group: OwnGroup, by_group: dict[GroupKey | None, list[QueuedPod]]) -> GroupNode:
    key = group.group_key
    if isinstance(group, PodGroup):
        return GroupNode(group, by_group.get(key, []))
    return GroupNode(group, [], [_node(groups, child, by_group) for child in groups.children(key)])


def problem_with(root: GroupNode, scheduled: Collection[Pod], policy: ActivePolicy) -> str:
    """Say what about the pods of a tree, with a node or not, does not go together; nothing if all is well."""
    waiting = root.pods
    name, preemption = waiting[0].spec.scheduler_name, ""
    if policy.has_group_policies:
        preemption = root.group.spec.preemption_policy or PREEMPTS
    for pod in (*waiting, *scheduled):
        problem = _mismatch(pod, name, root.group.spec.priority)
        if not problem and preemption and pod.spec.preemption_policy != preemption:
            of_group = " as the pod group's preemption policy" if policy.has_group_policies else ""
            problem = f"{_SAME} preemption policy{of_group}, got {pod.spec.preemption_policy} and {preemption}"
        if problem:
            return problem
        preemption = preemption or pod.spec.preemption_policy
    return "" if name in policy.profiles else f'profile not found for scheduler name "{name}"'


def _mismatch(pod: Pod, scheduler_name: str, priority: int) -> str:
    if pod.spec.scheduler_name != scheduler_name:
        return f'{_SAME} .spec.schedulerName set, got: "{pod.spec.scheduler_name}" and "{scheduler_name}"'
    if pod.spec.priority != priority:
        return f"{_SAME} priority as the pod group's priority, got {pod.spec.priority} and {priority}"
    return ""

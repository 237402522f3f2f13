"""Kubernetes' own pod groups: when one is complete, when enough of it is placed, and who waits for whom."""

from __future__ import annotations

from typing import Any, Final

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import (
    Awaited,
    Permit,
    PlacementFeasible,
    PreEnqueue,
    Requeue,
    Wait,
    refuse,
)
from stowplan.framework.pod_groups import GroupHandle, GroupProgress, NotYet, has_groups
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod
from stowplan.model.pod_group import MAX_TREE_DEPTH, GroupKey, OwnGroup, PodGroup, own_group

#: The longest that the first pods of a gang are held for the last.
PERMIT_SECONDS: Final = 300.0
TOO_FEW: Final = "waiting for minCount pods from a gang to appear in scheduling queue"
_NO_TREE: Final = "failed to build hierarchy snapshot"
POD_GROUP: Final = "PodGroup"
COMPOSITE_POD_GROUP: Final = "CompositePodGroup"


class GangScheduling(PreEnqueue, PlacementFeasible, Permit, Requeue):
    """The pods of a PodGroup with a gang policy are placed together, at least `minCount` of them, or not at all.

    Gates: a pod whose `spec.schedulingGroup` names a PodGroup that does not exist, or one with a gang policy for which
        fewer than `minCount` pods exist. With the feature gate CompositePodGroup, also a pod of a tree of groups in
        which a group is missing, which is a circle or goes more than four groups of groups up, or of which too few
        are complete (`minGroupCount`).
    Rejects: a group of which fewer than `minCount` pods (of a group of groups: `minGroupCount` groups) find a place;
        without a gang policy one is enough. A pod of a gang is held at Permit, at most five minutes, until `minCount`
        pods of it have a node.
    Requeued by: another pod of the group that comes or is bound, the group itself coming, `minCount` becoming less, a
        group of groups coming.
    Upstream: pkg/scheduler/framework/plugins/gangscheduling.
    """

    feature_gate = "GangScheduling"
    lists = ("PodGroup",)

    def __init__(self, handle: GroupHandle) -> None:
        self._groups = handle.groups
        self._waiting = handle.waiting_pods
        self._is_on = has_groups(handle.feature_gates)
        self._has_trees = handle.feature_gates.enabled("CompositePodGroup")

    # Is it complete?

    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        key = own_group(pod) if self._is_on else None
        if key is None:
            return None
        group = self._groups.get(key)
        if not isinstance(group, PodGroup):
            return refuse(f'waiting for pods\'s pod group "{key.name}" to appear in scheduling queue')
        if self._has_trees and group.parent_key is not None:
            return self._why_incomplete(group.parent_key)
        gang = group.spec.scheduling_policy.gang
        is_short = gang is not None and len(self._groups.members(key)) < gang.min_count
        return refuse(TOO_FEW) if is_short else None

    def _why_incomplete(self, parent: GroupKey) -> Rejection | None:
        root = self._root_above(parent)
        if isinstance(root, str):
            return refuse(root)
        if not self._is_ready(root, scheduled=False):
            return refuse(f'waiting for composite pod group "{root.name}" tree to meet quorum')
        return None

    def _root_above(self, parent: GroupKey) -> OwnGroup | str:
        """Return the root of a tree from the group above a group of pods; or why there is none, upstream's words.

        Upstream climbs three times and must be at the root then. Where that ends in a circle of groups, it says so.
        """
        key = parent
        for _ in range(MAX_TREE_DEPTH - 1):
            group = self._groups.get(key)
            if not isinstance(group, OwnGroup):
                return _missing(key)
            if group.parent_key is None:
                return group
            key = group.parent_key
        top = self._groups.get(key)
        if isinstance(top, OwnGroup) and top.parent_key is None:
            return top
        if self._is_in_circle(key):
            return f"{_NO_TREE}: cycle detected in composite pod group hierarchy: {key.entity_key}"
        return _missing(parent)

    def _is_in_circle(self, start: GroupKey) -> bool:
        seen, group = set[GroupKey](), self._groups.get(start)
        while isinstance(group, OwnGroup) and group.parent_key is not None and group.parent_key not in seen:
            seen.add(group.parent_key)
            group = self._groups.get(group.parent_key)
        return start in seen

    def _is_ready(self, group: OwnGroup, *, scheduled: bool) -> bool:
        """Say whether enough pods are there, or have a node, in enough of the groups of a tree."""
        key, needed = group.group_key, group.spec.min_count
        if isinstance(group, PodGroup):
            pods = self._groups.scheduled(key) if scheduled else self._groups.members(key)
            return len(pods) >= needed
        return sum(self._is_ready(child, scheduled=scheduled) for child in self._groups.children(key)) >= needed

    # Is it enough?

    def placement_feasible(self, group: OwnGroup, progress: GroupProgress) -> Rejection | NotYet | None:
        needed, (scheduled, remaining) = group.spec.min_count, progress
        if scheduled >= needed:
            return None
        so_far = f"{scheduled} scheduled, {remaining} remaining"
        if scheduled + remaining < needed:
            return refuse(f"minCount ({needed}) cannot be satisfied: {so_far}", unresolvable=False)
        return NotYet(f"minCount ({needed}) is not yet satisfied: {so_far}")

    def permit(self, pod: Pod, node_name: str) -> Rejection | Wait | None:
        key = own_group(pod) if self._is_on else None
        group = self._groups.get(key) if key is not None else None
        if key is None or not isinstance(group, PodGroup):
            return None
        if self._has_trees and group.parent_key is not None:
            root = self._root_above(group.parent_key)
            if isinstance(root, str):
                return Rejection((root,), Code.ERROR)
        elif group.spec.scheduling_policy.gang is None:
            return None
        else:
            root = group
        if not self._is_ready(root, scheduled=True):
            return Wait(PERMIT_SECONDS)
        if len(self._waiting):
            self._let_go(root)
        return None

    def _let_go(self, root: OwnGroup) -> None:
        for other in self._groups.scheduled(root.group_key):
            waiting = self._waiting.get(other)
            if waiting is not None:
                waiting.allow(self.name)

    # What helps

    def events(self) -> tuple[Awaited, ...]:
        pods = (
            Awaited(changes.UNSCHEDULED_POD, Action.ADD, self._is_member),
            Awaited(changes.ASSIGNED_POD, Action.ADD, self._is_member),
            Awaited(POD_GROUP, Action.ADD, self._is_of_tree),
            Awaited(POD_GROUP, Action.UPDATE, self._needs_fewer),
        )
        return (*pods, Awaited(COMPOSITE_POD_GROUP, Action.ADD, self._is_of_tree)) if self._has_trees else pods

    def _is_member(self, pod: Pod, old: Pod | None, new: Pod) -> bool:
        return self._is_same_tree(own_group(pod), own_group(new))

    def _is_of_tree(self, pod: Pod, old: Any, new: Any) -> bool:
        return isinstance(new, OwnGroup) and self._is_same_tree(own_group(pod), new.group_key)

    def _needs_fewer(self, pod: Pod, old: Any, new: Any) -> bool:
        if not isinstance(old, PodGroup) or not self._is_of_tree(pod, old, new):
            return False
        before, now = old.spec.scheduling_policy.gang, new.spec.scheduling_policy.gang
        return before is not None and now is not None and now.min_count < before.min_count

    def _is_same_tree(self, key: GroupKey | None, other: GroupKey | None) -> bool:
        if key is None or other is None or key.namespace != other.namespace:
            return False
        if not self._has_trees:
            return key == other
        root = self._groups.tree_of(key)
        return root is not None and root is self._groups.tree_of(other)


def _missing(parent: GroupKey) -> str:
    return f"{_NO_TREE}: composite pod group object not found in state for {parent.entity_key}"

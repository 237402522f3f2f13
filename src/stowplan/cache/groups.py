"""Pod groups, who belongs to them, and which of their pods have a node.

`cache.py` owns it and tells it of every pod that comes to a node or leaves one; `engine/event_handlers.py` of every
group, and of every pod that names one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import msgspec

from stowplan.model.pod import Pod, pod_id
from stowplan.model.pod_group import (
    AnyPodGroup,
    CompositePodGroup,
    GroupKey,
    OwnGroup,
    community_group,
    own_group,
)
from stowplan.table.undo import UndoLog

BEGINNING = datetime.min.replace(tzinfo=UTC)


class Groups:
    """Groups by key, and their members, waiting or on nodes; implements `framework.handle.GroupLister`.

    Pods that have ended belong to no group any more. Those that are being deleted still are members of Kubernetes' own
    groups, as upstream counts, but not of the community's: they will not help a gang to be complete.
    """

    def __init__(self) -> None:
        self._groups: dict[GroupKey, AnyPodGroup | CompositePodGroup] = {}
        self._members: dict[GroupKey, dict[str, Pod]] = {}
        self._scheduled: dict[GroupKey, dict[str, Pod]] = {}
        self._groups_of: dict[str, tuple[GroupKey, ...]] = {}
        self._children: dict[GroupKey, dict[GroupKey, None]] = {}
        self._cycles = 0
        #: What takes back what is supposed; None if nothing is.
        self.undo: UndoLog | None = None
        #: The number of the attempt of a tree of groups that is being made; None if none is.
        self.cycle: int | None = None

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Note that a tree of groups is being tried: what is taken for one of its pods may serve the others."""
        self._cycles += 1
        self.cycle = self._cycles
        try:
            yield
        finally:
            self.cycle = None

    def get(self, key: GroupKey) -> AnyPodGroup | CompositePodGroup | None:
        return self._groups.get(key)

    def members(self, key: GroupKey) -> Collection[Pod]:
        """Return the pods that name a group, whether it exists or not."""
        return self._members.get(key, {}).values()

    def scheduled(self, key: GroupKey) -> Collection[Pod]:
        """Return the pods of a group, or of all groups in it, that have a node, with it."""
        if not key.is_composite:
            return self._scheduled.get(key, {}).values()
        return [pod for child in self.children(key) for pod in self.scheduled(child.group_key)]

    def pods_in(self, root: GroupKey) -> Collection[Pod]:
        """Return the pods of a group, or of all groups in it, on a node or not."""
        if not root.is_composite:
            return self.members(root)
        return [pod for child in self.children(root) for pod in self.pods_in(child.group_key)]

    def nodes_in_use(self) -> Collection[str]:
        """Return the nodes that pods of our own groups are on."""
        return {pod.node_name for pods in self._scheduled.values() for pod in pods.values()}

    # Trees

    def tree_of(self, key: GroupKey) -> OwnGroup | None:
        """Return the root of the tree that a group is in; None if the group, or one above it, is not there."""
        seen: set[GroupKey] = set()
        found = self._groups.get(key)
        while isinstance(found, OwnGroup) and found.group_key not in seen:
            seen.add(found.group_key)
            if found.parent_key is None:
                return found
            found = self._groups.get(found.parent_key)
        return None

    def children(self, key: GroupKey) -> Sequence[OwnGroup]:
        """Return the groups in a group, the oldest first."""
        known = [self._groups.get(child) for child in self._children.get(key, {})]
        return sorted((one for one in known if isinstance(one, OwnGroup)), key=_age)

    # Groups and pods come and go

    def put(self, group: AnyPodGroup | CompositePodGroup) -> None:
        self._note_group(group)
        self._groups[group.group_key] = group
        if isinstance(group, OwnGroup) and group.parent_key is not None:
            self._children.setdefault(group.parent_key, {})[group.group_key] = None

    def remove(self, group: AnyPodGroup | CompositePodGroup) -> None:
        """Drop a group; its members stay members, should it come again."""
        self._note_group(group)
        self._groups.pop(group.group_key, None)
        if isinstance(group, OwnGroup) and group.parent_key is not None:
            self._children.get(group.parent_key, {}).pop(group.group_key, None)

    def put_pod(self, pod: Pod, *, is_ours: bool = True) -> None:
        """Take in a pod or a new version of one; it counts for our own groups only if it `is_ours`, or on a node."""
        if pod_id(pod) in self._groups_of:
            self.remove_pod(pod)
        own = own_group(pod) if is_ours or pod.node_name else None
        other = community_group(pod) if not pod.is_terminating else None
        keys = tuple(key for key in (own, other) if key is not None)
        if not keys or pod.is_terminal:
            return
        if self.undo is not None:
            self.undo.keep(self._groups_of, pod_id(pod))
        self._groups_of[pod_id(pod)] = keys
        for key in keys:
            if self.undo is not None:
                self.undo.keep_within(self._members, key, pod_id(pod))
            self._members.setdefault(key, {})[pod_id(pod)] = pod

    def remove_pod(self, pod: Pod) -> None:
        """Drop a pod; nothing happens if it is in no group."""
        if self.undo is not None and pod_id(pod) in self._groups_of:
            self.undo.keep(self._groups_of, pod_id(pod))
        for key in self._groups_of.pop(pod_id(pod), ()):
            if self.undo is not None:
                self.undo.keep(self._members, key)
            members = self._members[key]
            del members[pod_id(pod)]
            if not members:
                del self._members[key]

    def seat(self, pod: Pod, node_name: str) -> None:
        """Note that a pod of one of our own groups has a node."""
        key = own_group(pod)
        if key is not None:
            if pod.spec.node_name != node_name:
                pod = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node_name))
            self._scheduled.setdefault(key, {})[pod_id(pod)] = pod

    def unseat(self, pod: Pod) -> None:
        """Note that a pod of one of our own groups has no node any more."""
        key = own_group(pod)
        seated = self._scheduled.get(key, {}) if key is not None else {}
        seated.pop(pod_id(pod), None)
        if key is not None and not seated:
            self._scheduled.pop(key, None)

    def note_seats(self, pod: Pod) -> None:
        """Note, while something is supposed, which pods of the group of a pod have a node, and in which order."""
        key = own_group(pod)
        if self.undo is not None and key is not None:
            self.undo.keep(self._scheduled, key)

    def _note_group(self, group: AnyPodGroup | CompositePodGroup) -> None:
        if self.undo is None:
            return
        self.undo.keep(self._groups, group.group_key)
        if isinstance(group, OwnGroup) and group.parent_key is not None:
            self.undo.keep(self._children, group.parent_key)


def _age(group: OwnGroup) -> tuple[datetime, str]:
    return group.metadata.creation_timestamp or BEGINNING, group.name

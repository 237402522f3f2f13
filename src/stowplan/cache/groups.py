"""The owner of pod groups and of who belongs to them: pods that wait as well as pods on nodes.

`engine.event_handlers` tells it of every pod and every group. Pods that have ended or are being deleted belong to no
group any more: they will not help a gang to be complete.
"""

from __future__ import annotations

from collections.abc import Collection

from stowplan.model.pod import Pod
from stowplan.model.pod_group import AnyPodGroup, GroupKey, groups_of


class Groups:
    """Groups by key, and their members; implements `framework.gangs.GroupLister`."""

    def __init__(self) -> None:
        self._groups: dict[GroupKey, AnyPodGroup] = {}
        self._members: dict[GroupKey, dict[str, Pod]] = {}
        self._groups_of: dict[str, tuple[GroupKey, ...]] = {}

    def get(self, key: GroupKey) -> AnyPodGroup | None:
        return self._groups.get(key)

    def members(self, key: GroupKey) -> Collection[Pod]:
        """Return the pods that name a group, whether it exists or not."""
        return self._members.get(key, {}).values()

    def put(self, group: AnyPodGroup) -> None:
        self._groups[group.group_key] = group

    def remove(self, group: AnyPodGroup) -> None:
        """Drop a group; its members stay members, should it come again."""
        self._groups.pop(group.group_key, None)

    def put_pod(self, pod: Pod) -> None:
        """Take in a pod or a new version of one."""
        self.remove_pod(pod)
        keys = groups_of(pod)
        if not keys or pod.is_terminal or pod.is_terminating:
            return
        self._groups_of[_id(pod)] = keys
        for key in keys:
            self._members.setdefault(key, {})[_id(pod)] = pod

    def remove_pod(self, pod: Pod) -> None:
        """Drop a pod; nothing happens if it is in no group."""
        for key in self._groups_of.pop(_id(pod), ()):
            members = self._members[key]
            del members[_id(pod)]
            if not members:
                del self._members[key]


def _id(pod: Pod) -> str:
    return pod.metadata.uid or pod.key

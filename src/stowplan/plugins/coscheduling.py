"""The community's pod groups."""

from __future__ import annotations

from typing import Any, Final

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import Awaited, QueueSort
from stowplan.framework.gangs import Gang, GangHandle, GangSource
from stowplan.model.pod import Pod
from stowplan.model.pod_group import AnyPodGroup, CommunityPodGroup, GroupKey, community_group

NANOSECONDS: Final = 1_000_000_000


class Coscheduling(GangSource, QueueSort):
    """The pods of a PodGroup are placed together, at least `minMember` of them, or not at all.

    Gates: a pod whose label `scheduling.x-k8s.io/pod-group` names a PodGroup (scheduling.x-k8s.io/v1alpha1) of its
        namespace that does not exist, or for which fewer than `minMember` pods exist.
    Orders: where it sorts the queue, by `spec.priority`, highest first, then by the age of the group, or by the time
        the pod entered the queue if it has none, then by name.
    Arguments: `permitWaitingTimeSeconds`, the longest that other plugins may hold a member at Permit where the group
        does not say `scheduleTimeoutSeconds`, 60; `podGroupBackoffSeconds`, how long a refused group is left alone, 0.
    Requeued by: another pod of the group that is bound, the group itself coming or changing, the pod's own labels; if
        the group has `minResources`, whatever gives the cluster more room. A new pod takes the others with it.
    Upstream: not in-tree; Coscheduling of kubernetes-sigs/scheduler-plugins, whose members wait for each other at
        Permit. Here nobody holds a node before enough have one.
    """

    is_optional = True
    lists = ("CommunityPodGroup",)

    def __init__(
        self, handle: GangHandle, *, permit_waiting_time_seconds: int = 60, pod_group_backoff_seconds: int = 0
    ) -> None:
        super().__init__(handle)
        _check("permitWaitingTimeSeconds", permit_waiting_time_seconds)
        _check("podGroupBackoffSeconds", pod_group_backoff_seconds)
        self._timeout_seconds = permit_waiting_time_seconds
        self._backoff_seconds = pod_group_backoff_seconds

    def group_of(self, pod: Pod) -> GroupKey | None:
        return community_group(pod)

    def read(self, group: AnyPodGroup) -> Gang | None:
        if not isinstance(group, CommunityPodGroup):
            return None
        spec = group.spec
        return Gang(
            group.group_key,
            self.name,
            max(1, spec.min_member),
            min_resources=spec.min_resources,
            timeout_seconds=spec.schedule_timeout_seconds or self._timeout_seconds,
            backoff_seconds=self._backoff_seconds,
        )

    def sort_key(self, pod: Pod, queued_at: float) -> Any:
        key = self.group_of(pod)
        group = self._groups.get(key) if key is not None else None
        created = group.metadata.creation_timestamp if group is not None else None
        since = created.timestamp() * NANOSECONDS if created is not None else queued_at
        return -pod.priority, since, pod.key

    def events(self) -> tuple[Awaited, ...]:
        return (
            *super().events(),
            Awaited(changes.TARGET_POD, Action.UPDATE_POD_LABEL, lambda pod, old, new: changes.is_same(pod, new)),
            Awaited(changes.ASSIGNED_POD, Action.DELETE, self._needs_room),
            Awaited(changes.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, self._needs_room),
        )

    def _needs_room(self, pod: Pod, old: Any, new: Any) -> bool:
        key = self.group_of(pod)
        group = self._groups.get(key) if key is not None else None
        return isinstance(group, CommunityPodGroup) and bool(group.spec.min_resources)


def _check(argument: str, seconds: int) -> None:
    if seconds < 0:
        raise ValueError(f"plugin 'Coscheduling': {argument} is {seconds}; give a number of seconds, 0 or more")

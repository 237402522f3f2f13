"""The order of the active queue."""

from __future__ import annotations

from collections.abc import Sequence

from stowplan.framework.contract import QueueSort
from stowplan.model.pod import Pod
from stowplan.model.pod_group import OwnGroup


class PrioritySort(QueueSort):
    """The most important pod goes first; among equals the one that has waited longest.

    Orders: by `spec.priority`, of a pod group by that of the group, highest first, then by the time the pod or the
        group entered the queue.
    Upstream: pkg/scheduler/framework/plugins/queuesort.
    """

    def sort_key(self, pod: Pod, queued_at: float) -> tuple[int, float]:
        return -pod.priority, queued_at

    def group_sort_key(self, group: OwnGroup, pods: Sequence[Pod], queued_at: float) -> tuple[int, float]:
        return -group.spec.priority, queued_at

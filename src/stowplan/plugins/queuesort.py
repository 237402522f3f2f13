"""The order of the active queue."""

from __future__ import annotations

from stowplan.framework.contract import QueueSort
from stowplan.model.pod import Pod


class PrioritySort(QueueSort):
    """The most important pod goes first; among equals the one that has waited longest.

    Orders: by `spec.priority`, highest first, then by the time the pod entered the queue.
    Upstream: pkg/scheduler/framework/plugins/queuesort.
    """

    def sort_key(self, pod: Pod, queued_at: float) -> tuple[int, float]:
        return -pod.priority, queued_at

"""Which pending pods of a `Cluster` keep room on the node they are nominated to: those that a scheduler would queue.

A live scheduler has its queue for that (`queue.queue`).
"""

from __future__ import annotations

from collections.abc import Mapping

from stowplan.framework.profile import Profile
from stowplan.model.pod import Pod
from stowplan.queue.nominations import Nominations


class NominatedPods:
    """Puts pods into `nominations`, and keeps those that await a claim out of them until it is there."""

    def __init__(self, nominations: Nominations) -> None:
        self._nominations = nominations
        self._waiting: dict[str, Pod] = {}

    def put(self, pod: Pod, profiles: Mapping[str, Profile]) -> None:
        """Take in a pending pod, or a new version of one."""
        self.remove(pod)
        # Room that another scheduler keeps for its pod is not ours to keep.
        profile = profiles.get(pod.spec.scheduler_name)
        if profile is None or not pod.status.nominated_node_name:
            return
        may_be_gated = pod.spec.scheduling_gates or pod.spec.resource_claims
        if not may_be_gated or profile.run_pre_enqueue(pod) is None:
            self._nominations.put(pod, pod.status.nominated_node_name)
        elif not pod.spec.scheduling_gates:
            self._waiting[pod.key] = pod

    def remove(self, pod: Pod) -> None:
        self._nominations.remove(pod)
        self._waiting.pop(pod.key, None)

    def ask_again(self, namespace: str, profiles: Mapping[str, Profile]) -> None:
        """See whether a new claim is what pods of its namespace awaited."""
        for pod in [pod for pod in self._waiting.values() if pod.namespace == namespace]:
            self.put(pod, profiles)

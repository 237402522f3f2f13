"""Kubernetes' own pod groups, those with a gang policy."""

from __future__ import annotations

from typing import Final

from stowplan.framework.gangs import Gang, GangHandle, GangSource
from stowplan.model.pod import Pod
from stowplan.model.pod_group import AnyPodGroup, GroupKey, PodGroup, own_group

#: Upstream's limit on how long the first members of a gang are held for the last.
PERMIT_SECONDS: Final = 300.0


class GangScheduling(GangSource):
    """The pods of a PodGroup with a gang policy are placed together, at least `minCount` of them, or not at all.

    Gates: a pod whose `spec.schedulingGroup` names a PodGroup (scheduling.k8s.io/v1alpha2) that does not exist, or one
        with a gang policy for which fewer than `minCount` pods exist. Pods of a group with a basic policy go one by
        one. Without the feature gate GangScheduling the field means nothing.
    Requeued by: another pod of the group that is bound, and the group itself coming or changing. A new pod takes the
        others with it.
    Upstream: pkg/scheduler/framework/plugins/gangscheduling. There the first members wait at Permit for the others, and
        a refused group is tried again by backoff alone; here nobody holds a node before enough have one, and events
        bring a group back.
    """

    feature_gate = "GangScheduling"
    lists = ("PodGroup",)
    idle_points = frozenset({"permit"})

    def __init__(self, handle: GangHandle) -> None:
        super().__init__(handle)
        self._is_on = handle.feature_gates.enabled("GangScheduling")

    def group_of(self, pod: Pod) -> GroupKey | None:
        return own_group(pod) if self._is_on else None

    def read(self, group: AnyPodGroup) -> Gang | None:
        policy = group.spec.scheduling_policy.gang if isinstance(group, PodGroup) else None
        if policy is None:
            return None
        return Gang(group.group_key, self.name, max(1, policy.min_count), timeout_seconds=PERMIT_SECONDS)

"""The order of the turns of pods that wait: that of the queue, the pods of a group together; and what a turn is.

`queued_pods.py` has who waits for one, `app/what_if.py` and `assertions/settling.py` give one to each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from stowplan.app.placements import Gated
from stowplan.app.pod_groups import root_of
from stowplan.cache.cache import Cache
from stowplan.config.feature_gates import FeatureGates
from stowplan.engine.failure import Result
from stowplan.framework import plugin_faults
from stowplan.framework.contract import QueueSort
from stowplan.framework.gangs import Gang, gang_of
from stowplan.framework.pod_groups import has_groups
from stowplan.framework.profile import Profile
from stowplan.model.pod import Pod
from stowplan.model.pod_group import GroupKey


class QueueSortError(Exception):
    """The pods cannot be put in order; the text names the plugin and what to do."""


class Scheduling(Protocol):
    """A `Cluster`, as far as turns are taken on it."""

    feature_gates: FeatureGates
    cache: Cache
    profiles: Mapping[str, Profile]

    def profile_of(self, pod: Pod) -> Profile: ...

    def schedule(self, pod: Pod) -> Result | Gated: ...

    def schedule_group(self, pods: Sequence[Pod]) -> list[Result | Gated]: ...


def turns(cluster: Scheduling, pods: Iterable[Pod]) -> list[list[Pod]]:
    """Return the pods as they have their turns: a group where the first of its pods has it, others by themselves."""
    found: dict[object, list[Pod]] = {}
    for pod in _in_queue_order(cluster, pods):
        root = root_of(cluster.cache, pod) if has_groups(cluster.feature_gates) else None
        found.setdefault(root or _gang_key(cluster, pod) or pod.key, []).append(pod)
    return list(found.values())


def take_turn(cluster: Scheduling, together: Sequence[Pod]) -> list[Result | Gated]:
    """Schedule a pod, or the pods of a group."""
    return cluster.schedule_group(together) if is_group(cluster, together) else [cluster.schedule(together[0])]


def is_group(cluster: Scheduling, together: Sequence[Pod]) -> bool:
    """Say whether pods that have their turn together are tried as a group."""
    return len(together) > 1 or _gang_key(cluster, together[0]) is not None


def victims_of(result: Result | Gated) -> tuple[Pod, ...]:
    """Return who was evicted for a pod."""
    return () if isinstance(result, Gated) else result.victims


def sorter_of(cluster: Scheduling) -> QueueSort:
    """Return the plugin that puts the queue in order."""
    # All profiles sort alike: the configuration refuses anything else.
    (sorter,) = next(iter(cluster.profiles.values())).queue_sort
    return sorter


def _in_queue_order(cluster: Scheduling, pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods in the order of the queue: as the profiles sort it, then as they come."""
    sorter, keyed = sorter_of(cluster), enumerate(pods)
    try:
        return [pod for _, pod in sorted(keyed, key=lambda each: sorter.sort_key(each[1], float(each[0])))]
    except plugin_faults.FAULTS as error:
        problem = f"plugin {sorter.name!r} failed in QueueSort: {plugin_faults.spelled(error)}"
        raise QueueSortError(f"{problem}; let it return keys of one sort, for every pod") from None


def _gang_key(cluster: Scheduling, pod: Pod) -> GroupKey | None:
    """Return the gang of the community's that a pod is in, if it is complete."""
    gang = gang_of(cluster.profile_of(pod), pod)
    return gang.key if isinstance(gang, Gang) else None

"""Several pods, one turn after the other: in the order of the queue, the pods of a group together.

There is no queue here: nobody comes back, each pod has its one turn. `stowplan schedule` takes the turns of the pods in
its files, `Cluster.schedule_all` those of the pods it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from stowplan.app.placements import Gated, Placements
from stowplan.app.pod_groups import root_of
from stowplan.cache.cache import Cache, CachedPod
from stowplan.config.feature_gates import FeatureGates
from stowplan.engine.failure import Refused, Result
from stowplan.framework import plugin_faults
from stowplan.framework.gangs import Gang, gang_of
from stowplan.framework.pod_groups import has_groups
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Verdict, Vocabulary
from stowplan.model.pod import Pod
from stowplan.model.pod_group import GroupKey


class QueueSortError(Exception):
    """The pods cannot be put in order; the text names the plugin and what to do."""


class Scheduling(Protocol):
    """A `Cluster`, as far as turns are taken on it."""

    feature_gates: FeatureGates
    cache: Cache
    profiles: Mapping[str, Profile]

    def add(self, found: Any) -> None: ...

    def placed(self, pod: Pod) -> CachedPod | None: ...

    def profile_of(self, pod: Pod) -> Profile: ...

    def schedule(self, pod: Pod) -> Result | Gated: ...

    def schedule_group(self, pods: Sequence[Pod]) -> list[Result | Gated]: ...


def schedule_all(cluster: Scheduling, pods: Iterable[Pod]) -> Placements:
    """Schedule pending pods; raise before the first of them is placed if one of them cannot be scheduled here."""
    given = list(pods)
    _check(cluster, given)
    for pod in given:
        # All of them wait at the same time, so each counts for its group, and keeps room where it is nominated.
        cluster.add(pod)
    results: dict[str, Result | Gated] = {}
    for together in turns(cluster, given):
        for one in take_turn(cluster, together):
            results[one.pod.key] = one
            results |= {victim.key: _preempted(cluster, victim, one.pod) for victim in victims_of(one)}
    return Placements(results[pod.key] for pod in given)


def victims_of(result: Result | Gated) -> tuple[Pod, ...]:
    """Return who was evicted for a pod."""
    return () if isinstance(result, Gated) else result.victims


def _preempted(cluster: Scheduling, victim: Pod, preemptor: Pod) -> Refused:
    """Return what came of a pod that had a node already, and had to go."""
    names = cluster.cache.table.names()
    verdict = Verdict(np.zeros(len(names), dtype=np.int32), Vocabulary(), names)
    return Refused(victim, f"preempted by pod {preemptor.key} on node {victim.node_name}", verdict)


def _check(cluster: Scheduling, pods: Iterable[Pod]) -> None:
    seen: set[str] = set()
    for pod in pods:
        cluster.profile_of(pod)
        if pod.key in seen:
            raise ValueError(f"pod {pod.key!r} is given twice; give each pod once")
        seen.add(pod.key)
        placed = cluster.placed(pod)
        node_name = placed.node_name if placed is not None else pod.spec.node_name
        if node_name:
            raise ValueError(f"pod {pod.key!r} has a node already, {node_name!r}; leave it out, or remove it first")


def turns(cluster: Scheduling, pods: Iterable[Pod]) -> list[list[Pod]]:
    """Return the pods as they have their turns: a group where the first of its pods has it, others by themselves."""
    found: dict[object, list[Pod]] = {}
    for pod in _in_queue_order(cluster, pods):
        root = root_of(cluster.cache, pod) if has_groups(cluster.feature_gates) else None
        found.setdefault(root or _gang_key(cluster, pod) or pod.key, []).append(pod)
    return list(found.values())


def take_turn(cluster: Scheduling, together: Sequence[Pod]) -> list[Result | Gated]:
    """Schedule a pod, or the pods of a group."""
    if len(together) > 1 or _gang_key(cluster, together[0]) is not None:
        return cluster.schedule_group(together)
    return [cluster.schedule(together[0])]


def _in_queue_order(cluster: Scheduling, pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods in the order of the queue: as the profiles sort it, then as they come."""
    # All profiles sort alike: the configuration refuses anything else.
    (sorter,) = next(iter(cluster.profiles.values())).queue_sort
    keyed = enumerate(pods)
    try:
        return [pod for _, pod in sorted(keyed, key=lambda each: sorter.sort_key(each[1], float(each[0])))]
    except plugin_faults.FAULTS as error:
        problem = f"plugin {sorter.name!r} failed in QueueSort: {plugin_faults.spelled(error)}"
        raise QueueSortError(f"{problem}; let it return keys of one sort, for every pod") from None


def _gang_key(cluster: Scheduling, pod: Pod) -> GroupKey | None:
    """Return the gang of the community's that a pod is in, if it is complete."""
    gang = gang_of(cluster.profile_of(pod), pod)
    return gang.key if isinstance(gang, Gang) else None

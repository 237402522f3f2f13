"""Several pods, each scheduled in its turn: in the order of the queue, the pods of a group together.

`queued_pods.py` says who is next, and who has another turn because of what came of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from stowplan.app.placements import Placements
from stowplan.app.queued_pods import ConfiguredScheduling, QueuedPods
from stowplan.cache.cache import CachedPod
from stowplan.engine.failure import Refused
from stowplan.framework.verdict import Verdict, Vocabulary
from stowplan.model.pod import Pod, pod_id


class Workbench(ConfiguredScheduling, Protocol):
    """A `Cluster`, as far as it takes in pods and schedules them."""

    def add(self, found: Any) -> None: ...

    def placed(self, pod: Pod) -> CachedPod | None: ...


def schedule_all(cluster: Workbench, pods: Iterable[Pod]) -> Placements:
    """Schedule pending pods; raise before the first of them is placed if one of them cannot be scheduled here."""
    given = list(pods)
    _check(cluster, given)
    for pod in given:
        # All of them wait at the same time, so each counts for its group, and keeps room where it is nominated.
        cluster.add(pod)

    def evicted(victims: Sequence[Pod], preemptor: Pod) -> None:
        queued.results.update((pod_id(victim), _preempted(cluster, victim, preemptor)) for victim in victims)

    queued = QueuedPods(cluster, evicted)
    queued.add(given)
    while together := queued.take():
        queued.schedule(together)
    return Placements(queued.results[pod_id(pod)] for pod in given)


def _preempted(cluster: Workbench, victim: Pod, preemptor: Pod) -> Refused:
    """Return what came of a pod that had a node already, and had to go."""
    names = cluster.cache.table.names()
    verdict = Verdict(np.zeros(len(names), dtype=np.int32), Vocabulary(), names)
    return Refused(victim, f"preempted by pod {preemptor.key} on node {victim.node_name}", verdict)


def _check(cluster: Workbench, pods: Iterable[Pod]) -> None:
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

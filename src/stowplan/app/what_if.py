"""A cluster as the questions of `whatif` need it: supposed, with turns that evict nobody, and all candidates.

The command line asks a cluster of files so, and a live scheduler answers so between two cycles (`app/what_if_page.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from stowplan.app import turns
from stowplan.app.cluster import Cluster, Gated
from stowplan.cache.cache import Cache, CachedPod
from stowplan.config.feature_gates import FeatureGates
from stowplan.engine.failure import Refused, Result
from stowplan.engine.group_trial import at_once
from stowplan.engine.post_filter import find_room
from stowplan.engine.scheduling_cycle import find_feasible
from stowplan.framework.contract import Nominated, Preemption, Proposed
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Verdict
from stowplan.model.pod import Pod
from stowplan.observe.explanation import Explanation
from stowplan.whatif import requests
from stowplan.whatif.requests import WhatIf


def ask(cluster: Cluster, asked: WhatIf, waiting: Sequence[Pod] = ()) -> dict[str, Any]:
    """Answer a question about a cluster in which some pods wait for a node, and leave it as it is."""
    return requests.answer(ClusterWorld(cluster, waiting), asked)


class ClusterWorld:
    """A `Cluster` as a `whatif.world.World`."""

    def __init__(self, cluster: Cluster, waiting: Sequence[Pod] = ()) -> None:
        self._cluster, self.waiting = cluster, waiting
        self.cache: Cache = cluster.cache
        self.feature_gates: FeatureGates = cluster.feature_gates
        self.profiles: Mapping[str, Profile] = cluster.profiles

    @property
    def not_taking_part(self) -> tuple[str, ...]:
        return self._cluster.not_taking_part

    @property
    def has_extenders(self) -> bool:
        return bool(self._cluster.extenders)

    @property
    def has_nominations(self) -> bool:
        return bool(self._cluster.handle.nominations)

    @contextmanager
    def suppose(self) -> Iterator[ClusterWorld]:
        with self._cluster.suppose() as world:
            yield ClusterWorld(world, self.waiting)

    def add(self, found: Any) -> None:
        self._cluster.add(found)

    def add_all(self, objects: Iterable[Any]) -> None:
        self._cluster.add_all(objects)

    def remove(self, found: Any) -> None:
        self._cluster.remove(found)

    def placed(self, pod: Pod) -> CachedPod | None:
        return self.cache.placed(pod)

    def profile_of(self, pod: Pod) -> Profile:
        return self._cluster.profile_of(pod)

    def explain(self, pod: Pod) -> Explanation:
        return self._cluster.explain(pod)

    def verdict(self, pod: Pod) -> Verdict:
        """Return what the filters say of every node."""
        return find_feasible(self._cluster.field, self.profile_of(pod), pod, self.cache.table.shape_of(pod)).verdict

    def schedule(self, pod: Pod) -> Result | Gated:
        return self._cluster.schedule(pod, preempt=False)

    def schedule_group(self, pods: Sequence[Pod]) -> list[Result | Gated]:
        return self._cluster.schedule_group(pods, preempt=False)

    def try_all(self, pods: Sequence[Pod]) -> list[Result | Gated]:
        """Place pods in the order of the queue, groups together, evicting nobody; answer in the order given."""
        if len(pods) == 1 and pods[0].spec.scheduling_group is None:
            return turns.take_turn(self, pods)
        found = {one.pod.key: one for together in turns.turns(self, pods) for one in turns.take_turn(self, together)}
        return [found[pod.key] for pod in pods]

    def candidates(self, pod: Pod) -> tuple[Refused, Sequence[Preemption], str] | None:
        """Return why a pod is refused, where room could be made, best first, and what is said of that.

        None if it needs no room.
        """
        refused = self._cluster.choose(pod, preempt=False)
        if not isinstance(refused, Refused):
            return None
        with self._cluster.handle.proposing():
            made = at_once(find_room(self._cluster.field, None, self.profile_of(pod), refused))
        if made.proposed is None:
            one = made.nominated.preemption if made.nominated is not None else None
            return refused, [one] if one is not None else [], made.message
        ordered = list(_in_order(made.proposed))
        return refused, ordered, _message(made.proposed)


def _in_order(proposed: Proposed) -> Iterator[Preemption]:
    """Yield the candidates in the order of choice: each is the one that would be taken if those before it were not."""
    left = list(proposed.candidates)
    while left:
        answer = proposed.settle(left)
        if not isinstance(answer, Nominated) or answer.preemption is None:
            return
        yield answer.preemption
        left = [one for one in left if one.node_name != answer.node_name]


def _message(proposed: Proposed) -> str:
    answer = proposed.settle(proposed.candidates)
    return answer.message if isinstance(answer, Nominated) else ", ".join(answer.reasons)

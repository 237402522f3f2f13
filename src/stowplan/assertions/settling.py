"""What the scheduler makes of a cluster when everybody who waits has had a turn.

Pods that wait are those of the cluster that have no node and those of lost nodes. They are tried in the order of the
queue, and evict less important ones as their profile says. Who is evicted is made anew and tried after the others, with
its own turn to evict: an eviction only ever hits pods of lower priority, so it comes to an end. Nothing happens by
itself meanwhile, and nobody is tried twice for having been refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from stowplan.app import turns
from stowplan.app.cluster import Cluster, Gated
from stowplan.app.what_if import ClusterWorld
from stowplan.assertions.steps import SupposedCluster, SupposedStep
from stowplan.assertions.workloads import WorkloadPods
from stowplan.engine.failure import Chosen, Result
from stowplan.model.pod import Pod
from stowplan.observe.explanation import some
from stowplan.whatif.moving import has_to_go, take_off


@dataclass(frozen=True, slots=True)
class UnplacedPod:
    """A pod that found no node, and what is said of that."""

    pod: Pod
    message: str
    #: Where it was, if it was anywhere.
    left: str = ""
    #: The pod that it was evicted for.
    evicted_for: str = ""


@dataclass(frozen=True, slots=True)
class SettledCluster:
    """A cluster after some steps, with everybody placed who finds a place."""

    supposed: SupposedCluster
    unplaced: Mapping[str, UnplacedPod]
    #: Where pods are that were given a node just now, by key.
    moved: Mapping[str, str]

    @property
    def world(self) -> ClusterWorld:
        return self.supposed.world

    def within(self, cluster: Cluster) -> SettledCluster:
        """Return the same in a cluster that supposes more."""
        waiting = [one.pod for one in self.unplaced.values()]
        return replace(self, supposed=replace(self.supposed, cluster=cluster, world=ClusterWorld(cluster, waiting)))

    def placed(self) -> list[tuple[Pod, str]]:
        """Return all pods that have a node, with its name, in the order of their keys."""
        found = ((one.pod, one.node_name) for one in self.world.cache.pods())
        return sorted(found, key=lambda one: one[0].key)

    def nearest_misses(self, pod: Pod, top: int = 3) -> list[str]:
        """Say what would have helped a pod, as `explain` does; nothing if no profile is responsible for it."""
        if pod.spec.scheduler_name not in self.world.profiles:
            return []
        explained = self.supposed.cluster.explain(pod)
        if explained.gate is not None:
            # No node is to blame.
            return []
        return [f"{miss} ({some(miss.nodes, top)})" for miss in explained.misses[:top]]


@contextmanager
def settled(
    cluster: Cluster, steps: Sequence[SupposedStep], workloads: WorkloadPods, *, is_scheduled: bool = True
) -> Iterator[SettledCluster]:
    """Suppose steps, and have everybody scheduled who waits then; at the end, everything is as it was before."""
    with cluster.suppose() as world:
        supposed = SupposedCluster(world, ClusterWorld(world), workloads)
        supposed.waiting = {pod.key: pod for pod in world.pending}
        for step in steps:
            step.take(supposed)
        everybody = _Turns(supposed)
        if is_scheduled:
            everybody.take()
        yield SettledCluster(supposed, everybody.unplaced, everybody.moved)


@dataclass(slots=True)
class _Turns:
    """Gives everybody a turn who waits."""

    supposed: SupposedCluster
    unplaced: dict[str, UnplacedPod] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    evicted_for: dict[str, str] = field(default_factory=dict)

    def take(self) -> None:
        cluster, waiting = self.supposed.cluster, list(self.supposed.waiting.values())
        while waiting:
            ours = [pod for pod in waiting if pod.spec.scheduler_name in cluster.profiles]
            for pod in waiting:
                if pod.spec.scheduler_name not in cluster.profiles:
                    self._refused(pod, f"it is left to another scheduler, {pod.spec.scheduler_name!r}")
            cluster.add_all(ours)
            waiting = []
            for together in turns.turns(cluster, ours):
                for one in turns.take_turn(cluster, together):
                    self._note(one)
                    waiting += [again for victim in turns.victims_of(one) for again in self._evict(victim, one)]

    def _note(self, result: Result | Gated) -> None:
        if isinstance(result, Chosen):
            self.moved[result.pod.key] = result.node_name
            self.unplaced.pop(result.pod.key, None)
        else:
            self._refused(result.pod, result.message)

    def _refused(self, pod: Pod, message: str) -> None:
        key = pod.key
        self.unplaced[key] = UnplacedPod(pod, message, self.supposed.left.get(key, ""), self.evicted_for.get(key, ""))

    def _evict(self, victim: Pod, by: Result | Gated) -> list[Pod]:
        """Note that a pod is gone; return the one that is made in its place, if any is."""
        key = victim.key
        self.evicted_for[key] = by.pod.key
        self.supposed.left.setdefault(key, victim.node_name or self.moved.get(key, ""))
        self.moved.pop(key, None)
        return [take_off(self.supposed.world, victim)] if has_to_go(victim) else []

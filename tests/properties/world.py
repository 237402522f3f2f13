"""Lets things happen to clusters, and asks them about pods in a form that can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from hypothesis import strategies as st

from stowplan.app.cluster import Cluster
from stowplan.app.configuration import read_configuration
from stowplan.config.types import Configuration
from stowplan.engine.scheduling_cycle import find_feasible, rank
from stowplan.framework.contract import Filter, Narrowed, Skip
from stowplan.framework.kept.asking import ask_filter
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection, Vocabulary
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes
from tests.properties import strategies
from tests.properties.strategies import named, named_node, nominated

CONFIGURATIONS = {
    "default": "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
    "other": """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}
      - {maxSkew: 2, topologyKey: disk, whenUnsatisfiable: ScheduleAnyway}
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 7}
  - name: NodeAffinity
    args:
      addedAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 5
          preference: {matchExpressions: [{key: disk, operator: In, values: [ssd]}]}
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: cpu, weight: 2}, {name: example.com/gpu, weight: 3}]
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 10}, {utilization: 70, score: 3}]}
  - name: NodeResourcesBalancedAllocation
    args:
      resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}, {name: example.com/gpu, weight: 1}]
""",
}


@cache
def configuration(name: str) -> Configuration:
    """Read one of the configurations above."""
    return read_configuration(CONFIGURATIONS[name])


@dataclass(frozen=True)
class Setting:
    """A cluster as it stands, and how it is configured."""

    config: str
    nodes: list[Node]
    placed: list[tuple[Pod, str]]
    others: list[Any]

    def build(self) -> Cluster:
        """Make the cluster; its pods are `pod-0`, `pod-1` and so on."""
        cluster = Cluster(configuration(self.config))
        cluster.add_all([*self.nodes, *self.others])
        for number, (pod, name) in enumerate(self.placed):
            cluster.add(named(pod, f"pod-{number}", name))
        return cluster


settings = st.builds(
    Setting,
    st.sampled_from(tuple(CONFIGURATIONS)),
    strategies.clusters(),
    st.lists(st.tuples(strategies.pods, strategies.node_names), max_size=6),
    st.lists(strategies.other_objects, max_size=3),
)


# What may happen


class Event(Protocol):
    def apply(self, cluster: Cluster) -> None:
        """Let it happen to a cluster; what makes no sense there does not happen."""


@dataclass(frozen=True)
class NodeComes:
    """A node comes, comes back, or changes."""

    name: str
    template: Node

    def apply(self, cluster: Cluster) -> None:
        cluster.add(named_node(self.template, self.name))


@dataclass(frozen=True)
class NodeGoes:
    name: str

    def apply(self, cluster: Cluster) -> None:
        cluster.remove(named_node(Node(), self.name))


@dataclass(frozen=True)
class PodComes:
    """A bound pod comes, is confirmed where it was assumed or elsewhere, or changes; its node may not be there yet."""

    number: int
    template: Pod
    node_name: str

    def apply(self, cluster: Cluster) -> None:
        cluster.add(named(self.template, f"pod-{self.number}", self.node_name))


@dataclass(frozen=True)
class PodGoes:
    number: int

    def apply(self, cluster: Cluster) -> None:
        cluster.remove(named(Pod(), f"pod-{self.number}"))


@dataclass(frozen=True)
class Assumed:
    number: int
    template: Pod
    node_name: str

    def apply(self, cluster: Cluster) -> None:
        pod = named(self.template, f"pod-{self.number}")
        if cluster.placed(pod) is None:
            cluster.cache.assume(pod, self.node_name)


@dataclass(frozen=True)
class Forgotten:
    number: int

    def apply(self, cluster: Cluster) -> None:
        pod = named(Pod(), f"pod-{self.number}")
        placed = cluster.placed(pod)
        if placed is not None and placed.is_assumed:
            cluster.cache.forget(pod)


@dataclass(frozen=True)
class Nominated:
    """A pending pod waits for room on a node; a name of no node takes the nomination back."""

    number: int
    template: Pod
    node_name: str

    def apply(self, cluster: Cluster) -> None:
        pod = named(self.template, f"waiting-{self.number}", "")
        cluster.add(nominated(pod, self.node_name))


@dataclass(frozen=True)
class ObjectComes:
    found: Any

    def apply(self, cluster: Cluster) -> None:
        cluster.add(self.found)


@dataclass(frozen=True)
class ObjectGoes:
    found: Any

    def apply(self, cluster: Cluster) -> None:
        cluster.remove(self.found)


numbers = st.integers(0, 7)


def node_events(names: st.SearchStrategy[str]) -> st.SearchStrategy[Event]:
    return st.one_of(st.builds(NodeComes, names, strategies.nodes), st.builds(NodeGoes, names))


def pod_events(templates: st.SearchStrategy[Pod], names: st.SearchStrategy[str]) -> st.SearchStrategy[Event]:
    """Draw what happens to pods; all are of the templates, so that some are alike."""
    return st.one_of(
        st.builds(PodComes, numbers, templates, names),
        st.builds(PodComes, numbers, templates, names),
        st.builds(Assumed, numbers, templates, names),
        st.builds(PodGoes, numbers),
        st.builds(Forgotten, numbers),
    )


object_events: st.SearchStrategy[Event] = st.one_of(
    st.builds(ObjectComes, strategies.other_objects), st.builds(ObjectGoes, strategies.other_objects)
)


# Questions


def words(plugin: Filter, pod: Pod, nodes: Nodes, state: Any) -> list[Rejection | None]:
    """Return what a filter says about each row."""
    vocabulary = Vocabulary()
    said = ask_filter(plugin, pod, nodes, state, vocabulary)
    return [None] * len(nodes) if said is None else [vocabulary.rejections[number] for number in said.tolist()]


def filter_states(profile: Profile, pod: Pod, nodes: Nodes) -> dict[str, Any]:
    """Return what every filter is given; those that skip, or whose plugin refuses the pod, are left out."""
    answers = {plugin.name: plugin.pre_filter(pod, nodes) for plugin in profile.pre_filter}
    found = {plugin.name: answers.get(plugin.name) for plugin in profile.filter}
    states = {name: state.state if isinstance(state, Narrowed) else state for name, state in found.items()}
    return {name: state for name, state in states.items() if not isinstance(state, Skip | Rejection)}


def answer(cluster: Cluster, pod: Pod) -> dict[str, Any]:
    """Return all that a cluster says about a pod: who refuses which node, and how good the others are."""
    profile, field = cluster.profile_of(pod), cluster.field
    found = find_feasible(field, profile, pod, cluster.cache.table.shape_of(pod))
    verdict = found.verdict
    names = cluster.cache.table.names()
    said = {
        "refused": dict(verdict.rejected),
        "pre filter": verdict.pre_filter,
        "skipped": verdict.skipped,
        "narrowed": (verdict.narrowed_to, verdict.narrowed_by),
        "message": verdict.fit_error(),
        "feasible": [name for name, passes in zip(names, found.feasible.tolist(), strict=True) if passes],
        "count": found.count,
    }
    if not found.count:
        return said
    ranking = rank(field, profile, pod, found)
    feasible = found.feasible
    scores = {
        plugin: (raw[feasible].tolist(), normalized[feasible].tolist(), weight)
        for plugin, (raw, normalized, weight) in ranking.by_plugin().items()
    }
    total = ranking.total
    best = np.flatnonzero(total == total.max())
    return said | {
        "scores": scores,
        "not scored": ranking.skipped,
        "total": total.tolist(),
        "best": [names[row] for row in best.tolist()],
    }

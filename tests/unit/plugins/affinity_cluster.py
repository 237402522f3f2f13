"""Pods with affinity terms on four nodes: a1 and a2 in zone a, b1 in zone b, and "nowhere", which has no zone."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from stowplan.cache.objects import Objects
from stowplan.config.feature_gates import DEFAULT_GATES
from stowplan.framework.contract import Skip
from stowplan.framework.handle import Handle
from stowplan.framework.verdict import Rejection
from stowplan.model.affinity import Affinity, PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm
from stowplan.model.kinds import Namespace
from stowplan.model.meta import LabelSelector, NamespacedMeta, ObjectMeta
from stowplan.model.node import Node
from stowplan.model.pod import Pod, PodSpec
from stowplan.plugins.interpodaffinity.plugin import InterPodAffinity, InterPodAffinityArgs
from stowplan.table.columns import Rows
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table

ZONE, HOST = "zone", "host"
NODES = {
    "a1": {ZONE: "a", HOST: "a1"},
    "a2": {ZONE: "a", HOST: "a2"},
    "b1": {ZONE: "b", HOST: "b1"},
    "nowhere": {HOST: "nowhere"},
}

Placed = list[tuple[str, Pod]]


def selector(**labels: str) -> LabelSelector:
    return LabelSelector(match_labels=labels)


def term(key: str, labels: LabelSelector | None, **fields: Any) -> PodAffinityTerm:
    return PodAffinityTerm(topology_key=key, label_selector=labels, **fields)


def web(key: str = ZONE, **fields: Any) -> PodAffinityTerm:
    return term(key, selector(app="web"), **fields)


def weighted(weight: int, wanted: PodAffinityTerm) -> WeightedPodAffinityTerm:
    return WeightedPodAffinityTerm(weight=weight, pod_affinity_term=wanted)


def required(*terms: PodAffinityTerm) -> PodAffinity:
    return PodAffinity(required_during_scheduling_ignored_during_execution=terms)


def preferred(*terms: tuple[int, PodAffinityTerm]) -> PodAffinity:
    return PodAffinity(preferred_during_scheduling_ignored_during_execution=tuple(weighted(*one) for one in terms))


def make_pod(app: str, near: PodAffinity | None = None, away: PodAffinity | None = None, **extra: Any) -> Pod:
    metadata = NamespacedMeta(
        name=app, namespace=extra.get("namespace", "default"), labels={"app": app, **extra.get("labels", {})}
    )
    affinity = Affinity(pod_affinity=near, pod_anti_affinity=away) if near or away else None
    return Pod(metadata=metadata, spec=PodSpec(affinity=affinity))


class Cluster:
    """The four nodes with pods placed on them, and the plugin looking at it, under its arguments and `gates`."""

    def __init__(self, placed: Placed, namespaces: dict[str, dict[str, str]] | None = None, **arguments: Any) -> None:
        self.table = Table()
        for name, labels in NODES.items():
            self.table.add_node(Node(metadata=ObjectMeta(name=name, labels=labels)))
        for node, pod in placed:
            self.table.add_pod(self.table.row_of[node], self.table.shape_of(pod))
        objects = Objects(self.table.reads)
        for name, labels in (namespaces or {}).items():
            objects.put(Namespace(metadata=ObjectMeta(name=name, labels=labels)))
        gates = arguments.pop("gates", DEFAULT_GATES)
        handle = SimpleNamespace(listers=objects, feature_gates=gates)
        self.plugin = InterPodAffinity(cast("Handle", handle), InterPodAffinityArgs(**arguments))
        self.nodes = Nodes(self.table)

    def refused(self, pod: Pod, look: Callable[[], Nodes] | None = None) -> Any:
        """Return what is said about each refused node, or the answer of PreFilter if that is all."""
        state = self.plugin.pre_filter(pod, self.nodes)
        if isinstance(state, Skip | Rejection):
            return state
        nodes = look() if look else self.nodes
        said: dict[str, tuple[str, str]] = {}
        for objection in self.plugin.filter(pod, nodes, state):
            for position in np.flatnonzero(objection.mask).tolist():
                name = nodes.node(position).name
                assert name not in said, f"two reasons for {name}"
                said[name] = (objection.reason, "unresolvable" if objection.unresolvable else "resolvable")
        return said

    def scores(self, pod: Pod, look: Callable[[], Nodes] | None = None) -> Any:
        """Return the raw score of each node, or SKIP."""
        state = self.plugin.pre_score(pod, self.nodes)
        if isinstance(state, Skip):
            return state
        return self.plugin.score(pod, look() if look else self.nodes, state).tolist()

    def few(self, *names: str) -> Nodes:
        return self.nodes.take(self._rows(list(names)))

    def suppose(self, changes: dict[str, tuple[list[Pod], list[Pod]]]) -> Nodes:
        """Return nodes as they would be with some pods come and others gone."""
        shapes = [[[self.table.shape_of(pod) for pod in pods] for pods in change] for change in changes.values()]
        return self.nodes.suppose(
            self._rows(list(changes)), [added for added, _ in shapes], [gone for _, gone in shapes]
        )

    def _rows(self, names: list[str]) -> Rows:
        return np.array([self.table.row_of[name] for name in names])

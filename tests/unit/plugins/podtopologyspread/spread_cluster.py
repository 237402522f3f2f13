"""The cluster that the tests of PodTopologySpread share, and short ways to write constraints and pods.

Nodes a1 and a2 are in zone a, b1 in zone b, c1 in zone c, and "nowhere" is without a zone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from stowplan.cache.objects import Objects
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.framework.contract import Skip
from stowplan.model.affinity import TopologySpreadConstraint
from stowplan.model.kinds import Service
from stowplan.model.meta import LabelSelector, NamespacedMeta, ObjectMeta
from stowplan.model.node import Node, NodeSpec, Taint
from stowplan.model.pod import Pod, PodSpec
from stowplan.plugins.podtopologyspread.constraints import PodTopologySpreadArgs
from stowplan.plugins.podtopologyspread.plugin import (
    HOSTNAME,
    REASON,
    REASON_NO_LABEL,
    HardConstraints,
    PodTopologySpread,
    Preferences,
)
from stowplan.table.journal import Journal
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table

ZONE = "zone"
NODES = {
    "a1": {ZONE: "a", HOSTNAME: "a1"},
    "a2": {ZONE: "a", HOSTNAME: "a2"},
    "b1": {ZONE: "b", HOSTNAME: "b1"},
    "c1": {ZONE: "c", HOSTNAME: "c1"},
    "nowhere": {HOSTNAME: "nowhere"},
}
ZONED = ("a1", "a2", "b1", "c1")
WEB = LabelSelector(match_labels={"app": "web"})
EVERYBODY = LabelSelector()
DELETED = datetime(2026, 1, 1, tzinfo=UTC)


def hard(key: str = ZONE, **fields: Any) -> TopologySpreadConstraint:
    fields = {"max_skew": 1, "label_selector": WEB, "when_unsatisfiable": "DoNotSchedule", **fields}
    return TopologySpreadConstraint(topology_key=key, **fields)


def soft(key: str = ZONE, **fields: Any) -> TopologySpreadConstraint:
    return hard(key, when_unsatisfiable="ScheduleAnyway", **fields)


def make_pod(*constraints: TopologySpreadConstraint, app: str = "web", **extra: Any) -> Pod:
    metadata = NamespacedMeta(
        name=app,
        namespace=extra.get("namespace", "default"),
        labels={"app": app, **extra.get("labels", {})},
        deletion_timestamp=extra.get("deleted"),
        owner_references=extra.get("owners", ()),
    )
    spec = PodSpec(topology_spread_constraints=constraints, node_selector=extra.get("node_selector", {}))
    return Pod(metadata=metadata, spec=spec)


@dataclass
class Handle:
    listers: Objects
    feature_gates: FeatureGates = DEFAULT_GATES


@dataclass
class Cluster:
    """Nodes with pods on them, as the plugin sees them."""

    pods: dict[str, list[Pod]]
    labels: dict[str, dict[str, str]] = field(default_factory=lambda: NODES)
    tainted: Sequence[str] = ()
    arguments: dict[str, Any] = field(default_factory=dict)
    services: Sequence[Service] = ()

    def __post_init__(self) -> None:
        self.table = Table()
        objects = Objects(self.table.reads)
        for service in self.services:
            objects.put(service)
        self.plugin = PodTopologySpread(Handle(objects), PodTopologySpreadArgs(**self.arguments))
        for name, labels in self.labels.items():
            taints = (Taint(key="gpu", effect="NoSchedule"),) if name in self.tainted else ()
            row = self.table.add_node(Node(metadata=ObjectMeta(name=name, labels=labels), spec=NodeSpec(taints=taints)))
            for pod in self.pods.get(name, ()):
                self.table.add_pod(row, self.table.shape_of(pod))
        self.nodes = Nodes(self.table)

    def domains(self, pod: Pod) -> HardConstraints:
        """Prepare to filter."""
        state = self.plugin.pre_filter(pod, self.nodes)
        assert not isinstance(state, Skip)
        return state

    def preferences(self, pod: Pod, feasible: Sequence[str] = tuple(NODES)) -> Preferences:
        """Prepare to score, once these nodes have passed the filters."""
        self.pass_filters(feasible)
        state = self.plugin.pre_score(pod, self.nodes)
        assert not isinstance(state, Skip)
        return state

    def pass_filters(self, feasible: Sequence[str]) -> None:
        self.nodes.feasible_rows = np.array([name in feasible for name in self.labels])
        self.nodes.feasible_journal = Journal()

    def rejected(self, pod: Pod) -> dict[str, str]:
        """Filter and return the reason for each rejected node."""
        return self._reasons(pod, self.nodes, list(self.labels))

    def rejected_if(self, pod: Pod, node: str, added: Sequence[Pod] = (), removed: Sequence[Pod] = ()) -> str | None:
        """Filter one node as it would be with some pods more and some fewer, and return the reason."""
        shapes = [[self.table.shape_of(other) for other in pods] for pods in (added, removed)]
        rows = np.array([self.table.row_of[node]])
        supposed = self.nodes.suppose(rows, [shapes[0]], [shapes[1]])
        return self._reasons(pod, supposed, [node]).get(node)

    def scores(self, pod: Pod, feasible: Sequence[str] = tuple(NODES)) -> dict[str, tuple[int, int]]:
        """Score the feasible nodes and return the raw and the normalised score of each."""
        state = self.preferences(pod, feasible)
        raw = self.plugin.score(pod, self.nodes, state)
        seen = raw[self.nodes.feasible]
        normalised = self.plugin.normalize(raw, int(seen.min()), int(seen.max()), state)
        pairs = zip(self.labels, zip(raw.tolist(), normalised.tolist(), strict=True), strict=True)
        return {name: pair for name, pair in pairs if name in feasible}

    def _reasons(self, pod: Pod, nodes: Nodes, names: list[str]) -> dict[str, str]:
        reasons: dict[str, str] = {}
        for objection in self.plugin.filter(pod, nodes, self.domains(pod)):
            assert objection.unresolvable is (objection.reason == REASON_NO_LABEL)
            for position in np.flatnonzero(objection.mask).tolist():
                assert names[position] not in reasons
                reasons[names[position]] = objection.reason
        return reasons


def spread(a1: int = 0, a2: int = 0, b1: int = 0, c1: int = 0, **extra: Any) -> dict[str, list[Pod]]:
    """Put so many web pods on each node."""
    counts = {"a1": a1, "a2": a2, "b1": b1, "c1": c1}
    return {name: [make_pod(**extra)] * count for name, count in counts.items()}


def full(*names: str) -> dict[str, str]:
    return {**dict.fromkeys(names, REASON), "nowhere": REASON_NO_LABEL}

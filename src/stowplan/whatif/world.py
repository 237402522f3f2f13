"""What questions need of a cluster; `app.cluster.Cluster` is one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from stowplan.cache.cache import Cache
from stowplan.config.feature_gates import FeatureGates
from stowplan.engine.failure import Refused
from stowplan.framework.contract import Preemption
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Verdict
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.observe.explanation import Explanation


class QuestionError(ValueError):
    """A question that cannot be answered; the text names what it is about and what to do."""


class TriedPod(Protocol):
    """What became of a pod: a node, or a message."""

    @property
    def pod(self) -> Pod: ...

    @property
    def node_name(self) -> str | None: ...


class World(Protocol):
    """A cluster of which anything may be supposed."""

    cache: Cache
    feature_gates: FeatureGates
    profiles: Mapping[str, Profile]
    #: The pods that look for a node already, the first that came first.
    waiting: Sequence[Pod]

    @property
    def not_taking_part(self) -> tuple[str, ...]: ...

    @property
    def has_extenders(self) -> bool: ...

    @property
    def has_nominations(self) -> bool: ...

    def suppose(self) -> AbstractContextManager[World]: ...

    def add(self, found: Any) -> None: ...

    def add_all(self, objects: Iterable[Any]) -> None: ...

    def remove(self, found: Any) -> None: ...

    def profile_of(self, pod: Pod) -> Profile: ...

    def verdict(self, pod: Pod) -> Verdict: ...

    def try_all(self, pods: Sequence[Pod]) -> Sequence[TriedPod]:
        """Place pods in the order of the queue, groups together, evicting nobody; answer in the order given."""

    def explain(self, pod: Pod) -> Explanation: ...

    def candidates(self, pod: Pod) -> tuple[Refused, Sequence[Preemption], str] | None:
        """Return why a pod is refused, where room could be made, best first, and what is said; None if it fits."""


def node_of(world: World, name: str) -> Node:
    """Return a node by name."""
    row = world.cache.table.row_of.get(name)
    if row is None:
        raise QuestionError(f"node {name!r} is not in the cluster; name one of the {len(world.cache.table)} that are")
    return world.cache.table.nodes[row]


def pod_of(world: World, key: str) -> Pod:
    """Return a placed pod by NAMESPACE/NAME."""
    for placed in world.cache.pods():
        if placed.pod.key == key:
            return placed.pod
    raise QuestionError(f"pod {key!r} has no node in the cluster; write NAMESPACE/NAME of one that has")

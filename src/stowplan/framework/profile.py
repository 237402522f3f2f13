"""A profile: the plugins of one scheduler name, in order, at every extension point.

Built by `framework.registry` from the configuration; `filtering` and `ranking` walk it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from stowplan.framework.contract import (
    Bind,
    Filter,
    Plugin,
    PostFilter,
    PreEnqueue,
    PreFilter,
    PreScore,
    QueueSort,
    Score,
)
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod


@dataclass(frozen=True, slots=True)
class Profile:
    """Immutable; what an attempt needs to know about who is to be asked."""

    name: str
    pre_enqueue: tuple[PreEnqueue, ...] = ()
    queue_sort: tuple[QueueSort, ...] = ()
    pre_filter: tuple[PreFilter, ...] = ()
    filter: tuple[Filter, ...] = ()
    post_filter: tuple[PostFilter, ...] = ()
    pre_score: tuple[PreScore, ...] = ()
    score: tuple[tuple[Score, int], ...] = ()
    bind: tuple[Bind, ...] = ()
    percentage_of_nodes_to_score: int | None = None
    #: Plugins that may read more of a pod than its signature holds, so `sign` and the annotations are part of the key.
    foreign: tuple[Plugin, ...] = ()

    @property
    def foreign_names(self) -> frozenset[str]:
        return frozenset(plugin.name for plugin in self.foreign)

    def run_pre_enqueue(self, pod: Pod) -> Rejection | None:
        """Return the first refusal to let `pod` into the queue."""
        for plugin in self.pre_enqueue:
            rejection = plugin.pre_enqueue(pod)
            if rejection is not None:
                return Rejection(rejection.reasons, rejection.code, plugin.name)
        return None

    def sign(self, pod: Pod) -> Hashable:
        """Return what tells two pods of one shape apart for this profile."""
        if not self.foreign:
            return pod.spec.node_name
        annotations = tuple(sorted(pod.metadata.annotations.items()))
        return pod.spec.node_name, annotations, tuple(plugin.sign(pod) for plugin in self.foreign)

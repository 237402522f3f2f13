"""What plugins are handed: the scheduler's side of `framework/handle.py`, over the parts that a `Cluster` owns.

A live scheduler gives it a writer. Without one, what plugins write is done in the cache itself: nobody else has a copy
of the cluster then.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from stowplan.cache.cache import Cache
from stowplan.config.feature_gates import FeatureGates
from stowplan.engine.background_tasks import ClusterChanges
from stowplan.engine.ports import ExtenderSaid, Note, Writer
from stowplan.engine.post_filter import Evictions
from stowplan.framework.extender import Extender
from stowplan.framework.handle import Binder, Measures, ObjectWriter, Unmeasured
from stowplan.framework.plugin_faults import Stopwatch
from stowplan.framework.waiting_pods import WaitingPods
from stowplan.model.decode import patched
from stowplan.model.kinds import Binding
from stowplan.model.pod import Pod
from stowplan.plugins.dynamicresources.claim_tracker import ClaimTracker
from stowplan.queue.nominations import Nominations
from stowplan.table.nodes import Nodes


class PluginHandle:
    """The handle of every plugin of every profile of one cluster; `framework/handle.py` says what each part is for."""

    def __init__(self, cache: Cache, feature_gates: FeatureGates, draw: Callable[[int], int]) -> None:
        self.cache, self.feature_gates = cache, feature_gates
        #: Where a search for victims starts; drawn apart from ties, so that neither disturbs the other.
        self.draw = draw
        self.listers = self.assumptions = cache.objects
        self.pods, self.groups = cache, cache.groups
        self.nominations, self.waiting_pods = Nominations(), WaitingPods()
        self.evictions = Evictions(
            cache,
            self.waiting_pods,
            activates_preemptor=feature_gates.changed("TurnedBackVictimActivates"),
            are_beside_loop=feature_gates.enabled("SchedulerAsyncPreemption"),
        )
        #: Measures the plugins of all profiles; runs when a scheduler is put together.
        self.stopwatch = Stopwatch()
        #: Told when changes were applied.
        self.cluster_changes = ClusterChanges()
        #: The resource claims on their way to the cluster, where there is somebody to write to.
        self.claims = ClaimTracker(
            cache.objects, cache.table.reads, feature_gates, cache.groups, lambda: self.writer is not None
        )
        self.measures: Measures = Unmeasured()
        #: What plugins write to; without one, what they write is done here.
        self.writer: Writer | None = None
        self.binder: Binder = CacheWriter(cache)
        self.extenders: tuple[Extender, ...] = ()
        self._is_proposing = False

    @property
    def writes(self) -> ObjectWriter:
        """Where plugins write what is no pod."""
        return self.writer.object_writer if self.writer is not None else CacheWriter(self.cache)

    def now_ns(self) -> int:
        """Return the time by the scheduler's clock; 0 as long as there is none."""
        return self.stopwatch.now_ns()

    def monotonic_ns(self) -> int:
        """Return the time by which answers that may take too long are cut short, whatever clock events follow."""
        return time.monotonic_ns()

    def recount(self, pod: Pod) -> None:
        """Count a pod that was just given a node there by another version of it."""
        self.cache.update_assumed(pod)

    @contextmanager
    def proposing(self) -> Iterator[None]:
        """Have those who make room tell of all candidates, as they do where extenders have to agree."""
        before, self._is_proposing = self._is_proposing, True
        try:
            yield
        finally:
            self._is_proposing = before

    @contextmanager
    def supposing(self, draw: Callable[[int], int]) -> Iterator[None]:
        """Have nothing that plugins do meanwhile be written, measured or drawn for good."""
        before = self.writer, self.binder, self.measures, self.draw
        self.writer, self.binder, self.measures, self.draw = None, CacheWriter(self.cache), Unmeasured(), draw
        try:
            with self.stopwatch.unnoted():
                yield
        finally:
            self.writer, self.binder, self.measures, self.draw = before

    def asks_before_preempting(self, pod: Pod) -> bool:
        """Say whether somebody wants to know of all candidates before room is made for `pod`, such as an extender."""
        return self._is_proposing or any(
            extender.is_preemptor and extender.is_interested(pod) for extender in self.extenders
        )

    def row_of(self, node_name: str) -> Nodes:
        """Return a node as filters are given it, or no row."""
        nodes = Nodes(self.cache.table)
        return nodes.take(np.flatnonzero(nodes.with_names(frozenset((node_name,)))))

    def is_placed(self, pod: Pod) -> bool:
        """Say whether a pod counts on a node."""
        return self.cache.placed(pod) is not None

    def report_once(self, text: str) -> None:
        """Have the log tell what a plugin takes for granted."""
        self.stopwatch.tell_once(text)

    def announce(self, pod: Pod, reason: str, text: str) -> None:
        """Record an event about a pod that plugins prepare for; without somebody to write to, nobody reads it."""
        if self.writer is not None:
            self.writer.record(Note(pod, "Normal", reason, "Scheduling", text))


@dataclass(frozen=True, slots=True)
class CacheWriter:
    """Binds assumed pods, and changes other objects, in the cache at once; a `Binder` and an `ObjectWriter`."""

    cache: Cache

    async def bind(self, binding: Binding) -> None:
        for placed in self.cache.pods_on(binding.target.name):
            if placed.pod.key == f"{binding.metadata.namespace}/{binding.metadata.name}":
                spec = msgspec.structs.replace(placed.pod.spec, node_name=binding.target.name)
                self.cache.add_pod(msgspec.structs.replace(placed.pod, spec=spec))
                return
        raise LookupError(f"pod {binding.metadata.name!r} is not assumed on node {binding.target.name!r}")

    async def patch(self, found: Any, patch: Mapping[str, Any], subresource: str = "") -> Any:
        meta = found.metadata
        self.cache.objects.restore(found.kind, meta.namespace, meta.name)
        known = self.cache.objects.get(type(found), meta.namespace, meta.name)
        if known is None:
            raise LookupError(f"{found.kind} {meta.name!r} is gone; nothing can be changed about it")
        changed = patched(known, patch)
        self.cache.objects.put(changed)
        return changed

    async def create(self, found: Any) -> Any:
        self.cache.objects.put(found)
        return found

    async def delete(self, found: Any) -> None:
        self.cache.objects.remove(found.kind, found.metadata.namespace, found.metadata.name)


def warn_if_ignored(said: ExtenderSaid) -> None:
    """Warn of an extender that failed and was done without; other failures are in the result."""
    if said.is_ignored:
        warnings.warn(f"pod {said.pod.key!r}: extender ignored in {said.verb}: {said.text}", stacklevel=2)

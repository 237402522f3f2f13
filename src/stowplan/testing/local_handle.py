"""A handle for plugins under test: listers over the objects you put there, and a binder that remembers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from stowplan.cache.groups import Groups
from stowplan.cache.objects import Objects
from stowplan.config.feature_gates import DEFAULT_GATES
from stowplan.framework.waiting_pods import WaitingPods
from stowplan.model.decode import patched
from stowplan.model.kinds import Binding
from stowplan.model.meta import ApiObject
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.pod_group import CommunityPodGroup, CompositePodGroup, GroupKey, PodGroup
from stowplan.plugins.dynamicresources.claim_tracker import ClaimTracker
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table


class LocalHandle:
    """Hand this to a plugin that takes a `handle`; `put` objects for its listers, look at `bindings` afterwards."""

    def __init__(self, *objects: ApiObject) -> None:
        self.table = Table()
        self.listers: Objects = Objects(self.table.reads)
        self.groups = Groups()
        self.waiting_pods = WaitingPods()
        self.bindings: list[Binding] = []
        #: What was written that is no pod, as `("patch", "PersistentVolume/disk")`.
        self.written: list[tuple[str, str]] = []
        #: What pods were said to wait for: reason and text.
        self.announced: list[tuple[str, str]] = []
        #: What plugins took for granted, each text once.
        self.reported: list[str] = []
        #: Pods as they were to be counted on their nodes.
        self.recounted: list[Pod] = []
        #: What plugins counted and timed: the name of the metric and its labels, and the seconds of what was timed.
        self.counted: list[tuple[str, ...]] = []
        self.timed: list[tuple[str, float, tuple[str, ...]]] = []
        #: What time it is; nothing but you moves the clock.
        self.time_ns = 0
        #: Called for the time while an answer is looked for: by default, that takes none.
        self.monotonic_ns: Callable[[], int] = lambda: self.time_ns
        #: Set other gates before the plugin is made: `feature_gates.parse("A=true")`.
        self.feature_gates = DEFAULT_GATES
        # All that a handle leads to is here.
        self.assumptions = self.listers
        self.binder = self.writes = self.evictions = self.cluster_changes = self.measures = self
        self.put(*objects)

    def put(self, *objects: ApiObject) -> None:
        """Let the listers know objects, or new versions of them."""
        for found in objects:
            match found:
                case Node():
                    self.table.add_node(found)
                case Pod():
                    self.groups.put_pod(found)
                    if found.node_name:
                        self.groups.seat(found, found.node_name)
                case PodGroup() | CompositePodGroup() | CommunityPodGroup():
                    self.groups.put(found)
                case _:
                    self.listers.put(found)

    def recount(self, pod: Pod) -> None:
        self.recounted.append(pod)

    def is_underway(self, pod: Pod) -> bool:
        """Say whether room is being made for a pod: never here."""
        return False

    def is_underway_for(self, key: GroupKey) -> bool:
        """Say whether room is being made for a pod group: never here."""
        return False

    async def bind(self, binding: Binding) -> None:
        self.bindings.append(binding)

    # What plugins prepare before a pod is bound

    def row_of(self, node_name: str) -> Nodes:
        """Return a node that was put here, or no row."""
        nodes = Nodes(self.table)
        return nodes.take(np.flatnonzero(nodes.with_names(frozenset((node_name,)))))

    @cached_property
    def claims(self) -> ClaimTracker:
        return ClaimTracker(self.listers, self.table.reads, self.feature_gates, self.groups)

    def now_ns(self) -> int:
        return self.time_ns

    def report_once(self, text: str) -> None:
        """Note what a plugin takes for granted."""
        if text not in self.reported:
            self.reported.append(text)

    def announce(self, pod: Pod, reason: str, text: str) -> None:
        self.announced.append((reason, text))

    def count(self, name: str, *labels: str) -> None:
        self.counted.append((name, *labels))

    def time(self, name: str, seconds: float, *labels: str) -> None:
        self.timed.append((name, seconds, labels))

    def is_placed(self, pod: Pod) -> bool:
        """Say whether a pod counts on its node: nobody deletes one here."""
        return True

    async def patch(self, found: Any, patch: Mapping[str, Any], subresource: str = "") -> Any:
        """Change an object at once."""
        meta = found.metadata
        self.written.append(("patch", f"{found.kind}/{meta.name}"))
        self.listers.restore(found.kind, meta.namespace, meta.name)
        changed = patched(self.listers.get(type(found), meta.namespace, meta.name) or found, patch)
        self.listers.put(changed)
        return changed

    async def create(self, found: Any) -> Any:
        """Add an object at once; one without a name is given one."""
        meta = found.metadata
        if not meta.name:
            meta = msgspec.structs.replace(meta, name=f"{meta.generate_name}1", uid=f"uid-{meta.generate_name}1")
            found = msgspec.structs.replace(found, metadata=meta)
        self.written.append(("create", f"{found.kind}/{meta.name}"))
        self.listers.put(found)
        return found

    async def delete(self, found: Any) -> None:
        self.written.append(("delete", f"{found.kind}/{found.metadata.name}"))
        self.listers.remove(found.kind, found.metadata.namespace, found.metadata.name)

    async def until(self, holds: Callable[[], bool], timeout_seconds: float) -> bool:
        """Say whether it holds: nothing happens here by waiting."""
        return holds()

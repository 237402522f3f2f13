"""Who is evicted as one: a pod, or all pods of a group that says `disruptionMode: all`, wherever they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from stowplan.framework.handle import GroupLister, PlacedPod, PlacedPods
from stowplan.framework.pod_groups import scheduled_in
from stowplan.model.pod import Pod, pod_id, started
from stowplan.model.pod_group import MAX_TREE_DEPTH, GroupKey, OwnGroup, own_group

# How much it matters what somebody is, among those of one priority.
POD, GROUP, TREE = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Unit:
    """Pods that go together or not at all; a single pod of a group counts as a group, too."""

    pods: tuple[PlacedPod, ...]
    priority: int
    rank: int = POD

    @property
    def importance(self) -> tuple[int, int, int, datetime]:
        """The most important has the smallest key: priority, then what it is, how many pods, and since when."""
        return -self.priority, -self.rank, -len(self.pods), min(started(placed.pod) for placed in self.pods)


class UnknownNodeError(Exception):
    """A unit has a pod on a node that is not there."""


class Units:
    """Finds the units of pods; with `has_trees`, those of groups of groups, too."""

    def __init__(self, pods: PlacedPods, groups: GroupLister, *, has_trees: bool) -> None:
        self._pods, self._groups, self._has_trees = pods, groups, has_trees

    def of(self, placed: Iterable[PlacedPod]) -> list[Unit]:
        """Return the units that pods are in, each once; raise UnknownNodeError if one reaches to an unknown node."""
        found: dict[str, Unit] = {}
        for one in placed:
            whole = self._whole(one.pod)
            identity = pod_id(one.pod) if whole is None else str(whole.group_key)
            if identity not in found:
                found[identity] = self._single(one) if whole is None else self._together(whole, one)
        for unit in found.values():
            self._check_nodes(unit)
        return list(found.values())

    def priority_of(self, pod: Pod) -> int:
        """Return the priority that counts: that of the root of the pod's group, if it has one."""
        groups = list(self._upwards(own_group(pod)))
        return groups[-1].spec.priority if groups else pod.spec.priority

    def _single(self, placed: PlacedPod) -> Unit:
        rank = GROUP if own_group(placed.pod) is not None else POD
        return Unit((placed,), self.priority_of(placed.pod), rank)

    def _together(self, group: OwnGroup, placed: PlacedPod) -> Unit:
        scheduled = (self._pods.placed(pod) for pod in scheduled_in(self._groups, group.group_key).pods)
        pods = tuple(one for one in scheduled if one is not None)
        rank = TREE if group.group_key.is_composite else GROUP
        return Unit(pods or (placed,), self.priority_of(placed.pod), rank)

    def _whole(self, pod: Pod) -> OwnGroup | None:
        """Return the highest group that a pod is in and that goes as a whole."""
        whole = [group for group in self._upwards(own_group(pod)) if group.spec.is_disrupted_as_a_whole]
        return whole[-1] if whole else None

    def _upwards(self, key: GroupKey | None) -> Iterator[OwnGroup]:
        """Go from a group to the root of its tree, as far as it is known, and as deep as a tree may be."""
        seen: set[GroupKey] = set()
        while key is not None and key not in seen and len(seen) < MAX_TREE_DEPTH:
            seen.add(key)
            group = self._groups.get(key)
            if not isinstance(group, OwnGroup):
                return
            yield group
            key = group.parent_key if self._has_trees else None

    def _check_nodes(self, unit: Unit) -> None:
        for one in unit.pods:
            if not self._pods.has_node(one.node_name):
                name = one.node_name
                why = f'nodeinfo not found for node name "{name}"'
                raise UnknownNodeError(f'failed to get node info for node "{name}" from snapshot: {why}')

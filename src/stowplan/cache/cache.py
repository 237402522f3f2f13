"""The owner of nodes and placed pods: what the scheduler believes about the cluster right now.

    (unknown) --assume--> assumed --add_pod--> confirmed --remove_pod--> (unknown)
        |                    |                     ^
        |                 forget                   | add_pod
        |                    v                     |
        +-----add_pod--> confirmed             confirmed

A pod may come before its node: it waits under the node's name and is counted in the table when the node arrives. Only
the methods here change the table, and only between two scheduling cycles. While something is supposed (`suppose`), each
of them notes how it is taken back; `table/undo.py` has the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import msgspec

from stowplan.cache.groups import Groups
from stowplan.cache.objects import Objects
from stowplan.model import requests
from stowplan.model.node import Node
from stowplan.model.pod import Pod, importance, pod_id
from stowplan.table.shape import PodShape
from stowplan.table.table import Table
from stowplan.table.undo import UndoLog


class CacheError(Exception):
    """A caller asked for a transition that does not exist; the text names the pod and its state."""


class CachedPod(msgspec.Struct):
    """A pod on a node, confirmed by the cluster or assumed by us."""

    pod: Pod
    shape: PodShape
    node_name: str
    is_assumed: bool


class Cache:
    """Nodes, placed pods, and the other objects that plugins list."""

    def __init__(self, rules: requests.RequestRules = requests.USUAL) -> None:
        self.table = Table(rules)
        self.objects = Objects(self.table.reads)
        self.groups = Groups()
        self._placed: dict[str, CachedPod] = {}
        self._on_node: dict[str, dict[str, CachedPod]] = {}
        # By node, as far as anybody has asked since the pods of the node changed.
        self._by_importance: dict[str, tuple[CachedPod, ...]] = {}
        #: What takes back everything that is supposed; None if nothing is.
        self.undo: UndoLog | None = None

    @contextmanager
    def suppose(self) -> Iterator[UndoLog]:
        """Take back, at the end, whatever is changed meanwhile. One supposition may be made within another."""
        outer = self.undo
        undo = outer if outer is not None else UndoLog()
        self._note_changes(undo)
        begin, tree = undo.position, self.table.tree.saved()
        try:
            yield undo
        finally:
            try:
                undo.roll_back(begin)
            finally:
                self.table.put_back_order(tree)
                self._note_changes(outer)

    def _note_changes(self, undo: UndoLog | None) -> None:
        self.undo = self.objects.undo = self.groups.undo = undo

    # Nodes

    def add_node(self, node: Node) -> None:
        """Take in a node, or an update of one; pods that were waiting for it are counted."""
        name = node.metadata.name
        if name in self.table.row_of:
            if self.undo is not None:
                self._note_node(self.table.update_node, name)
            self.table.update_node(node)
            return
        row = self.table.add_node(node)
        if self.undo is not None:
            self.undo.add(self.remove_node, name)
        for placed in self._on_node.get(name, {}).values():
            self.table.add_pod(row, placed.shape)

    def remove_node(self, name: str) -> None:
        """Drop a node; its pods stay known until they are removed themselves."""
        row = self.table.row_of.get(name)
        if row is None:
            return
        if self.undo is not None:
            self._note_node(self._restore_node, name)
        for placed in self._on_node.get(name, {}).values():
            self.table.remove_pod(row, placed.shape)
        self.table.remove_node(name)

    def _note_node(self, back: Callable[..., None], name: str) -> None:
        """Note how a node is put back that is about to change or to go: as it is, with its turn among the others."""
        if self.undo is None:
            return
        row, table = self.table.row_of[name], self.table
        node = table.nodes[row]
        self.undo.add(table.images.restore_sizes, table.images.sizes_of(node))
        self.undo.add(table.put_back_order, table.tree.saved())
        self.undo.add(back, node, *(() if back == table.update_node else (row,)))

    def _restore_node(self, node: Node, row: int) -> None:
        self.table.restore_node(node, row)
        for placed in self._on_node.get(node.metadata.name, {}).values():
            self.table.add_pod(row, placed.shape)

    # Pods

    def assume(self, pod: Pod, node_name: str, shape: PodShape | None = None) -> None:
        """Count a pod on the node that was chosen for it, before the cluster has confirmed it."""
        if pod_id(pod) in self._placed:
            raise CacheError(f"pod {pod.key!r} is placed already, on node {self._placed[pod_id(pod)].node_name!r}")
        shape = shape if shape is not None else self.table.shape_of(pod)
        self._place(CachedPod(pod, shape, node_name, is_assumed=True))

    def update_assumed(self, pod: Pod) -> None:
        """Take in a new version of a pod that is assumed; nothing happens if it is not."""
        placed = self._placed.get(pod_id(pod))
        if placed is None or not placed.is_assumed:
            return
        shape = self.table.shape_of(pod)
        if shape is placed.shape:
            if self.undo is not None:
                self.undo.add(self._set, placed, placed.pod, placed.is_assumed)
            placed.pod = pod
            return
        self._replace(placed, CachedPod(pod, shape, placed.node_name, is_assumed=True))

    def forget(self, pod: Pod) -> None:
        """Take back `assume`."""
        placed = self._placed.get(pod_id(pod))
        if placed is None or not placed.is_assumed:
            state = "is not placed" if placed is None else "is confirmed by the cluster"
            raise CacheError(f"pod {pod.key!r} cannot be forgotten: it {state}")
        self._unplace(placed)

    def add_pod(self, pod: Pod) -> None:
        """Take in a bound pod: confirm it if it was assumed, correct it if it went elsewhere, replace it if known."""
        known = self._placed.get(pod_id(pod))
        shape = self.table.shape_of(pod)
        if known is None:
            self._place(CachedPod(pod, shape, pod.spec.node_name, is_assumed=False))
        elif known.shape is shape and _is_in_place(known, pod):
            if self.undo is not None:
                self._note_order(known)
                self.undo.add(self._set, known, known.pod, known.is_assumed)
            known.pod, known.is_assumed = pod, False
            if pod.spec.scheduling_group is not None:
                self.groups.seat(pod, known.node_name)
            self._by_importance.pop(known.node_name, None)
        else:
            self._replace(known, CachedPod(pod, shape, pod.spec.node_name, is_assumed=False))

    def remove_pod(self, pod: Pod) -> None:
        """Drop a pod, assumed or confirmed; nothing happens if it is not known."""
        known = self._placed.get(pod_id(pod))
        if known is not None:
            self._unplace(known)

    def suspend(self, pod: Pod) -> None:
        """Suppose for a while that a placed pod is not there; nothing else may move the table before `resume`."""
        placed = self._placed[pod_id(pod)]
        row = self.table.row_of.get(placed.node_name)
        if row is not None:
            self.table.remove_pod(row, placed.shape)

    def resume(self, pod: Pod) -> None:
        """Take back `suspend`."""
        placed = self._placed[pod_id(pod)]
        row = self.table.row_of.get(placed.node_name)
        if row is not None:
            self.table.add_pod(row, placed.shape)

    def placed(self, pod: Pod) -> CachedPod | None:
        """Return where a pod is, None if it is not placed."""
        return self._placed.get(pod_id(pod))

    def pods_on(self, node_name: str) -> Iterable[CachedPod]:
        """Return the pods of a node, known to the cluster or not yet."""
        return self._on_node.get(node_name, {}).values()

    def by_importance(self, node_name: str) -> tuple[CachedPod, ...]:
        """Return the pods of a node, the most important first."""
        found = self._by_importance.get(node_name)
        if found is None:
            found = tuple(sorted(self.pods_on(node_name), key=lambda placed: importance(placed.pod)))
            self._by_importance[node_name] = found
        return found

    def all_by_importance(self, node_names: Iterable[str]) -> list[tuple[CachedPod, ...]]:
        """Return the pods of several nodes, the most important of each node first; the same as long as none changes."""
        known = self._by_importance
        return [known[name] if name in known else self.by_importance(name) for name in node_names]

    def pods(self) -> Iterable[CachedPod]:
        return self._placed.values()

    def has_node(self, name: str) -> bool:
        """Say whether a node is known; pods may be on one that is not, or not yet."""
        return name in self.table.row_of

    def _set(self, placed: CachedPod, pod: Pod, is_assumed: bool) -> None:
        """Take back that a pod was confirmed, or changed where it stands."""
        placed.pod, placed.is_assumed = pod, is_assumed
        self._by_importance.pop(placed.node_name, None)

    def _place(self, placed: CachedPod) -> None:
        if self.undo is not None:
            self.undo.add(self._unplace, placed)
        self._enter(placed)
        row = self.table.row_of.get(placed.node_name)
        if row is not None:
            self.table.add_pod(row, placed.shape)

    def _unplace(self, placed: CachedPod) -> None:
        if self.undo is not None:
            self._note_order(placed)
            self.undo.add(self._place, placed)
        self._leave(placed)
        row = self.table.row_of.get(placed.node_name)
        if row is not None:
            self.table.remove_pod(row, placed.shape)

    def _replace(self, old: CachedPod, new: CachedPod) -> None:
        """Put another version of a pod into its place, which may be on another node."""
        if old.node_name != new.node_name:
            self._unplace(old)
            self._place(new)
            return
        if self.undo is not None:
            self._note_order(old)
            self.undo.add(self._replace, new, old)
        self._leave(old)
        self._enter(new)
        row = self.table.row_of.get(new.node_name)
        if row is not None:
            self.table.reshape_pod(row, old.shape, new.shape)

    def _note_order(self, placed: CachedPod) -> None:
        """Note the turn of a pod among those of its node, and of its group: one that comes back would be the last."""
        if self.undo is not None:
            self.undo.keep(self._on_node, placed.node_name)
            if placed.pod.spec.scheduling_group is not None:
                self.groups.note_seats(placed.pod)

    def _enter(self, placed: CachedPod) -> None:
        identity = pod_id(placed.pod)
        self._placed[identity] = placed
        if placed.pod.spec.scheduling_group is not None:
            self.groups.seat(placed.pod, placed.node_name)
        self._on_node.setdefault(placed.node_name, {})[identity] = placed
        self._by_importance.pop(placed.node_name, None)

    def _leave(self, placed: CachedPod) -> None:
        identity = pod_id(placed.pod)
        del self._placed[identity]
        if placed.pod.spec.scheduling_group is not None:
            self.groups.unseat(placed.pod)
        neighbours = self._on_node[placed.node_name]
        del neighbours[identity]
        self._by_importance.pop(placed.node_name, None)
        if not neighbours:
            del self._on_node[placed.node_name]


def _is_in_place(known: CachedPod, pod: Pod) -> bool:
    """Say whether a version of a pod counts where the one that is known does: on its node, and in its group."""
    before = known.pod.spec
    return known.node_name == pod.spec.node_name and before.scheduling_group == pod.spec.scheduling_group

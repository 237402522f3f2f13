"""A queue under test: plugins that await what a test says, a gate that is open or shut, time in seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from stowplan.framework import changes
from stowplan.framework.changes import Action, ObjectChange
from stowplan.framework.contract import Awaited
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.plugins.queuesort import PrioritySort
from stowplan.queue.entry import Place, QueuedPod
from stowplan.queue.places import SECOND, QueueLimits, QueueRules
from stowplan.queue.queue import SchedulingQueue
from stowplan.queue.validate import contents, validate_queue
from stowplan.testing import make_node, make_pod

NODE_ADDED = ObjectChange(changes.NODE_ADD, None, make_node("new").build())

#: Who awaits what: `Roomy` any new node, `Picky` none that comes, `Gate` the pod's own labels, `Naming` a node of its
#: name.
AWAITED: dict[str, tuple[Awaited, ...]] = {
    "Roomy": (Awaited(changes.NODE, Action.ADD),),
    "Picky": (Awaited(changes.NODE, Action.ADD, lambda pod, old, new: False),),
    "Broken": (Awaited(changes.NODE, Action.ADD, lambda pod, old, new: bool(1 // 0)),),
    "Gate": (Awaited(changes.POD, Action.UPDATE_POD_LABEL, lambda pod, old, new: changes.is_same(pod, new)),),
    "Naming": (Awaited(changes.NODE, Action.ADD, None, lambda old, new: named_after(new)),),
}


def named_after(node: Node) -> Callable[[Pod], bool] | None:
    """Return a test for the pod that has the name of a node; a node `everybody` may be for all."""
    return None if node.name == "everybody" else lambda pod: pod.name == node.name


class WaitingRoom:
    """A queue, asked and looked at by the names of pods; every step checks its invariants."""

    def __init__(self, limits: QueueLimits | None = None) -> None:
        self.shut: set[str] = set()
        rules = QueueRules(self._gate, PrioritySort().sort_key)
        self.queue = SchedulingQueue(rules, {"default-scheduler": AWAITED}, limits)
        self.taken: dict[str, QueuedPod] = {}

    def add(self, pod: Pod, at: float = 0) -> None:
        self._step(lambda: self.queue.add(pod, ns(at)))

    def update(self, old: Pod, new: Pod, at: float = 0) -> None:
        self._step(lambda: self.queue.update(old, new, ns(at)))

    def delete(self, pod: Pod) -> None:
        self._step(lambda: self.queue.delete(pod, ns(0)))

    def pop(self, at: float = 0) -> str | None:
        entry = self.queue.try_pop(ns(at))
        validate_queue(self.queue)
        if entry is None:
            return None
        self.taken[entry.pod.name] = entry
        return entry.pod.name

    def give_back(self, name: str, at: float = 0, rejected_by: Iterable[str] = (), pending: Iterable[str] = ()) -> None:
        entry = self.taken.pop(name)
        self._step(lambda: self.queue.give_back(entry, ns(at), tuple(rejected_by), tuple(pending)))

    def refuse(self, pod: Pod, by: str, at: float = 0) -> None:
        """Take in a pod, try it, and refuse it."""
        self.add(pod, at)
        assert self.pop(at) == pod.name
        self.give_back(pod.name, at, [by])

    def happens(
        self, event: ObjectChange = NODE_ADDED, at: float = 0, only: Callable[[Pod], bool] | None = None
    ) -> None:
        self._step(lambda: self.queue.on_change(event, ns(at), only))

    def flush(self, at: float) -> None:
        self._step(lambda: self.queue.flush_backoff(ns(at)))

    def flush_unschedulable(self, at: float) -> None:
        self._step(lambda: self.queue.flush_unschedulable(ns(at)))

    def bring_all_back(self, at: float) -> None:
        self._step(lambda: self.queue.bring_all_back(ns(at)))

    def activate(self, pod: Pod, at: float = 0) -> None:
        self._step(lambda: self.queue.activate([pod], ns(at)))

    def bring_back(self, pod: Pod, at: float = 0) -> None:
        self._step(lambda: self.queue.bring_back(pod, ns(at)))

    def done(self, name: str) -> None:
        pod = self.taken.pop(name).pod
        self._step(lambda: self.queue.done(pod))

    @property
    def places(self) -> dict[str, str]:
        """Where each pod is."""
        found = contents(self.queue)
        return {entry.pod.name: place.value for place, entries in found.items() for entry in entries}

    @property
    def active(self) -> list[str]:
        return [entry.pod.name for entry in contents(self.queue)[Place.ACTIVE]]

    def _gate(self, pod: Pod, _gated_by: str) -> Rejection | None:
        return Rejection(("shut",), Code.UNRESOLVABLE, "Gate") if pod.name in self.shut else None

    def _step(self, act: Callable[[], Any]) -> None:
        act()
        validate_queue(self.queue)


def ns(seconds: float) -> int:
    return round(seconds * SECOND)


def pod(name: str, priority: int = 0) -> Pod:
    return make_pod(name).priority(priority).build()


def relabelled(old: Pod) -> Pod:
    """Return the pod with one more label."""
    meta = msgspec.structs.replace(old.metadata, labels={**old.metadata.labels, "changed": "yes"})
    return msgspec.structs.replace(old, metadata=meta)

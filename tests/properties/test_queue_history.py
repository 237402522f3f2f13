"""The scheduling queue through any history: no pod lost or doubled, the order right, nothing remembered for nobody."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from stowplan.framework import changes
from stowplan.framework.changes import Action, Change, ObjectChange
from stowplan.model.pod import Pod
from stowplan.queue.entry import Place
from stowplan.queue.validate import contents, validate_queue
from stowplan.testing import make_node, make_pod
from tests.examples import examples
from tests.unit.queue.waiting_room import WaitingRoom, relabelled

NAMES = ("a", "b", "c", "d", "e")
PLUGINS = ("Roomy", "Picky", "Broken", "Gate", "Unheard of")
CHANGES = (
    changes.NODE_ADD,
    changes.ASSIGNED_POD_DELETE,
    Change(changes.ASSIGNED_POD, Action.UPDATE_POD_LABEL),
    Change(changes.NODE, Action.UPDATE_NODE_TAINT),
)

names = st.sampled_from(NAMES)
rejectors = st.lists(st.sampled_from(PLUGINS), max_size=3)


class QueueHistory(RuleBasedStateMachine):
    """Everything that may happen to a queue, beside a plain account of which pods there should be."""

    def __init__(self) -> None:
        super().__init__()
        self.room = WaitingRoom()
        self.now = 0.0
        self.waiting: dict[str, Pod] = {}
        self.flying: dict[str, Pod | None] = {}

    @rule(name=names, priority=st.integers(0, 2), is_shut=st.booleans())
    def a_pod_comes(self, name: str, priority: int, is_shut: bool) -> None:
        if name in self.waiting or name in self.flying:
            return
        self.room.shut |= {name} if is_shut else set()
        self.waiting[name] = make_pod(name).priority(priority).build()
        self.room.add(self.waiting[name], self.now)

    @rule(name=names, opens=st.booleans())
    def a_pod_is_relabelled(self, name: str, opens: bool) -> None:
        old = self.waiting.get(name) or self.flying.get(name)
        if old is None:
            return
        if opens:
            self.room.shut.discard(name)
        new = old if old.labels else relabelled(old)
        (self.waiting if name in self.waiting else self.flying)[name] = new
        self.room.update(old, new, self.now)

    @rule(name=names)
    def a_pod_is_deleted(self, name: str) -> None:
        known = self.waiting.pop(name, None) or self.flying.get(name)
        if known is not None:
            self.room.delete(known)
        if name in self.flying:
            self.flying[name] = None

    @rule()
    def the_next_pod_is_tried(self) -> None:
        expected = self._first()
        name = self.room.pop(self.now)
        assert name == expected
        if name is not None:
            self.flying[name] = self.waiting.pop(name)

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), rejected_by=rejectors, pending=rejectors)
    def a_pod_comes_back(self, data: Any, rejected_by: list[str], pending: list[str]) -> None:
        name = data.draw(st.sampled_from(sorted(self.flying)))
        pod = self.flying.pop(name)
        self.room.give_back(name, self.now, rejected_by, pending)
        if pod is not None:
            self.waiting[name] = pod

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def a_pod_is_placed(self, data: Any) -> None:
        name = data.draw(st.sampled_from(sorted(self.flying)))
        del self.flying[name]
        self.room.done(name)

    @rule(change=st.sampled_from(CHANGES), floor=st.integers(0, 3))
    def something_changes(self, change: Change, floor: int) -> None:
        event = ObjectChange(change, make_node("old").build(), make_node("new").build())
        if change.resource == changes.ASSIGNED_POD:
            event = ObjectChange(change, make_pod("other").on("n").build(), make_pod("other").on("n").build())
        self.room.happens(event, self.now, only=lambda pod: pod.priority >= floor)

    @rule(name=names)
    def a_pod_is_activated(self, name: str) -> None:
        pod = self.waiting.get(name) or self.flying.get(name)
        if pod is not None:
            self.room.activate(pod, self.now)
            assert self.room.places[name] in ("active", "gated", "in flight")

    @rule(seconds=st.sampled_from((0.25, 1.0, 7.5, 400.0)))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.room.flush(self.now)
        self.room.flush_unschedulable(self.now)
        if seconds > 300:
            # Nobody waits for ever: whoever was there is tried again, or still has its gate shut.
            assert set(self.room.places.values()) <= {"active", "gated", "in flight"}

    @invariant()
    def the_queue_is_sound(self) -> None:
        validate_queue(self.room.queue)

    @invariant()
    def no_pod_is_lost_or_doubled(self) -> None:
        found = contents(self.room.queue)
        waiting = {e.pod.name: e.pod for place, es in found.items() for e in es if place is not Place.IN_FLIGHT}
        assert waiting == self.waiting
        assert {e.pod.name for e in found[Place.IN_FLIGHT]} == set(self.flying)

    def _first(self) -> str | None:
        """Say who should be next, from the entries alone."""
        entries = self.room.queue.places.entries.values()
        active = [e for e in entries if e.place is Place.ACTIVE]
        early = [e for e in entries if e.place is Place.BACKOFF]
        if active:
            return min(active, key=lambda e: (-e.pod.priority, e.queued_at_ns, e.ticket)).pod.name
        if early:
            until = self.room.queue.places.backoff.until
            return min(early, key=lambda e: (until(e), -e.pod.priority, e.queued_at_ns, e.ticket)).pod.name
        return None


TestQueueHistory = QueueHistory.TestCase
TestQueueHistory.settings = settings(max_examples=examples(150), stateful_step_count=40)

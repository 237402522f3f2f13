"""The scheduling queue through any history: no pod lost or doubled, the order right, nothing remembered for nobody."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from stowplan.framework import changes
from stowplan.framework.changes import Action, Change, ObjectChange
from stowplan.model.meta import NamespacedMeta
from stowplan.model.pod import Pod
from stowplan.model.pod_group import CompositePodGroup, CompositePodGroupSpec, OwnGroup
from stowplan.queue.entry import Entry, Place, QueuedGroup, QueuedPod
from stowplan.queue.groups import GroupOutcome
from stowplan.queue.places import SECOND
from stowplan.queue.validate import contents, entities, validate_queue
from stowplan.testing import make_node, make_pod
from tests.examples import examples
from tests.integration.gang_world import own_group, own_members
from tests.unit.queue.test_groups import GroupRoom
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


GROUPS = ("g", "h", "tree")
#: The group that each pod names; "" if it stands alone.
MEMBERS = {"g-0": "g", "g-1": "g", "g-2": "g", "h-0": "h", "h-1": "h", "alone": ""}
#: `h` is a part of `tree`.
ROOTS = {"g": ("g",), "h": ("h", "tree")}

members = st.sampled_from(sorted(MEMBERS))
group_names = st.sampled_from(GROUPS)


class GroupQueueHistory(RuleBasedStateMachine):
    """Everything that may happen to groups and their pods, beside a plain account of who waits for what."""

    def __init__(self) -> None:
        super().__init__()
        self.room = GroupRoom(has_trees=True)
        self.now = 0
        self.known: set[str] = set()
        self.waiting: dict[str, Pod] = {}
        self.flying: dict[str, Pod | None] = {}
        #: A pod that was taken by itself.
        self.single: QueuedPod | None = None
        self.taken: QueuedGroup | None = None

    @rule(name=group_names, priority=st.integers(0, 2))
    def a_group_comes_or_changes(self, name: str, priority: int) -> None:
        self.known.add(name)
        self.room.put(group_object(name, priority), at=self.now)

    @rule(name=group_names)
    def a_group_is_deleted(self, name: str) -> None:
        if name in self.known:
            self.known.discard(name)
            self.room.queue.remove_group(group_object(name, 0), self.now * SECOND)

    @rule(name=members, is_shut=st.sampled_from((False, False, False, True)))
    def a_pod_comes(self, name: str, is_shut: bool) -> None:
        if name in self.waiting or name in self.flying:
            return
        self.room.shut |= {name} if is_shut else set()
        self.waiting[name] = member_pod(name)
        self.room.put(self.waiting[name], at=self.now)

    @rule(name=members, opens=st.booleans())
    def a_pod_is_relabelled(self, name: str, opens: bool) -> None:
        old = self.waiting.get(name) or self.flying.get(name)
        if old is None:
            return
        if opens:
            self.room.shut.discard(name)
        new = old if old.labels else relabelled(old)
        (self.waiting if name in self.waiting else self.flying)[name] = new
        self.room.queue.update(old, new, self.now * SECOND)

    @rule(name=members)
    def a_pod_is_deleted(self, name: str) -> None:
        known = self.waiting.pop(name, None) or self.flying.get(name)
        if known is not None:
            self.room.queue.delete(known, self.now * SECOND)
        if name in self.flying:
            self.flying[name] = None

    @precondition(lambda self: self.single is None and self.taken is None)
    @rule()
    def the_next_is_tried(self) -> None:
        expected = self._first()
        entry = self.room.queue.try_pop(self.now * SECOND)
        if entry is None:
            assert expected is None
            return
        assert expected in (None, entry.group.id if entry.group is not None else entry.id)
        self.taken, self.single = entry.group, entry if entry.group is None else None
        for taken in entry.group.members if entry.group is not None else [entry]:
            self.flying[taken.pod.name] = self.waiting.pop(taken.pod.name)

    @precondition(lambda self: self.taken is not None)
    @rule(placed=st.sets(members), outcome=st.sampled_from(GroupOutcome))
    def the_attempt_of_a_group_ends(self, placed: set[str], outcome: GroupOutcome) -> None:
        assert self.taken is not None
        for entry in list(self.taken.members):
            if outcome is GroupOutcome.SCHEDULED and entry.pod.name in placed:
                del self.flying[entry.pod.name]
                self.room.queue.done(entry.pod)
            else:
                self._comes_back(entry, () if outcome is GroupOutcome.FAILED else ("Fit",))
            validate_queue(self.room.queue)
        self.room.queue.finish_group(self.taken, outcome, self.now * SECOND)
        self.taken = None

    @precondition(lambda self: self.single is not None)
    @rule(is_refused=st.booleans())
    def the_attempt_of_a_pod_ends(self, is_refused: bool) -> None:
        assert self.single is not None
        self._comes_back(self.single, ("Gate",) if is_refused else ())
        self.single = None

    @rule()
    def a_node_comes(self) -> None:
        event = ObjectChange(changes.NODE_ADD, None, make_node("new").build())
        self.room.queue.on_change(event, self.now * SECOND)

    @rule(name=members)
    def a_pod_is_activated(self, name: str) -> None:
        pod = self.waiting.get(name) or self.flying.get(name)
        if pod is not None:
            self.room.queue.activate([pod], self.now * SECOND)

    @rule(seconds=st.sampled_from((1, 7, 400)))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds
        self.room.queue.flush_backoff(self.now * SECOND)
        self.room.queue.flush_unschedulable(self.now * SECOND)
        if seconds > 300:
            idle = {"active", "gated", "in flight", "incomplete", "pending"}
            assert set(self.room.places().values()) <= idle

    @invariant()
    def the_queue_is_sound(self) -> None:
        validate_queue(self.room.queue)

    @invariant()
    def no_pod_is_lost_or_doubled(self) -> None:
        found = contents(self.room.queue)
        waiting = {e.pod.name: e.pod for place, es in found.items() for e in es if place is not Place.IN_FLIGHT}
        assert waiting == self.waiting
        assert {e.pod.name for e in found[Place.IN_FLIGHT]} == set(self.flying)

    @invariant()
    def every_pod_waits_with_the_root_of_its_tree(self) -> None:
        tried = self.taken.key.name if self.taken is not None else None
        for place, entries in contents(self.room.queue).items():
            for entry in entries if place is not Place.IN_FLIGHT else ():
                chain = ROOTS.get(MEMBERS[entry.pod.name], ())
                root = chain[-1] if chain and self.known.issuperset(chain) else None
                assert (place is Place.INCOMPLETE) == (bool(chain) and root is None), entry.pod.name
                assert (place is Place.PENDING) == (root is not None and root == tried), entry.pod.name
                if entry.group is not None:
                    assert entry.group.key.name == root, entry.pod.name

    def _comes_back(self, entry: QueuedPod, rejected_by: tuple[str, ...]) -> None:
        pod = self.flying.pop(entry.pod.name)
        self.room.queue.give_back(entry, self.now * SECOND, rejected_by)
        if pod is not None:
            self.waiting[entry.pod.name] = pod

    def _first(self) -> str | None:
        """Say who should be next of those that are active, a group or a pod, by priority and then by time."""
        active = entities(self.room.queue)[Place.ACTIVE]

        def priority(entry: Entry) -> int:
            return self.room.groups[entry.key].spec.priority if isinstance(entry, QueuedGroup) else entry.pod.priority

        return min(active, key=lambda e: (-priority(e), e.queued_at_ns, e.ticket)).id if active else None


def group_object(name: str, priority: int) -> OwnGroup:
    if name == "tree":
        return CompositePodGroup(metadata=NamespacedMeta(name=name), spec=CompositePodGroupSpec(priority=priority))
    return own_group(name, 2, priority=priority, parent="tree" if name == "h" else "")


def member_pod(name: str) -> Pod:
    group, _, number = name.partition("-")
    return own_members(group, int(number) + 1)[-1] if MEMBERS[name] else make_pod(name).build()


TestGroupQueueHistory = GroupQueueHistory.TestCase
TestGroupQueueHistory.settings = settings(max_examples=examples(150), stateful_step_count=40)

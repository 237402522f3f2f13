"""Groups of pods in the queue: each waits as one, with a place, an order and a backoff of its own.

    pod comes --> incomplete --(its group comes)--+
        |                                         v
        +--(its group is known)--> the group waits like a pod: active, backoff, gated
        |                                         |
        +--(its group is being tried)--> pending  +--pop--> members in flight --give back--> pending
                                            |                                                  |
                                            +------------(finish: the attempt is over)---------+--> the group again

A group that is a part of others waits under the root of its tree. `queue.py` asks here about every pod that names a
group, and has the group moved by `places.py`; `engine/group_cycle.py` tries it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final

from stowplan.framework.changes import ObjectChange
from stowplan.model.pod import Pod, pod_id
from stowplan.model.pod_group import CompositePodGroup, GroupKey, OwnGroup, own_group
from stowplan.queue.entry import BACKING_OFF, POOLED, Place, QueuedGroup, QueuedPod
from stowplan.queue.hints import Hints, Narrowing, QueueingStrategy
from stowplan.queue.places import Places

SCHEDULE_ATTEMPT_FAILURE: Final = "ScheduleAttemptFailure"


class GroupOutcome(Enum):
    """How an attempt of a group ended."""

    SCHEDULED = "scheduled"
    REFUSED = "refused"
    FAILED = "failed"


class GroupsInQueue:
    """The groups that are known, and their pods that wait."""

    def __init__(self, places: Places, *, has_trees: bool) -> None:
        """Know no group yet; `has_trees`, groups may be parts of others (feature gate CompositePodGroup)."""
        self._places = places
        self._has_trees = has_trees
        self._known: dict[GroupKey, OwnGroup] = {}
        self._children: dict[GroupKey, dict[GroupKey, None]] = {}
        #: Every pod of a group that waits, wherever, by its id; read by others, changed here.
        self.members: dict[str, QueuedPod] = {}
        #: The group that is being tried.
        self.under_way: QueuedGroup | None = None

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self.members.values())

    def get(self, pod: Pod) -> QueuedPod | None:
        return self.members.get(pod_id(pod))

    def object_of(self, key: GroupKey) -> OwnGroup | None:
        """Return a group as it was last seen."""
        return self._known.get(key)

    def waiting(self, pod: Pod) -> QueuedGroup | None:
        """Return the group with which a pod waits, or would wait, if it is in the queue."""
        root = self._root_of(own_group(pod))
        return self._places.groups.get(str(root)) if root is not None else None

    def why_incomplete(self, pod: Pod) -> str:
        """Say why a pod waits for its group, or for one above it."""
        seen: set[GroupKey] = set()
        key = own_group(pod)
        while key is not None and key in self._known:
            if key in seen:
                # Nothing that comes helps here: one of the groups has to go.
                return f"cycle detected in composite pod group hierarchy: {key.entity_key}"
            seen.add(key)
            key = self._known[key].parent_key
        return f"{key} is not there" if key is not None else ""

    # Pods

    def take_in(self, member: QueuedPod, label: str, now_ns: int) -> None:
        """Put in a pod, new or tried before, where it has to wait."""
        self.members[member.id] = member
        root = self._root_of(own_group(member.pod))
        if root is None:
            member.place = Place.INCOMPLETE
            return
        group = self._places.groups.get(str(root))
        if group is not None:
            strategy = self._strategy_of(group)
            self._places.take_out(group)
            group.join(member)
            self._places.requeue(group, strategy, label, now_ns, member)
        elif self.under_way is not None and self.under_way.key == root:
            member.place = Place.PENDING
        else:
            group = QueuedGroup(root, queued_at_ns=member.queued_at_ns, ready_at_ns=member.ready_at_ns)
            group.join(member)
            self._places.to_active(group, label, now_ns)

    def update(self, member: QueuedPod, new: Pod) -> QueuedGroup | None:
        """Take in a new version of a pod; return its group if that is in the pool, where a change may help it."""
        member.pod = new
        group = member.group
        return group if group is not None and group.place in POOLED else None

    def drop(self, member: QueuedPod, label: str, now_ns: int) -> None:
        """Drop a pod; a group goes with its last one, and otherwise is put where it was, if the gate lets it."""
        del self.members[member.id]
        member.place = Place.GONE
        group = member.group
        if group is None:
            return
        strategy = self._strategy_of(group)
        self._places.take_out(group)
        group.leave(member)
        if group.members:
            self._places.requeue(group, strategy, label, now_ns)

    # Attempts

    def start(self, group: QueuedGroup) -> None:
        """Note that a group is being tried; its pods are in flight, and no more here."""
        group.attempts += 1
        group.place = Place.IN_FLIGHT
        self.under_way = group
        for member in group.members:
            del self.members[member.id]

    def finish(self, group: QueuedGroup, outcome: GroupOutcome, now_ns: int) -> None:
        """End an attempt: the pods that came back, and those that came meanwhile, wait as the group again.

        A group that was scheduled, but for some, is tried again at once: there may be room to be made for the rest.
        """
        self.under_way = None
        tried = {member.id for member in group.members}
        pending = [member for member in self.members.values() if self._is_pending_in(member, group.key)]
        group.members, group.place = [], Place.GONE
        if not pending:
            return
        for member in pending:
            group.join(member)
        has_returned = any(member.id in tried for member in pending)
        _note(group, outcome, now_ns, keeps_its_turn=outcome is GroupOutcome.SCHEDULED and has_returned)
        if outcome is not GroupOutcome.SCHEDULED and self._places.backoff.is_backing_off(group, now_ns):
            self._places.to_backoff(group, SCHEDULE_ATTEMPT_FAILURE)
        else:
            self._places.to_active(group, SCHEDULE_ATTEMPT_FAILURE, now_ns)

    def _is_pending_in(self, member: QueuedPod, root: GroupKey) -> bool:
        return member.place is Place.PENDING and self._root_of(own_group(member.pod)) == root

    # Groups come, change and go

    def put(self, found: OwnGroup, label: str, now_ns: int) -> None:
        """Take in a group, or a new version of one; pods that have waited for it join the root of its tree."""
        self._known[found.group_key] = found
        if self._has_trees and found.parent_key is not None:
            self._children.setdefault(found.parent_key, {})[found.group_key] = None
        root = self._root_of(found.group_key)
        if root is None:
            return
        group = self._places.groups.get(str(root))
        if group is not None:
            self._places.put_right(group)
        leaves = set(self._leaves(root))
        waiting = [one for one in self.members.values() if one.place is Place.INCOMPLETE]
        for member in waiting:
            if own_group(member.pod) in leaves:
                self.take_in(member, label, now_ns)

    def remove(self, found: OwnGroup, label: str, now_ns: int) -> None:
        """Drop a group: its pods, and those of its parts, wait until it comes again."""
        root = self._root_of(found.group_key)
        self._known.pop(found.group_key, None)
        if found.parent_key is not None:
            self._children.get(found.parent_key, {}).pop(found.group_key, None)
        if root is None:
            return
        lost = [one for one in self.members.values() if self._is_lost(one)]
        group = self._places.groups.get(str(root))
        if group is not None:
            strategy = self._strategy_of(group)
            self._places.take_out(group)
            for member in [one for one in lost if one.group is group]:
                group.leave(member)
            if group.members:
                self._places.requeue(group, strategy, label, now_ns)
        for member in lost:
            member.place = Place.INCOMPLETE

    def _is_lost(self, member: QueuedPod) -> bool:
        return member.place is not Place.INCOMPLETE and self._root_of(own_group(member.pod)) is None

    # Trees

    def _root_of(self, key: GroupKey | None) -> GroupKey | None:
        """Return the root of a group's tree; None if the group, or one on the way there, is not known."""
        seen: set[GroupKey] = set()
        while key is not None and key not in seen and key in self._known:
            seen.add(key)
            parent = self._known[key].parent_key if self._has_trees else None
            if parent is None:
                return key
            key = parent
        return None

    def _leaves(self, root: GroupKey) -> Iterator[GroupKey]:
        """Go through the groups of pods in a tree."""
        upcoming, seen = [root], set[GroupKey]()
        while upcoming:
            key = upcoming.pop()
            if key in seen:
                continue
            seen.add(key)
            if isinstance(self._known.get(key), CompositePodGroup):
                upcoming += self._children.get(key, {})
            elif key in self._known:
                yield key

    @staticmethod
    def _strategy_of(group: QueuedGroup) -> QueueingStrategy:
        """Return the strategy that leads to where a group is."""
        if group.place is Place.ACTIVE:
            return QueueingStrategy.IMMEDIATELY
        return QueueingStrategy.AFTER_BACKOFF if group.place in BACKING_OFF else QueueingStrategy.SKIP


def strategy_of(
    hints: Hints, members: Iterable[QueuedPod], event: ObjectChange, narrowed: Narrowing | None
) -> QueueingStrategy:
    """Return the most that an event is worth to any of a group's pods."""
    best = QueueingStrategy.SKIP
    for member in members:
        if best is QueueingStrategy.AFTER_BACKOFF and not member.pending_plugins:
            continue
        found = hints.strategy(member, event, narrowed)
        if found is QueueingStrategy.IMMEDIATELY:
            return found
        best = found if found is not QueueingStrategy.SKIP else best
    return best


def _note(group: QueuedGroup, outcome: GroupOutcome, now_ns: int, *, keeps_its_turn: bool) -> None:
    """Count how an attempt ended."""
    group.was_flushed = False
    if outcome is GroupOutcome.SCHEDULED:
        group.errors = group.refusals = 0
    elif outcome is GroupOutcome.REFUSED:
        group.errors, group.refusals, group.backoff_until = 0, group.refusals + 1, None
    else:
        group.errors, group.backoff_until = group.errors + 1, None
    if not keeps_its_turn:
        group.queued_at_ns = now_ns

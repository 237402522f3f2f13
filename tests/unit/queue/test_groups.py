"""Pod groups in the queue: a group waits as one, with an order, a backoff and a gate of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from stowplan.framework import changes
from stowplan.framework.changes import Action, ObjectChange
from stowplan.framework.contract import Awaited
from stowplan.framework.verdict import Rejection
from stowplan.model.meta import NamespacedMeta
from stowplan.model.pod import Pod
from stowplan.model.pod_group import CompositePodGroup, CompositePodGroupSpec, GroupKey, OwnGroup
from stowplan.queue.entry import Place, QueuedPod
from stowplan.queue.groups import GroupOutcome
from stowplan.queue.places import SECOND, QueueLimits, QueueRules, delay_ns
from stowplan.queue.queue import SchedulingQueue
from stowplan.queue.validate import contents, validate_queue
from stowplan.testing import make_node, make_pod
from tests.integration.gang_world import own_group, own_members

NODE_ADDED = ObjectChange(changes.NODE_ADD, None, make_node("new").build())
AWAITED = {"Gate": (Awaited(changes.NODE, Action.ADD),)}


class GroupRoom:
    """A queue with groups; every step checks its invariants."""

    def __init__(self, *, has_trees: bool = False) -> None:
        self.shut: set[str] = set()
        self.groups: dict[GroupKey, OwnGroup] = {}
        rules = QueueRules(self._gate, self._key, group_sort_key=self._group_key, has_groups=True, has_trees=has_trees)
        self.queue = SchedulingQueue(rules, {"default-scheduler": AWAITED}, QueueLimits())

    def put(self, *found: Any, at: int = 0) -> None:
        for one in found:
            if isinstance(one, Pod):
                self.queue.add(one, at * SECOND)
            else:
                self.groups[one.group_key] = one
                self.queue.put_group(one, at * SECOND)
            validate_queue(self.queue)

    def pop(self, at: int = 0) -> list[str]:
        """Take the next, and give the names of all pods that come with it."""
        self.taken = self.queue.try_pop(at * SECOND)
        validate_queue(self.queue)
        if self.taken is None:
            return []
        group = self.taken.group
        return [one.pod.name for one in group.members] if group is not None else [self.taken.pod.name]

    def give_back(self, outcome: GroupOutcome = GroupOutcome.REFUSED, at: int = 0, only: Sequence[str] = ()) -> None:
        """Give back the group that was taken, or some of its pods: the others have found a node."""
        assert self.taken is not None
        assert self.taken.group is not None
        group = self.taken.group
        for member in list(group.members):
            if not only or member.pod.name in only:
                self.queue.give_back(member, at * SECOND, ["Fit"] if outcome is not GroupOutcome.FAILED else [])
            else:
                self.queue.done(member.pod)
        self.queue.finish_group(group, outcome, at * SECOND)
        validate_queue(self.queue)

    def places(self) -> dict[str, str]:
        found = contents(self.queue)
        return {entry.pod.name: place.value for place, entries in found.items() for entry in entries}

    def flush(self, at: int) -> None:
        self.queue.flush_backoff(at * SECOND)
        validate_queue(self.queue)

    def _gate(self, pod: Pod, _gated_by: str) -> Rejection | None:
        return Rejection(("shut",), plugin="Gate") if pod.name in self.shut else None

    @staticmethod
    def _key(pod: Pod, queued_at_ns: int) -> Any:
        return -pod.priority, queued_at_ns

    def _group_key(self, key: GroupKey, pods: Sequence[Pod], queued_at_ns: int) -> Any:
        return -self.groups[key].spec.priority, queued_at_ns


def room(*found: Any, has_trees: bool = False) -> GroupRoom:
    made = GroupRoom(has_trees=has_trees)
    made.put(*found)
    return made


# Where pods wait


def test_pods_of_a_group_that_a_flush_lets_in_are_tried_because_of_it() -> None:
    waiting = room(own_group("train", 2))
    waiting.shut.add("train-1")
    waiting.put(*own_members("train", 2))
    waiting.shut.clear()
    waiting.queue.flush_unschedulable(301 * SECOND)
    assert waiting.pop(301) == ["train-0", "train-1"]
    assert waiting.taken is not None
    assert waiting.taken.group is not None
    assert [member.was_flushed for member in waiting.taken.group.members] == [True, True]
    waiting.give_back(at=302)
    waiting.flush(at=320)
    assert waiting.pop(320) == ["train-0", "train-1"]
    assert not waiting.taken.was_flushed


def test_pods_of_an_unknown_group_are_incomplete_and_nobody_takes_them() -> None:
    waiting = room(*own_members("train", 2))
    assert waiting.places() == {"train-0": "incomplete", "train-1": "incomplete"}
    assert waiting.pop() == []


def test_a_group_that_comes_later_takes_its_pods_in() -> None:
    waiting = room(*own_members("train", 2))
    waiting.put(own_group("train", 2))
    assert waiting.places() == {"train-0": "active", "train-1": "active"}


def test_all_pods_of_a_group_are_taken_together() -> None:
    waiting = room(own_group("train", 2), *own_members("train", 2), make_pod("alone").build())
    assert waiting.pop() == ["train-0", "train-1"]
    assert waiting.places() == {"train-0": "in flight", "train-1": "in flight", "alone": "active"}


def test_a_pod_that_comes_while_its_group_is_tried_is_pending_and_joins_it_afterwards() -> None:
    first, second = own_members("train", 2)
    waiting = room(own_group("train", 1), first)
    assert waiting.pop() == ["train-0"]
    waiting.put(second)
    assert waiting.places()["train-1"] == "pending"
    waiting.give_back()
    assert waiting.places() == {"train-0": "error backoff", "train-1": "error backoff"}


def test_pods_of_a_deleted_group_are_incomplete() -> None:
    waiting = room(own_group("train", 1), *own_members("train", 2))
    waiting.queue.remove_group(own_group("train", 1), 0)
    validate_queue(waiting.queue)
    assert waiting.places() == {"train-0": "incomplete", "train-1": "incomplete"}


def test_one_pod_that_is_gated_keeps_the_group_out() -> None:
    waiting = GroupRoom()
    waiting.shut.add("train-1")
    waiting.put(own_group("train", 2), *own_members("train", 2))
    assert waiting.places() == {"train-0": "gated", "train-1": "gated"}


def test_what_the_gate_awaits_lets_the_group_in() -> None:
    waiting = GroupRoom()
    waiting.shut.add("train-1")
    waiting.put(own_group("train", 2), *own_members("train", 2))
    waiting.shut.clear()
    waiting.queue.on_change(NODE_ADDED, 0)
    validate_queue(waiting.queue)
    assert waiting.places() == {"train-0": "active", "train-1": "active"}


def test_a_group_goes_with_its_last_pod() -> None:
    first, second = own_members("train", 2)
    waiting = room(own_group("train", 1), first, second)
    waiting.queue.delete(first, 0)
    assert waiting.places() == {"train-1": "active"}
    waiting.queue.delete(second, 0)
    validate_queue(waiting.queue)
    assert waiting.pop() == []


def test_a_changed_pod_is_taken_in_its_newest_version() -> None:
    pod = own_members("train", 1)[0]
    waiting = room(own_group("train", 1), pod)
    newer = own_members("train", 1, cpu="7")[0]
    waiting.queue.update(pod, newer, 0)
    waiting.pop()
    assert waiting.taken is not None
    assert waiting.taken.pod is newer


# Who is next


def test_groups_and_pods_are_in_one_order_by_priority() -> None:
    urgent = make_pod("urgent").priority(5).build()
    waiting = room(own_group("low", 1), *own_members("low", 1), own_group("high", 1, priority=9))
    waiting.put(*own_members("high", 1, priority=9), urgent)
    assert [waiting.pop(), waiting.pop(), waiting.pop()] == [["high-0"], ["urgent"], ["low-0"]]


def test_members_go_by_priority_then_by_attempts_then_by_time_then_by_name() -> None:
    tried, late = own_members("train", 2)
    waiting = room(own_group("train", 1), tried)
    waiting.pop()
    waiting.put(late)
    urgent = own_members("train", 3, priority=3)[2]
    waiting.put(urgent)
    waiting.give_back()
    waiting.flush(at=5)
    assert waiting.pop(at=5) == ["train-2", "train-0", "train-1"]


# How long a group waits


@pytest.mark.parametrize(
    ("attempts", "pods", "seconds"),
    [
        pytest.param(1, 9, 1.0, id="one second first"),
        pytest.param(4, 9, 8.0, id="doubling"),
        pytest.param(9, 9, 30.0, id="up to the limit times the square root of the number of pods"),
        pytest.param(9, 1, 10.0, id="one pod waits as any pod does"),
    ],
)
def test_the_longest_wait_grows_with_the_number_of_pods(attempts: int, pods: int, seconds: float) -> None:
    assert delay_ns(attempts, QueueLimits(), pods) == math.floor(seconds * SECOND)


def test_a_refused_group_backs_off_and_is_not_popped_early() -> None:
    waiting = room(own_group("train", 2), *own_members("train", 2))
    waiting.pop()
    waiting.give_back()
    assert waiting.pop() == []
    waiting.flush(at=1)
    assert waiting.pop(at=1) == []
    waiting.flush(at=2)
    assert waiting.pop(at=2) == ["train-0", "train-1"]


def test_the_rest_of_a_group_that_was_scheduled_is_tried_at_once_in_its_old_turn() -> None:
    waiting = room(own_group("train", 1), *own_members("train", 2))
    waiting.put(make_pod("later").build(), at=1)
    waiting.pop(at=3)
    waiting.give_back(GroupOutcome.SCHEDULED, at=3, only=["train-1"])
    assert waiting.pop(at=3) == ["train-1"]


def test_a_pod_that_lost_its_node_later_comes_back_as_its_group() -> None:
    waiting = room(own_group("train", 1), *own_members("train", 1))
    waiting.pop()
    assert waiting.taken is not None
    entry: QueuedPod = waiting.taken
    waiting.queue.done(entry.pod)
    assert entry.group is not None
    waiting.queue.finish_group(entry.group, GroupOutcome.SCHEDULED, 0)
    waiting.queue.give_back(entry, 4 * SECOND)
    validate_queue(waiting.queue)
    assert (entry.where, waiting.pop(at=4)) == (Place.ACTIVE, ["train-0"])


# Trees of groups


def composite(name: str, parent: str = "") -> CompositePodGroup:
    spec = CompositePodGroupSpec(parent_composite_pod_group_name=parent)
    return CompositePodGroup(metadata=NamespacedMeta(name=name), spec=spec)


def test_groups_of_a_tree_wait_as_one() -> None:
    left, right = own_group("left", 1, parent="job"), own_group("right", 1, parent="job")
    waiting = room(composite("job"), left, right, *own_members("left", 1), *own_members("right", 1), has_trees=True)
    assert sorted(waiting.pop()) == ["left-0", "right-0"]


def test_as_long_as_the_group_above_is_missing_pods_are_incomplete() -> None:
    waiting = room(own_group("left", 1, parent="job"), *own_members("left", 1), has_trees=True)
    assert waiting.places() == {"left-0": "incomplete"}
    waiting.put(composite("job"))
    assert waiting.places() == {"left-0": "active"}
    waiting.queue.remove_group(composite("job"), 0)
    validate_queue(waiting.queue)
    assert waiting.places() == {"left-0": "incomplete"}


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        pytest.param([], 'composite pod group "default/job" is not there', id="the group above is missing"),
        pytest.param(
            [composite("job", "all")], 'composite pod group "default/all" is not there', id="the next one is missing"
        ),
        pytest.param(
            [composite("job", "all"), composite("all", "job")],
            "cycle detected in composite pod group hierarchy: compositepodgroup/default/job",
            id="a circle",
        ),
    ],
)
def test_an_incomplete_pod_says_what_is_missing(above: list[Any], expected: str) -> None:
    [pod] = own_members("left", 1)
    waiting = room(own_group("left", 1, parent="job"), pod, *above, has_trees=True)
    assert waiting.places() == {"left-0": "incomplete"}
    assert waiting.queue.groups is not None
    assert waiting.queue.groups.why_incomplete(pod) == expected


def test_without_the_feature_gate_a_parent_means_nothing() -> None:
    waiting = room(own_group("left", 1, parent="job"), *own_members("left", 1))
    assert waiting.pop() == ["left-0"]

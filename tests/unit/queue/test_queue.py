"""The scheduling queue: who waits where, who is next, and what brings a pod back."""

from __future__ import annotations

import pytest

from stowplan.framework import changes
from stowplan.framework.changes import Action, Change, ObjectChange
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod
from stowplan.plugins.queuesort import PrioritySort
from stowplan.queue.places import QueueLimits, QueueRules
from stowplan.queue.queue import QueueError, SchedulingQueue
from stowplan.testing import make_node, make_pod
from tests.unit.queue.waiting_room import AWAITED, NODE_ADDED, WaitingRoom, ns, pod, relabelled

# Order


def test_the_most_important_pod_goes_first_and_among_equals_the_oldest() -> None:
    room = WaitingRoom()
    for name, priority, at in [("young", 0, 2), ("old", 0, 1), ("late and important", 5, 3)]:
        room.add(pod(name, priority), at)
    assert [room.pop() for _ in range(4)] == ["late and important", "old", "young", None]


def test_a_pod_that_comes_back_counts_as_young() -> None:
    room = WaitingRoom()
    room.add(pod("first"), 1)
    room.add(pod("second"), 2)
    room.pop(2)
    room.give_back("first", 3, pending=["Roomy"])
    room.happens(at=4)
    assert room.active == ["second", "first"]


def test_an_updated_pod_is_put_where_it_now_belongs() -> None:
    room = WaitingRoom()
    room.add(pod("a"), 1)
    room.add(pod("b"), 2)
    room.update(pod("b"), pod("b", 7), 3)
    assert room.active == ["b", "a"]


# After a refusal


@pytest.mark.parametrize(
    ("plugin", "event", "place"),
    [
        pytest.param("Roomy", NODE_ADDED, "active", id="a change that its plugin awaits brings it back"),
        pytest.param("Picky", NODE_ADDED, "unschedulable", id="a hint that says no leaves it"),
        pytest.param("Broken", NODE_ADDED, "active", id="a hint that fails counts as yes"),
        pytest.param(
            "Roomy",
            ObjectChange(Change(changes.NODE, Action.UPDATE_NODE_LABEL)),
            "unschedulable",
            id="a change that nobody awaits leaves it",
        ),
        pytest.param("Unheard of", NODE_ADDED, "unschedulable", id="a plugin that awaits nothing leaves it"),
    ],
)
def test_a_refused_pod_comes_back_by_what_its_plugins_await(plugin: str, event: ObjectChange, place: str) -> None:
    room = WaitingRoom()
    room.refuse(pod("p"), plugin)
    assert room.places == {"p": "unschedulable"}
    room.happens(event, at=60)
    assert room.places == {"p": place}


def test_one_plugin_of_several_is_enough() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    room.pop()
    room.give_back("p", rejected_by=["Picky", "Roomy"])
    room.happens(at=60)
    assert room.active == ["p"]


def test_a_pod_that_only_awaits_something_need_not_back_off() -> None:
    room = WaitingRoom()
    for name in ("pending", "refused"):
        room.add(pod(name))
        room.pop()
    room.give_back("pending", pending=["Roomy"])
    room.give_back("refused", rejected_by=["Roomy"])
    room.happens()
    assert room.places == {"pending": "active", "refused": "backoff"}


def test_who_cannot_be_concerned_is_left_out() -> None:
    room = WaitingRoom()
    room.refuse(pod("low", 1), "Roomy")
    room.refuse(pod("high", 9), "Roomy")
    room.happens(at=60, only=lambda waiting: waiting.priority <= 5)
    assert room.places == {"low": "active", "high": "unschedulable"}


def test_a_pod_of_another_profile_is_not_woken_by_a_plugin_of_the_same_name() -> None:
    room = WaitingRoom()
    room.refuse(make_pod("p").scheduler_name("other").build(), "Roomy")
    room.happens(at=60)
    assert room.places == {"p": "unschedulable"}


# Backoff


def test_pods_back_off_and_are_let_in_by_the_flush() -> None:
    room = WaitingRoom()
    room.refuse(pod("p"), "Roomy", at=0.4)
    room.happens(at=0.5)
    assert room.places == {"p": "backoff"}
    room.flush(at=1.9)
    assert room.places == {"p": "backoff"}
    room.flush(at=2)
    assert room.places == {"p": "active"}


def test_a_pod_that_has_waited_long_enough_is_let_in_at_once() -> None:
    room = WaitingRoom()
    room.refuse(pod("p"), "Roomy")
    room.happens(at=2)
    assert room.places == {"p": "active"}


def test_backing_off_pods_are_popped_when_nothing_else_is_there() -> None:
    room = WaitingRoom()
    for name, priority in [("a", 0), ("b", 3), ("c", 1)]:
        room.refuse(pod(name, priority), "Roomy")
    room.happens()
    room.add(pod("fresh"), 1)
    assert [room.pop() for _ in range(5)] == ["fresh", "b", "c", "a", None]


def test_without_early_pops_backing_off_pods_wait_to_the_nanosecond() -> None:
    room = WaitingRoom(QueueLimits(pops_early=False))
    room.refuse(pod("p"), "Roomy", at=0.4)
    room.happens(at=0.5)
    assert (room.pop(), room.queue.has_ready) == (None, False)
    room.flush(at=1.4)
    assert room.places == {"p": "backoff"}
    room.flush(at=1.4 + 1e-9)
    assert room.places == {"p": "active"}


def test_without_early_pops_the_gate_is_passed_after_the_wait() -> None:
    room = WaitingRoom(QueueLimits(pops_early=False))
    room.refuse(pod("p"), "Roomy")
    room.shut.add("p")
    room.happens()
    assert room.places == {"p": "backoff"}
    room.flush(at=2)
    assert room.places == {"p": "gated"}


def test_pods_that_failed_are_never_popped_early() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    room.pop()
    room.give_back("p")
    assert room.places == {"p": "error backoff"}
    assert not room.queue.has_ready
    assert room.pop() is None
    room.flush(at=2)
    assert room.queue.has_ready
    assert room.pop() == "p"


def test_errors_and_refusals_are_counted_apart() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    waits = []
    for rejected_by in ([], [], ["Roomy"], ["Roomy"], ["Roomy"], []):
        room.pop(1000)
        entry = room.taken["p"]
        room.give_back("p", 1000, rejected_by)
        waits.append(room.queue.places.backoff.until(entry) - 1000)
        room.activate(entry.pod, 1000)
    assert waits == [1, 2, 1, 2, 4, 1]
    assert entry.attempts == 6


def test_limits_are_as_configured() -> None:
    room = WaitingRoom(QueueLimits(initial_backoff_seconds=5, max_backoff_seconds=6))
    room.add(pod("p"))
    for wait in (5, 6, 6):
        room.pop(0)
        entry = room.taken["p"]
        room.give_back("p", 0, ["Roomy"])
        assert room.queue.places.backoff.until(entry) == wait
        room.activate(entry.pod)


# In flight


def test_what_happened_while_a_pod_was_tried_brings_it_back() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    room.happens()
    room.pop()
    room.happens()
    room.give_back("p", rejected_by=["Roomy"])
    assert room.places == {"p": "backoff"}


def test_what_happened_before_a_pod_was_taken_does_not() -> None:
    room = WaitingRoom()
    room.add(pod("other"), 0)
    room.add(pod("p"), 1)
    room.pop()
    room.happens()
    room.pop()
    room.give_back("p", rejected_by=["Roomy"])
    room.give_back("other", rejected_by=["Roomy"])
    assert room.places == {"other": "backoff", "p": "unschedulable"}


def test_an_update_in_flight_is_kept_for_later() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    room.pop()
    room.update(pod("p"), relabelled(pod("p")))
    entry = room.taken["p"]
    assert entry.pod == pod("p")
    room.give_back("p", rejected_by=["Gate"])
    assert room.places == {"p": "backoff"}
    assert entry.pod == relabelled(pod("p"))


def test_an_update_of_a_pod_that_has_a_node_is_kept_but_brings_it_back_no_sooner() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    room.pop()
    room.queue.update_in_flight(relabelled(pod("p")))
    entry = room.taken["p"]
    room.give_back("p", rejected_by=["Gate"])
    assert room.places == {"p": "unschedulable"}
    assert entry.pod == relabelled(pod("p"))


def test_a_pod_deleted_in_flight_does_not_come_back() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    room.pop()
    room.delete(pod("p"))
    assert room.places == {"p": "in flight"}
    room.give_back("p", rejected_by=["Roomy"])
    assert room.places == {}


def test_a_placed_pod_is_forgotten() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    room.pop()
    room.happens()
    room.done("p")
    assert room.places == {}
    assert len(room.queue.in_flight.events) == 0


def test_only_a_pod_that_was_taken_can_be_given_back() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    room.pop()
    entry = room.taken["p"]
    room.give_back("p", rejected_by=["Roomy"])
    with pytest.raises(QueueError, match="pod 'default/p' is unschedulable; only a pod that was taken"):
        room.queue.give_back(entry, 0)


def test_a_pod_that_was_done_comes_back_if_binding_it_failed() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    room.pop()
    entry = room.taken["p"]
    room.done("p")
    room.queue.give_back(entry, 0, ["Picky"])
    assert room.places == {"p": "backoff"}


def test_a_pod_that_was_done_and_came_back_by_another_way_is_there_once() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    room.pop()
    entry = room.taken["p"]
    room.done("p")
    room.update(pod("p"), relabelled(pod("p")))
    room.queue.give_back(entry, 0, ["Picky"])
    assert room.active == ["p"]


def test_a_version_that_the_taker_knows_is_kept() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    room.pop()
    room.taken["p"].pod = relabelled(pod("p"))
    entry = room.taken["p"]
    room.give_back("p", rejected_by=["Roomy"])
    assert entry.pod == relabelled(pod("p"))


# The gate


def test_a_gated_pod_is_held_and_let_in_by_what_its_gate_awaits() -> None:
    room = WaitingRoom()
    room.shut.add("p")
    room.add(pod("p"))
    assert room.places == {"p": "gated"}
    room.happens(at=60)
    room.shut.clear()
    room.happens(at=60)
    assert room.places == {"p": "gated"}
    room.update(pod("p"), relabelled(pod("p")), 60)
    assert room.places == {"p": "active"}


def test_a_gate_that_stays_shut_keeps_the_pod() -> None:
    room = WaitingRoom()
    room.shut.add("p")
    room.add(pod("p"))
    room.update(pod("p"), relabelled(pod("p")), 60)
    assert room.places == {"p": "gated"}


def test_a_refused_pod_passes_the_gate_before_it_backs_off() -> None:
    room = WaitingRoom()
    room.refuse(pod("p"), "Roomy")
    room.shut.add("p")
    room.happens()
    assert room.places == {"p": "gated"}


def test_the_gate_is_not_asked_again_when_the_wait_is_over() -> None:
    room = WaitingRoom()
    room.refuse(pod("p"), "Roomy")
    room.happens()
    room.shut.add("p")
    room.flush(at=60)
    assert room.places == {"p": "active"}


def test_a_gated_pod_was_never_tried_and_need_not_back_off() -> None:
    room = WaitingRoom()
    room.shut.add("p")
    room.add(pod("p"))
    room.shut.clear()
    room.update(pod("p"), relabelled(pod("p")))
    assert room.places == {"p": "active"}


# Updates and deletions


def test_an_update_that_helps_nobody_leaves_the_pod() -> None:
    room = WaitingRoom()
    room.refuse(pod("p"), "Roomy")
    room.update(pod("p"), relabelled(pod("p")), 60)
    assert room.places == {"p": "unschedulable"}


def test_an_update_of_an_unknown_pod_takes_it_in() -> None:
    room = WaitingRoom()
    room.update(pod("p"), relabelled(pod("p")))
    assert room.places == {"p": "active"}


def test_a_pod_that_is_added_twice_is_there_once() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    room.add(pod("p"))
    assert room.active == ["p"]


@pytest.mark.parametrize("place", ["active", "backoff", "error backoff", "unschedulable", "gated"])
def test_a_pod_is_deleted_wherever_it_is(place: str) -> None:
    room = WaitingRoom()
    if place == "gated":
        room.shut.add("p")
    room.add(pod("p"))
    if place in ("backoff", "error backoff", "unschedulable"):
        room.pop()
        room.give_back("p", rejected_by=[] if place == "error backoff" else ["Roomy"])
    if place == "backoff":
        room.happens()
    assert room.places == {"p": place}
    room.delete(pod("p"))
    assert room.places == {}


# By force and by time


@pytest.mark.parametrize(
    ("rejected_by", "is_shut", "place"),
    [
        pytest.param(["Roomy"], False, "active", id="a refused pod is tried at once"),
        pytest.param([], False, "active", id="a pod that backs off is tried at once"),
        pytest.param(["Roomy"], True, "gated", id="a refused pod still has to pass the gate"),
        pytest.param([], True, "active", id="a pod that backs off has passed it already"),
    ],
)
def test_forced_activation(rejected_by: list[str], is_shut: bool, place: str) -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    room.pop()
    room.give_back("p", rejected_by=rejected_by)
    room.shut |= {"p"} if is_shut else set()
    room.activate(pod("p"))
    assert room.places == {"p": place}


def test_a_pod_activated_in_flight_is_tried_again_and_no_other() -> None:
    room = WaitingRoom()
    for name in ("p", "other"):
        room.add(pod(name))
        room.pop()
    room.activate(pod("p"))
    room.give_back("p", rejected_by=["Picky"])
    room.give_back("other", rejected_by=["Picky"])
    assert room.places == {"p": "backoff", "other": "unschedulable"}


@pytest.mark.parametrize(
    ("at", "is_shut", "place"),
    [
        pytest.param(0.5, False, "backoff", id="it backs off as after any event that helps"),
        pytest.param(60, False, "active", id="unless it has waited long enough"),
        pytest.param(0.5, True, "gated", id="it still has to pass the gate"),
    ],
)
def test_a_refused_pod_is_brought_back(at: float, is_shut: bool, place: str) -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    room.pop()
    room.give_back("p", rejected_by=["Picky"])
    room.shut |= {"p"} if is_shut else set()
    room.bring_back(pod("p"), at)
    assert room.places == {"p": place}


def test_a_pod_that_does_not_wait_to_be_brought_back_stays_where_it_is() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    room.bring_back(pod("p"))
    room.bring_back(pod("unknown"))
    assert room.places == {"p": "active"}


def test_an_unknown_pod_is_not_activated() -> None:
    room = WaitingRoom()
    room.activate(pod("p"))
    assert room.places == {}


@pytest.mark.parametrize(
    ("at", "place"),
    [
        pytest.param(300, "unschedulable", id="not yet after five minutes"),
        pytest.param(300.001, "active", id="but after more"),
    ],
)
def test_a_pod_that_nothing_brought_back_is_tried_all_the_same(at: float, place: str) -> None:
    room = WaitingRoom()
    room.refuse(pod("p"), "Picky")
    room.flush_unschedulable(at)
    assert room.places == {"p": place}


def test_a_gated_pod_is_looked_at_again_only_after_another_five_minutes() -> None:
    room = WaitingRoom()
    room.shut.add("p")
    room.add(pod("p"))
    room.flush_unschedulable(301)
    room.shut.clear()
    room.flush_unschedulable(331)
    assert room.places == {"p": "gated"}
    room.flush_unschedulable(602)
    assert room.places == {"p": "active"}


@pytest.mark.parametrize(
    ("gates", "counts"),
    [
        pytest.param((False, False), True, id="no gate is in its way"),
        pytest.param((True, False), True, id="its gate opens with the flush"),
        pytest.param((True, True), False, id="its gate stays shut, and opens later"),
        pytest.param((False, True), False, id="its gate shuts, and opens later"),
    ],
)
def test_a_pod_is_tried_after_a_flush_only_if_the_flush_let_it_in(gates: tuple[bool, bool], counts: bool) -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    assert room.pop() == "p"
    was_shut, is_shut = gates
    room.give_back("p", 0, ["Picky", "Gate"])
    if was_shut:
        room.shut.add("p")
        room.activate(pod("p"))
    room.shut = {"p"} if is_shut else set()
    room.flush_unschedulable(301)
    room.shut.clear()
    room.update(pod("p"), relabelled(pod("p")), 302)
    assert room.pop(302) == "p"
    assert room.taken["p"].was_flushed is counts


def test_a_pod_that_was_refused_since_the_flush_is_not_tried_because_of_it() -> None:
    room = WaitingRoom()
    room.refuse(pod("p"), "Roomy")
    room.flush_unschedulable(301)
    assert room.pop(301) == "p"
    assert room.taken["p"].was_flushed
    room.give_back("p", 301, ["Roomy"])
    room.happens(at=400)
    assert room.pop(400) == "p"
    assert not room.taken["p"].was_flushed


def test_who_gates_a_pod_is_asked_again_before_others() -> None:
    asked: list[str] = []

    def gate(_: Pod, gated_by: str) -> Rejection:
        asked.append(gated_by)
        return Rejection(("shut",), plugin="Gate")

    queue = SchedulingQueue(QueueRules(gate, PrioritySort().sort_key), {"default-scheduler": AWAITED})
    queue.add(pod("p"), 0)
    queue.activate([pod("p")], 1)
    assert asked == ["", "Gate"]


def test_all_are_tried_again_when_others_have_a_say() -> None:
    room = WaitingRoom()
    room.refuse(pod("refused"), "Picky")
    room.shut.add("gated")
    room.add(pod("gated"))
    room.add(pod("tried"))
    assert room.pop() == "tried"
    room.shut.clear()
    room.bring_all_back(1)
    room.give_back("tried", 1, ["Picky"])
    assert room.places == {"refused": "backoff", "gated": "active", "tried": "backoff"}


def test_a_flush_that_moves_somebody_also_helps_pods_in_flight() -> None:
    room = WaitingRoom()
    room.refuse(pod("stale"), "Picky")
    room.add(pod("p"), 301)
    room.pop(301)
    room.flush_unschedulable(301)
    room.give_back("p", 301, ["Picky"])
    assert room.places == {"stale": "active", "p": "backoff"}


# What others read


def test_moves_are_counted_by_place_and_cause() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    room.pop()
    room.give_back("p", rejected_by=["Roomy"])
    room.happens()
    room.pop(1)
    assert room.queue.places.incoming == {
        ("active", "UnscheduledPodAdd"): 1,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
        ("backoff", "NodeAdd"): 1,
        ("active", "PopFromBackoffQ"): 1,
    }


def test_entities_are_counted_where_they_do_not_go_to_the_queue_that_the_strategy_names() -> None:
    room = WaitingRoom()
    room.refuse(pod("p"), by="Roomy")
    room.happens(at=0)
    room.pop(1)
    room.give_back("p", 1, rejected_by=["Roomy"])
    room.happens(at=60)
    # It was added; its refusal left it where refused pods go, the first node put it to backoff as said; the second came
    # when its wait was over, and so it was tried at once.
    assert room.queue.places.incoming_entities == {
        ("active", "UnscheduledPodAdd", "pod"): 1,
        ("active", "NodeAdd", "pod"): 1,
    }


def test_a_gated_entity_is_counted_as_unschedulable() -> None:
    room = WaitingRoom()
    room.shut.add("p")
    room.add(pod("p"))
    assert room.queue.places.incoming_entities == {("unschedulable", "UnscheduledPodAdd", "pod"): 1}


@pytest.mark.parametrize(
    ("limits", "label"),
    [
        pytest.param(QueueLimits(), "UnscheduledPodAdd", id="as added"),
        pytest.param(QueueLimits(counts_strangers_as_added=False), "UnscheduledPodUpdate", id="as updated, in 1.36"),
    ],
)
def test_a_pod_that_is_first_heard_of_by_an_update_is_counted(limits: QueueLimits, label: str) -> None:
    room = WaitingRoom(limits)
    room.update(pod("p"), relabelled(pod("p")))
    assert room.queue.places.incoming == {("active", label): 1}


@pytest.mark.parametrize(
    ("limits", "on_node"),
    [
        pytest.param(QueueLimits(), ["p"], id="counts on its node"),
        pytest.param(QueueLimits(nominates_gated=False), [], id="counts nowhere, in 1.36"),
    ],
)
def test_a_gated_pod_that_comes_nominated(limits: QueueLimits, on_node: list[str]) -> None:
    room = WaitingRoom(limits)
    room.shut.add("p")
    room.add(make_pod("p").nominated_to("n").build())
    assert [one.name for one in room.queue.nominations.on("n")] == on_node


def test_a_plugin_names_the_pods_that_a_change_may_concern() -> None:
    room = WaitingRoom(QueueLimits(narrows=True))
    for name in ("first", "second"):
        room.refuse(pod(name), by="Naming")
    room.happens(ObjectChange(changes.NODE_ADD, None, make_node("first").build()))
    assert room.places == {"first": "backoff", "second": "unschedulable"}


def test_a_plugin_that_names_nobody_leaves_it_to_the_hints() -> None:
    room = WaitingRoom(QueueLimits(narrows=True))
    room.refuse(pod("first"), by="Naming")
    room.happens(ObjectChange(changes.NODE_ADD, None, make_node("everybody").build()))
    assert room.places == {"first": "backoff"}


def test_nobody_else_is_asked_about_a_change_that_a_plugin_has_narrowed() -> None:
    room = WaitingRoom(QueueLimits(narrows=True))
    room.refuse(pod("other"), by="Roomy")
    room.happens(ObjectChange(changes.NODE_ADD, None, make_node("first").build()))
    assert room.places == {"other": "unschedulable"}


def test_without_the_gate_pods_are_not_named() -> None:
    room = WaitingRoom()
    room.refuse(pod("second"), by="Naming")
    room.happens(ObjectChange(changes.NODE_ADD, None, make_node("first").build()))
    assert room.places == {"second": "backoff"}


def test_the_first_moment_a_pod_could_be_tried_is_kept() -> None:
    room = WaitingRoom()
    room.shut.add("p")
    room.add(pod("p"), 1)
    room.shut.clear()
    room.update(pod("p"), relabelled(pod("p")), 5)
    room.pop(7)
    assert room.taken["p"].ready_at_ns == ns(5)


def test_nominations_follow_the_pods() -> None:
    room = WaitingRoom()
    nominated = make_pod("p").nominated_to("n").build()
    room.add(nominated)
    assert room.queue.nominations.node_of(nominated) == "n"
    room.update(nominated, pod("p"))
    assert room.queue.nominations.node_of(pod("p")) == ""
    room.queue.nominations.put(pod("p"), "m")
    room.update(pod("p"), relabelled(pod("p")))
    assert room.queue.nominations.node_of(pod("p")) == "m"
    room.delete(pod("p"))
    assert not room.queue.nominations


def test_a_node_that_is_updated_wakes_who_awaits_that_update() -> None:
    room = WaitingRoom()
    room.refuse(pod("p"), "Roomy")
    old, new = make_node("n").build(), make_node("n").taint("t").build()
    for change in changes.of_node(old, new):
        room.happens(ObjectChange(change, old, new), at=60)
    assert room.places == {"p": "unschedulable"}


# At rest


def test_it_is_at_rest_when_every_pod_that_comes_back_has_failed_three_times() -> None:
    room = WaitingRoom()
    seen = [room.queue.is_at_rest]
    room.add(pod("p"))
    for at in (0, 10, 20):
        room.flush(at)
        assert room.pop(at) == "p"
        seen.append(room.queue.is_at_rest)
        room.give_back("p", at)
    assert seen == [True, False, False, False]
    assert room.queue.is_at_rest


def test_it_is_not_at_rest_while_another_pod_has_not_failed_that_often() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    for at in (0, 10, 20):
        room.flush(at)
        room.pop(at)
        room.give_back("p", at)
    room.add(pod("q"), 21)
    waits = room.queue.is_at_rest
    room.pop(21)
    is_tried = room.queue.is_at_rest
    room.give_back("q", 21)
    assert (waits, is_tried, room.queue.is_at_rest) == (False, False, False)


def test_it_is_at_rest_with_a_pod_that_was_refused_unless_that_backs_off() -> None:
    room = WaitingRoom()
    room.refuse(pod("p"), "Roomy")
    waits = room.queue.is_at_rest
    room.happens()
    assert (waits, room.places, room.queue.is_at_rest) == (True, {"p": "backoff"}, False)

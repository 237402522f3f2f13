"""Who waits in the queue, why, and when each is tried again."""

from stowplan.cli.queue import PLACES
from stowplan.framework.waiting_pods import WaitingPod, WaitingPods
from stowplan.observe.queue_state import ORDER, QueueView, Waiting, counts
from stowplan.observe.timeline import Timeline
from stowplan.queue.entry import Place
from stowplan.queue.places import QueueLimits
from stowplan.queue.validate import contents, validate_queue
from tests.unit.queue.waiting_room import AWAITED, WaitingRoom, ns, pod

LIMITS = QueueLimits(initial_backoff_seconds=2, max_unschedulable_seconds=60)


def view_of(room: WaitingRoom, waiting_pods: WaitingPods | None = None, limits: QueueLimits = LIMITS) -> QueueView:
    held = waiting_pods if waiting_pods is not None else WaitingPods()
    return QueueView(room.queue, limits, held, Timeline(lambda: 0), {"default-scheduler": AWAITED})


def described(view: QueueView, name: str) -> Waiting:
    found = view.of(pod(name))
    assert found is not None
    return found


def test_every_place_is_shown_validated_and_can_be_asked_for() -> None:
    assert set(ORDER) == set(Place) - {Place.GONE}
    assert contents(WaitingRoom(LIMITS).queue).keys() == set(ORDER)
    assert tuple(place.value for place in ORDER) == PLACES


def test_a_pod_whose_turn_comes_waits_for_nothing() -> None:
    room = WaitingRoom(LIMITS)
    room.add(pod("a", 7), 3)
    found = described(view_of(room), "a")
    assert (found.place, found.priority, found.since_ns, found.attempts) == ("active", 7, ns(3), 0)
    assert (found.next_try, found.next_try_at_ns, found.woken_by) == ("when its turn comes", None, {})


def test_a_refused_pod_waits_for_what_its_plugins_await_or_until_it_has_waited_too_long() -> None:
    room = WaitingRoom(LIMITS)
    room.refuse(pod("a"), "Roomy", 10)
    found = described(view_of(room), "a")
    assert (found.place, found.rejected_by) == ("unschedulable", ("Roomy",))
    assert found.woken_by == {"Roomy": ("Node: added",)}
    assert found.next_try_at_ns == ns(70)


def test_a_pod_that_backs_off_is_tried_when_its_last_second_is_over_or_nobody_else_is_ready() -> None:
    room = WaitingRoom(LIMITS)
    room.refuse(pod("a"), "Roomy", 10)
    room.happens(at=11)
    found = described(view_of(room), "a")
    assert found.place == "backoff"
    assert found.next_try == "when no other pod is ready, or its wait is over"
    assert found.next_try_at_ns == ns(13)


def test_a_pod_whose_attempt_failed_waits_for_its_time_alone() -> None:
    room = WaitingRoom(LIMITS)
    room.add(pod("a"), 10)
    room.pop(10)
    room.give_back("a", 10)
    found = described(view_of(room), "a")
    assert (found.place, found.next_try) == ("error backoff", "when its wait is over")


def test_a_gated_pod_waits_for_its_gate() -> None:
    room = WaitingRoom(LIMITS)
    room.shut.add("a")
    room.add(pod("a"), 1)
    found = described(view_of(room), "a")
    assert (found.place, found.rejected_by, found.next_try) == ("gated", ("Gate",), "when Gate lets it in")
    assert found.woken_by == {"Gate": ("Pod: labels changed",)}


def test_a_pod_that_is_being_tried_may_be_held_by_permit() -> None:
    room, held = WaitingRoom(LIMITS), WaitingPods()
    room.add(pod("a"), 1)
    room.pop(2)
    assert described(view_of(room), "a").next_try == "it is being tried"
    held.add(WaitingPod(pod("a"), "n", {"Patient": 10.0}))
    found = described(view_of(room, held), "a")
    assert (found.place, found.since_ns, found.rejected_by) == ("in flight", ns(2), ("Patient",))
    assert found.next_try == "held in Permit"


def test_all_are_shown_those_first_that_are_tried_soonest_and_nothing_is_changed() -> None:
    room = WaitingRoom(LIMITS)
    room.refuse(pod("refused"), "Roomy", 1)
    room.shut.add("gated")
    room.add(pod("gated"), 2)
    room.add(pod("second"), 4)
    room.add(pod("first"), 3)
    view = view_of(room)
    assert [one.pod.partition("/")[2] for one in view.all()] == ["first", "second", "refused", "gated"]
    assert {place: count for place, count in counts(view.all()).items() if count} == {
        "active": 2,
        "unschedulable": 1,
        "gated": 1,
    }
    assert room.places == {"first": "active", "second": "active", "refused": "unschedulable", "gated": "gated"}
    validate_queue(room.queue)


def test_a_pod_that_does_not_wait_is_not_described() -> None:
    assert view_of(WaitingRoom(LIMITS)).of(pod("elsewhere")) is None

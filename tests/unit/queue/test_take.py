"""Taking pods out of turn: from wherever they wait, except from behind a gate that is shut."""

from __future__ import annotations

import pytest

from stowplan.queue.entry import Place
from stowplan.queue.validate import contents, validate_queue
from stowplan.testing import make_pod
from tests.unit.queue.waiting_room import NODE_ADDED, WaitingRoom, ns

POD = make_pod("p").build()


def waiting_in(place: Place) -> WaitingRoom:
    """Bring a pod to a place."""
    room = WaitingRoom()
    if place is Place.GATED:
        room.shut.add("p")
    room.add(POD)
    if place in (Place.UNSCHEDULABLE, Place.BACKOFF, Place.ERROR_BACKOFF):
        assert room.pop() == "p"
        room.give_back("p", rejected_by=() if place is Place.ERROR_BACKOFF else ("Roomy",))
    if place is Place.BACKOFF:
        room.queue.on_change(NODE_ADDED, ns(0))
    assert [entry.pod.name for entry in contents(room.queue)[place]] == ["p"]
    return room


@pytest.mark.parametrize(
    "place",
    [Place.ACTIVE, Place.BACKOFF, Place.ERROR_BACKOFF, Place.UNSCHEDULABLE],
    ids=lambda place: place.value,
)
def test_a_pod_is_taken_from_where_it_waits(place: Place) -> None:
    room = waiting_in(place)
    attempts = room.queue.places.entries[POD.uid].attempts
    (taken,) = room.queue.take([POD], ns(5))
    validate_queue(room.queue)
    assert (taken.pod, taken.place, taken.attempts) == (POD, Place.IN_FLIGHT, attempts + 1)
    assert (taken.rejected_by, taken.taken_at_ns) == (frozenset(), ns(5))
    assert room.pop(60) is None


def test_a_pod_whose_gate_is_shut_stays_there() -> None:
    room = waiting_in(Place.GATED)
    assert room.queue.take([POD], ns(5)) == []
    validate_queue(room.queue)
    assert room.queue.places.entries[POD.uid].place is Place.GATED


def test_a_pod_whose_gate_has_opened_is_taken() -> None:
    room = waiting_in(Place.GATED)
    room.shut.clear()
    (taken,) = room.queue.take([POD], ns(5))
    validate_queue(room.queue)
    assert (taken.place, taken.gated_by, taken.ready_at_ns) == (Place.IN_FLIGHT, "", ns(5))


def test_pods_that_are_not_here_are_left_out() -> None:
    room = waiting_in(Place.ACTIVE)
    assert room.pop() == "p"
    assert room.queue.take([POD, make_pod("unknown").build()], ns(0)) == []

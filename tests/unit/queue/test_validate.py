"""`validate` finds what is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stowplan.queue.entry import Place, QueuedPod
from stowplan.queue.validate import validate_queue
from tests.unit.queue.waiting_room import NODE_ADDED, WaitingRoom, pod, relabelled


def lose(room: WaitingRoom) -> None:
    del room.queue.places.entries[pod("refused").uid]


def double(room: WaitingRoom) -> None:
    entry = room.queue.places.entries[pod("refused").uid]
    entry.place = Place.ACTIVE
    room.queue.places.active.put(entry, (0, 0))


def misplace(room: WaitingRoom) -> None:
    room.queue.places.entries[pod("refused").uid].place = Place.BACKOFF


def forget_who_refused(room: WaitingRoom) -> None:
    room.queue.places.entries[pod("refused").uid].unschedulable_plugins = frozenset()


def take_without_an_attempt(room: WaitingRoom) -> None:
    entry = QueuedPod(pod("stranger"), queued_at_ns=0)
    room.queue.in_flight.start(entry, 0)
    entry.attempts = 0


def leak(room: WaitingRoom) -> None:
    room.queue.in_flight.events.append(NODE_ADDED)


@pytest.mark.parametrize(
    ("harm", "complaint"),
    [
        pytest.param(lose, "known and found differ", id="a pod that nobody knows"),
        pytest.param(double, "but says it is|two places", id="a pod in two places"),
        pytest.param(misplace, "but says it is", id="a pod that is not where it says"),
        pytest.param(forget_who_refused, "nobody rejected it", id="a refused pod that nobody refused"),
        pytest.param(take_without_an_attempt, "without an attempt", id="a pod in flight that was never tried"),
        pytest.param(leak, "kept for nobody", id="events that nobody will read"),
    ],
)
def test_harm_is_found(harm: Callable[[WaitingRoom], None], complaint: str) -> None:
    room = WaitingRoom()
    room.refuse(pod("refused"), "Roomy")
    harm(room)
    with pytest.raises(AssertionError, match=complaint):
        validate_queue(room.queue)


def test_a_pod_that_failed_and_was_gated_in_between_backs_off_and_nothing_is_wrong() -> None:
    room = WaitingRoom()
    room.add(pod("p"))
    assert room.pop() == "p"
    room.shut.add("p")
    room.give_back("p")
    assert room.places == {"p": "gated"}
    room.shut.clear()
    room.update(pod("p"), relabelled(pod("p")), at=0.1)
    assert room.places == {"p": "backoff"}

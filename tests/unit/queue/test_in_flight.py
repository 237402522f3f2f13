"""Events that pods in flight will want to know about, and when they are forgotten."""

from __future__ import annotations

from stowplan.framework.changes import NODE_ADD, Event
from stowplan.queue.entry import QueuedPod
from stowplan.queue.in_flight import Flight, InFlightPods
from tests.unit.queue.waiting_room import pod


def start(in_flight: InFlightPods, name: str) -> Flight:
    entry = QueuedPod(pod(name), 0)
    in_flight.start(entry)
    flight = in_flight.get(entry.id)
    assert flight is not None
    return flight


def seen(in_flight: InFlightPods, flight: Flight) -> list[int]:
    return [event.new for event in in_flight.since(flight)]


def record(in_flight: InFlightPods, *numbers: int) -> None:
    in_flight.record(Event(NODE_ADD, None, number) for number in numbers)


def test_each_pod_sees_what_happened_since_it_was_taken() -> None:
    in_flight = InFlightPods()
    first = start(in_flight, "first")
    record(in_flight, 1)
    second = start(in_flight, "second")
    record(in_flight, 2, 3)
    assert seen(in_flight, first) == [1, 2, 3]
    assert seen(in_flight, second) == [2, 3]


def test_events_are_kept_only_while_the_oldest_pod_may_ask() -> None:
    in_flight = InFlightPods()
    first = start(in_flight, "first")
    record(in_flight, 1)
    second = start(in_flight, "second")
    record(in_flight, 2)
    in_flight.finish(first)
    assert in_flight.event_count == 1
    assert seen(in_flight, second) == [2]
    in_flight.finish(second)
    assert in_flight.event_count == 0


def test_a_younger_pod_that_ends_first_frees_nothing() -> None:
    in_flight = InFlightPods()
    first = start(in_flight, "first")
    second = start(in_flight, "second")
    record(in_flight, 1)
    in_flight.finish(second)
    assert seen(in_flight, first) == [1]


def test_nothing_is_kept_while_nobody_is_under_way() -> None:
    in_flight = InFlightPods()
    record(in_flight, 1)
    assert in_flight.event_count == 0
    assert seen(in_flight, start(in_flight, "late")) == []

"""Pods in order, with removal anywhere."""

from __future__ import annotations

from itertools import count

from stowplan.framework.changes import NODE_ADD, ObjectChange
from stowplan.queue.entry import FEW, Flight, InFlightPods, PodHeap, QueuedPod
from tests.unit.queue.waiting_room import pod


def entries(*names: str) -> list[QueuedPod]:
    return [QueuedPod(pod(name), queued_at_ns=0) for name in names]


def names(heap: PodHeap) -> list[str]:
    return [entry.pod.name for entry in heap if isinstance(entry, QueuedPod)]


def test_the_smallest_key_comes_first_and_among_equals_the_earlier_put() -> None:
    heap = PodHeap(count(1))
    a, b, c = entries("a", "b", "c")
    for entry, key in ((a, 2), (b, 1), (c, 2)):
        heap.put(entry, key)
    assert names(heap) == ["b", "a", "c"]
    assert [heap.pop(), heap.pop(), heap.pop(), heap.pop()] == [b, a, c, None]


def test_a_pod_put_again_moves() -> None:
    heap = PodHeap(count(1))
    a, b = entries("a", "b")
    heap.put(a, 1)
    heap.put(b, 2)
    heap.put(a, 3)
    assert names(heap) == ["b", "a"]
    assert len(heap) == 2


def test_a_removed_pod_is_not_found_again() -> None:
    heap = PodHeap(count(1))
    a, b = entries("a", "b")
    heap.put(a, 1)
    heap.put(b, 2)
    heap.remove(a)
    assert heap.first() is b
    assert len(heap) == 1


def test_a_pod_that_moved_to_another_heap_is_dead_in_the_first() -> None:
    tickets = count(1)
    here, there = PodHeap(tickets), PodHeap(tickets)
    (a,) = entries("a")
    here.put(a, 1)
    here.remove(a)
    there.put(a, 1)
    assert names(here) == []
    assert names(there) == ["a"]


def test_what_is_dead_is_swept_before_it_outgrows_the_living() -> None:
    heap = PodHeap(count(1))
    a, b = entries("a", "b")
    heap.put(a, 1)
    for key in range(10 * FEW):
        heap.put(b, key)
    assert len(heap._items) <= FEW + 2 * len(heap)
    assert names(heap) == ["a", "b"]


def start(in_flight: InFlightPods, name: str) -> Flight:
    entry = QueuedPod(pod(name), queued_at_ns=0)
    in_flight.start(entry, 0)
    flight = in_flight.flights.get(entry.id)
    assert flight is not None
    return flight


def seen(in_flight: InFlightPods, flight: Flight) -> list[int]:
    return [event.new for event in in_flight.since(flight)]


def record(in_flight: InFlightPods, *numbers: int) -> None:
    in_flight.record(ObjectChange(NODE_ADD, None, number) for number in numbers)


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
    assert len(in_flight.events) == 1
    assert seen(in_flight, second) == [2]
    in_flight.finish(second)
    assert len(in_flight.events) == 0


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
    assert len(in_flight.events) == 0
    assert seen(in_flight, start(in_flight, "late")) == []

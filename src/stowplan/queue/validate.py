"""Re-derive everything the queue claims, from the pods alone. Tests do it after every step,
and a running scheduler when it is asked for a dump (SIGUSR2).
"""

from __future__ import annotations

from collections import Counter

from stowplan.queue.entry import POOLED, Place, QueuedPod
from stowplan.queue.queue import SchedulingQueue


def validate_queue(queue: SchedulingQueue) -> None:
    """Raise AssertionError naming the first thing that is not as it should be."""
    _check_places(queue)
    _check_states(queue)
    _check_index(queue)
    _check_in_flight(queue)


def contents(queue: SchedulingQueue) -> dict[Place, list[QueuedPod]]:
    """Return what is in each container, in its order."""
    pool = list(queue.places.unschedulable)
    return {
        Place.ACTIVE: list(queue.places.active),
        Place.BACKOFF: list(queue.places.backoff.refused),
        Place.ERROR_BACKOFF: list(queue.places.backoff.failed),
        Place.UNSCHEDULABLE: [entry for entry in pool if not entry.gated_by],
        Place.GATED: [entry for entry in pool if entry.gated_by],
        Place.IN_FLIGHT: [flight.entry for flight in queue.in_flight],
    }


def _check_places(queue: SchedulingQueue) -> None:
    found = contents(queue)
    for place, entries in found.items():
        for entry in entries:
            assert entry.place is place, f"pod {entry.pod.key} is {place.value} but says it is {entry.place.value}"
    times = Counter(entry.id for entries in found.values() for entry in entries)
    doubled = [pod_id for pod_id, count in times.items() if count > 1]
    assert not doubled, f"pods in two places: {doubled}"
    waiting = {entry.id: entry for place, entries in found.items() for entry in entries if place is not Place.IN_FLIGHT}
    known = queue.places.entries
    assert waiting == known, f"known and found differ: {sorted(waiting.keys() ^ known.keys())}"
    for heap in (queue.places.active, queue.places.backoff.refused, queue.places.backoff.failed):
        assert len(heap) == len(list(heap)), "the count of a heap differs from its pods"


def _check_states(queue: SchedulingQueue) -> None:
    """Check the table of `docs/queue.md`: what is known of a pod in each place."""
    for entry in queue.places.entries.values():
        name = entry.pod.key
        assert bool(entry.ticket) is (entry.place not in POOLED), f"pod {name}: in a heap or in the pool, not both"
        assert bool(entry.gated_by) is (entry.place is Place.GATED), f"pod {name}: gated by {entry.gated_by!r}"
        assert entry.gated_by in (*entry.rejected_by, ""), f"pod {name}: its gate is not among its rejectors"
        if entry.place in (Place.BACKOFF, *POOLED):
            assert entry.rejected_by, f"pod {name} is {entry.place.value}, but nobody rejected it"
        if entry.place is Place.ERROR_BACKOFF:
            assert entry.errors, f"pod {name}: backs off after an error without one"
            assert not entry.rejected_by, f"pod {name}: backs off after an error, but was refused"
        if entry.place is Place.BACKOFF:
            # After an error alone if a gate has kept it in between: who gates a pod counts as one who rejected it.
            assert entry.refusals or entry.errors, f"pod {name}: backs off without having been refused"
        assert entry.refusals + entry.errors <= entry.attempts, f"pod {name}: more failures than attempts"


def _check_index(queue: SchedulingQueue) -> None:
    expected: dict[tuple[str, str], set[str]] = {}
    for entry in queue.places.unschedulable:
        for rejector in entry.rejectors:
            expected.setdefault(rejector, set()).add(entry.id)
    assert queue.places.unschedulable.index() == expected, "the index by rejecting plugin differs from the pods"


def _check_in_flight(queue: SchedulingQueue) -> None:
    for flight in queue.in_flight:
        assert flight.entry.attempts > 0, f"pod {flight.entry.pod.key} is in flight without an attempt"
        assert not flight.entry.ticket, f"pod {flight.entry.pod.key} is in flight and in a heap"
    assert len(queue.in_flight) or not queue.in_flight.events, "events are kept for nobody"

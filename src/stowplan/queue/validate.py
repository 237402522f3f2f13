"""Re-derive everything the queue claims, from the pods alone. Tests do it after every step,
and a running scheduler when it is asked for a dump (SIGUSR2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from stowplan.queue.entry import POOLED, Entry, Place, QueuedGroup, QueuedPod
from stowplan.queue.queue import SchedulingQueue


def validate_queue(queue: SchedulingQueue) -> None:
    """Raise AssertionError naming the first thing that is not as it should be."""
    _check_places(queue)
    _check_groups(queue)
    _check_states(queue)
    _check_index(queue)
    _check_in_flight(queue)


def entities(queue: SchedulingQueue) -> dict[Place, list[Entry]]:
    """Return what is in each container of those who wait as one, in its order."""
    pool = list(queue.places.unschedulable)
    return {
        Place.ACTIVE: list(queue.places.active),
        Place.BACKOFF: list(queue.places.backoff.refused),
        Place.ERROR_BACKOFF: list(queue.places.backoff.failed),
        Place.UNSCHEDULABLE: [entry for entry in pool if not entry.gated_by],
        Place.GATED: [entry for entry in pool if entry.gated_by],
    }


def contents(queue: SchedulingQueue) -> dict[Place, list[QueuedPod]]:
    """Return the pods in each place, in its order; those of a group are where the group is."""
    found = {place: list(_pods(entries)) for place, entries in entities(queue).items()}
    others = [] if queue.groups is None else list(queue.groups)
    for place in (Place.INCOMPLETE, Place.PENDING):
        found[place] = [member for member in others if member.place is place]
    found[Place.IN_FLIGHT] = [flight.entry for flight in queue.in_flight]
    return found


def _pods(entries: Iterable[Entry]) -> Iterable[QueuedPod]:
    for entry in entries:
        if isinstance(entry, QueuedGroup):
            yield from entry.members
        else:
            yield entry


def _check_places(queue: SchedulingQueue) -> None:
    found, held = contents(queue), entities(queue)
    for place, entries in held.items():
        for one in entries:
            assert one.place is place, f"{one.id} is {place.value} but says it is {one.place.value}"
    for place, pods in found.items():
        for entry in pods:
            assert entry.where is place, f"pod {entry.pod.key} is {place.value} but says it is {entry.where.value}"
    times = Counter(entry.id for pods in found.values() for entry in pods)
    doubled = [pod_id for pod_id, count in times.items() if count > 1]
    assert not doubled, f"pods in two places: {doubled}"
    waiting = {entry.id: entry for place, pods in found.items() for entry in pods if place is not Place.IN_FLIGHT}
    known = queue.places.entries | (queue.groups.members if queue.groups is not None else {})
    assert waiting == known, f"known and found differ: {sorted(waiting.keys() ^ known.keys())}"
    for heap in (queue.places.active, queue.places.backoff.refused, queue.places.backoff.failed):
        assert len(heap) == len(list(heap)), "the count of a heap differs from its pods"


def _check_groups(queue: SchedulingQueue) -> None:
    """Check that each group waits once, with pods, and that pods know with whom they wait."""
    found = [one for entries in entities(queue).values() for one in entries if isinstance(one, QueuedGroup)]
    assert {one.id: one for one in found} == queue.places.groups, "groups known and found differ"
    for group in found:
        assert group.members, f"{group.id} waits without a pod"
        assert all(member.group is group for member in group.members), f"a pod of {group.id} waits with another group"
        assert not group.rejected_by, f"{group.id} was refused, where only its pods can be"
    under_way = queue.groups.under_way if queue.groups is not None else None
    if under_way is not None:
        assert under_way.id not in queue.places.groups, f"{under_way.id} is tried, and waits too"


def _check_states(queue: SchedulingQueue) -> None:
    """Check the table of `docs/queue.md`: what is known of a pod in each place."""
    for entry in queue.places.known:
        name = entry.id
        assert bool(entry.ticket) is (entry.place not in POOLED), f"pod {name}: in a heap or in the pool, not both"
        assert bool(entry.gated_by) is (entry.place is Place.GATED), f"pod {name}: gated by {entry.gated_by!r}"
        if isinstance(entry, QueuedGroup):
            _check_group_state(entry)
            continue
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


def _check_group_state(group: QueuedGroup) -> None:
    """Check that a group is where groups may be: its own attempts are refused by nobody in particular."""
    assert group.place not in (Place.BACKOFF, Place.UNSCHEDULABLE), f"{group.id} is {group.place.value}"
    if group.place is Place.ERROR_BACKOFF:
        assert group.refusals or group.errors, f"{group.id} backs off without having been tried"
    assert group.refusals + group.errors <= group.attempts, f"{group.id}: more failures than attempts"


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

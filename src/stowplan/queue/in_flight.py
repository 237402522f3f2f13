"""Pods that are being tried, and what has happened since each was taken.

A pod that comes back refused is shown these events before it is put away: what happened while it was tried may be just
what it needs. One list serves all pods; each remembers where in the list it started, and events older than the oldest
start are forgotten.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from stowplan.framework.changes import Event
from stowplan.model.pod import Pod
from stowplan.queue.entry import Place, QueuedPod


@dataclass(slots=True, eq=False)
class Flight:
    """One pod under way."""

    entry: QueuedPod
    # How many events had been recorded, in all, when it was taken.
    start: int
    #: The newest version of the pod that the queue was told of, if any.
    update: Pod | None = None
    #: Whether it was deleted, or bound by another, meanwhile.
    is_gone: bool = False


class InFlightPods:
    """The pods under way, in the order taken."""

    def __init__(self) -> None:
        self._flights: dict[str, Flight] = {}
        self._events: deque[Event] = deque()
        # How many events have been recorded, and how many of them forgotten.
        self._recorded = 0
        self._forgotten = 0

    def __len__(self) -> int:
        return len(self._flights)

    def __iter__(self) -> Iterator[Flight]:
        return iter(self._flights.values())

    @property
    def event_count(self) -> int:
        """How many events are remembered."""
        return len(self._events)

    @property
    def events(self) -> Iterator[Event]:
        """The events that are remembered, oldest first."""
        return iter(self._events)

    def get(self, pod_id: str) -> Flight | None:
        return self._flights.get(pod_id)

    def start(self, entry: QueuedPod) -> None:
        """Note that a pod is being tried."""
        entry.place = Place.IN_FLIGHT
        self._flights[entry.id] = Flight(entry, self._recorded)

    def record(self, events: Iterable[Event]) -> None:
        """Remember what happened, if anybody is under way who may want to know."""
        if self._flights:
            before = len(self._events)
            self._events.extend(events)
            self._recorded += len(self._events) - before

    def since(self, flight: Flight) -> Iterator[Event]:
        """Go through what happened since a pod was taken."""
        return islice(self._events, flight.start - self._forgotten, None)

    def finish(self, flight: Flight) -> None:
        """Note that a pod is no longer being tried, and forget what only it wanted to know."""
        del self._flights[flight.entry.id]
        flight.entry.place = Place.GONE
        oldest = next(iter(self._flights.values()), None)
        keep_from = self._recorded if oldest is None else oldest.start
        while self._forgotten < keep_from:
            self._events.popleft()
            self._forgotten += 1

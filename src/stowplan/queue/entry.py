"""A pod that waits, with what the queue has to remember about it; and such pods in order."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from stowplan.model.pod import Pod, pod_id


class Place(Enum):
    """Where a pod is; it is in exactly one place. The names are those of the metric `queue_incoming_pods_total`."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    ERROR_BACKOFF = "error backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in flight"
    GONE = "gone"


BACKING_OFF = (Place.BACKOFF, Place.ERROR_BACKOFF)
POOLED = (Place.UNSCHEDULABLE, Place.GATED)

#: A plugin of a profile: the scheduler name and the name of the plugin.
Rejector = tuple[str, str]


_Item = tuple[Any, int, "QueuedPod"]

# Dead items that are never worth sweeping.
FEW: Final = 64


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod in the queue, or taken from it. Only the queue writes to it. Times are nanoseconds since the epoch."""

    pod: Pod
    #: When it came, or came back after an attempt: among pods of one priority the oldest goes first.
    queued_at_ns: int
    place: Place = Place.GONE
    attempts: int = 0
    #: When it was first fit to be tried; the time until it is placed counts from here.
    ready_at_ns: int | None = None
    unschedulable_plugins: frozenset[str] = frozenset()
    #: Plugins that only wait for something outside: once they have it, the pod need not back off.
    pending_plugins: frozenset[str] = frozenset()
    #: The plugin that keeps it from being tried at all.
    gated_by: str = ""
    #: What that plugin says.
    gate_reasons: tuple[str, ...] = ()
    #: What is wrong with that plugin, if it keeps the pod out only because it failed.
    gate_fault: str = ""
    #: Attempts that plugins refused.
    refusals: int = 0
    #: Attempts in a row that failed for another reason.
    errors: int = 0
    #: The whole second up to which it backs off; None until somebody asks.
    backoff_until: int | None = None
    #: When it was last brought back only because it had waited too long.
    flushed_at_ns: int = 0
    #: When it was last taken to be tried.
    taken_at_ns: int = 0
    #: Marks its item in the heap it is in; an older item is dead.
    ticket: int = field(default=0, repr=False)

    @property
    def id(self) -> str:
        return pod_id(self.pod)

    @property
    def was_flushed(self) -> bool:
        """Whether its last attempt came about only because it had waited too long."""
        return self.flushed_at_ns > self.queued_at_ns

    @property
    def rejected_by(self) -> frozenset[str]:
        """The plugins that refused it in its last attempt, or gate it."""
        return self.unschedulable_plugins | self.pending_plugins

    @property
    def rejectors(self) -> list[Rejector]:
        """The plugins whose awaited changes may bring it back. A gated pod hears only of what its gate awaits."""
        names = (self.gated_by,) if self.gated_by else self.rejected_by
        return [(self.pod.spec.scheduler_name, name) for name in names]


class PodHeap:
    """A priority queue of pods by a key given with each; the smallest key is first, among equals the earlier put.

    What is taken out stays in the list, dead, until it surfaces or there is too much of it.
    """

    def __init__(self, tickets: Iterator[int]) -> None:
        """Heaps that a pod may move between draw from the same `tickets`, so a dead item never comes alive again."""
        self._tickets = tickets
        self._items: list[_Item] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[QueuedPod]:
        """Go through the pods, first to last."""
        return (item[2] for item in sorted(filter(_is_alive, self._items), key=lambda item: item[:2]))

    def put(self, entry: QueuedPod, key: Any) -> None:
        """Put in a pod, or move one that is in."""
        if not entry.ticket:
            self._size += 1
        entry.ticket = next(self._tickets)
        heapq.heappush(self._items, (key, entry.ticket, entry))
        self._sweep()

    def remove(self, entry: QueuedPod) -> None:
        """Take out a pod that is in."""
        entry.ticket = 0
        self._size -= 1
        self._sweep()

    def first(self) -> QueuedPod | None:
        while self._items and not _is_alive(self._items[0]):
            heapq.heappop(self._items)
        return self._items[0][2] if self._items else None

    def pop(self) -> QueuedPod | None:
        """Take out the first pod; None if there is none."""
        entry = self.first()
        if entry is not None:
            heapq.heappop(self._items)
            self.remove(entry)
        return entry

    def _sweep(self) -> None:
        if len(self._items) > FEW + 2 * self._size:
            self._items = list(filter(_is_alive, self._items))
            heapq.heapify(self._items)


def _is_alive(item: _Item) -> bool:
    return item[1] == item[2].ticket

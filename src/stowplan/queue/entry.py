"""Who waits, a pod or a group, with what the queue has to remember of it; such in order; and the pods being tried.

A pod that comes back refused is shown what happened while it was tried before it is put away: it may be just what it
needs. One list of events serves all pods; each remembers where in the list it started, and events older than the oldest
start are forgotten.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import islice
from typing import Any, ClassVar, Final

import msgspec

from stowplan.framework.changes import ObjectChange
from stowplan.model.pod import Pod, pod_id
from stowplan.model.pod_group import GroupKey


class Place(Enum):
    """Where a pod is; it is in exactly one place. Names and order are those that users see."""

    IN_FLIGHT = "in flight"
    ACTIVE = "active"
    BACKOFF = "backoff"
    ERROR_BACKOFF = "error backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    #: A member of a group that is not known, or that is a part of one that is not.
    INCOMPLETE = "incomplete"
    #: A member of a group that is being tried; it joins the group when that is back.
    PENDING = "pending"
    GONE = "gone"


BACKING_OFF = (Place.BACKOFF, Place.ERROR_BACKOFF)
POOLED = (Place.UNSCHEDULABLE, Place.GATED)

#: A plugin of a profile: the scheduler name and the name of the plugin.
Rejector = tuple[str, str]


_Item = tuple[Any, int, "Entry"]

# Dead items that are never worth sweeping.
FEW: Final = 64


class Entity(msgspec.Struct, eq=False, kw_only=True):
    """What the queue remembers of whoever waits as one. Only the queue writes to it. Times are nanoseconds."""

    #: When it came, or came back after an attempt: among those of one priority the oldest goes first.
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
    #: Whether its next attempt, or the last, comes about for no other reason.
    was_flushed: bool = False
    #: When it was last taken to be tried.
    taken_at_ns: int = 0
    #: Marks its item in the heap it is in; an older item is dead.
    ticket: int = 0
    #: Of all versions of the pod, or of the group.
    id: str = ""

    @property
    def rejected_by(self) -> frozenset[str]:
        """The plugins that refused it in its last attempt, or gate it."""
        return self.unschedulable_plugins | self.pending_plugins


class QueuedPod(Entity, eq=False):
    """A pod in the queue, or taken from it."""

    #: What metrics call it.
    type: ClassVar[str] = "pod"

    pod: Pod
    #: The group with which it waits and is tried.
    group: QueuedGroup | None = None

    def __post_init__(self) -> None:
        self.id = pod_id(self.pod)

    @property
    def where(self) -> Place:
        """Where it is: a member of a group is where the group is."""
        return self.group.place if self.group is not None and self.place is Place.GONE else self.place

    @property
    def rejectors(self) -> list[Rejector]:
        """The plugins whose awaited changes may bring it back. A gated pod hears only of what its gate awaits."""
        names = (self.gated_by,) if self.gated_by else self.rejected_by
        return [(self.pod.spec.scheduler_name, name) for name in names]


class QueuedGroup(Entity, eq=False):
    """A pod group in the queue, or taken from it: the root of its tree, if it is a part of one."""

    type: ClassVar[str] = "podgroup"

    key: GroupKey
    #: The pods that wait, in the order in which they are tried.
    members: list[QueuedPod] = []

    def __post_init__(self) -> None:
        self.id = str(self.key)

    @property
    def rejectors(self) -> list[Rejector]:
        """The plugin that gates one of its pods: only what that awaits can bring it back. Else it just backs off."""
        return [(self.members[0].pod.spec.scheduler_name, self.gated_by)] if self.gated_by else []

    def join(self, member: QueuedPod) -> None:
        """Take in a pod at its place in the order."""
        member.group, member.place = self, Place.GONE
        insort(self.members, member, key=_order_of_members)

    def leave(self, member: QueuedPod) -> None:
        """Let a pod go."""
        member.group = None
        self.members.remove(member)


def _order_of_members(member: QueuedPod) -> Any:
    # Times are new after every attempt, so who was tried more often is older.
    return -member.pod.priority, -member.attempts, member.queued_at_ns, member.pod.name


#: Whoever waits as one.
Entry = QueuedPod | QueuedGroup


class PodHeap:
    """A priority queue by a key given with each entry; the smallest key is first, among equals the earlier put.

    What is taken out stays in the list, dead, until it surfaces or there is too much of it.
    """

    def __init__(self, tickets: Iterator[int]) -> None:
        """Heaps that a pod may move between draw from the same `tickets`, so a dead item never comes alive again."""
        self._tickets = tickets
        self._items: list[_Item] = []
        #: How many are in; read by others, changed here.
        self.size = 0

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Entry]:
        """Go through the pods, first to last."""
        return (item[2] for item in sorted(filter(_is_alive, self._items), key=lambda item: item[:2]))

    def put(self, entry: Entry, key: Any) -> None:
        """Put in a pod, or move one that is in."""
        if not entry.ticket:
            self.size += 1
        entry.ticket = next(self._tickets)
        heapq.heappush(self._items, (key, entry.ticket, entry))
        if len(self._items) > FEW + 2 * self.size:
            self._sweep()

    def remove(self, entry: Entry) -> None:
        """Take out a pod that is in."""
        entry.ticket = 0
        self.size -= 1
        if len(self._items) > FEW + 2 * self.size:
            self._sweep()

    def first(self) -> Entry | None:
        """Return the first pod; None if there is none."""
        items = self._items
        while items:
            _, ticket, entry = items[0]
            if ticket == entry.ticket:
                return entry
            heapq.heappop(items)
        return None

    def pop(self) -> Entry | None:
        """Take out the first pod; None if there is none."""
        while self._items:
            _, ticket, entry = heapq.heappop(self._items)
            if ticket == entry.ticket:
                entry.ticket = 0
                self.size -= 1
                return entry
        return None

    def _sweep(self) -> None:
        self._items = list(filter(_is_alive, self._items))
        heapq.heapify(self._items)


def _is_alive(item: _Item) -> bool:
    return item[1] == item[2].ticket


class Flight(msgspec.Struct, eq=False):
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
        #: By the ids of the pods; read by others, changed here.
        self.flights: dict[str, Flight] = {}
        #: What happened since the first of them was taken, oldest first; read by others, changed here.
        self.events: deque[ObjectChange] = deque()
        # How many events have been recorded, and how many of them forgotten.
        self._recorded = 0
        self._forgotten = 0

    def __len__(self) -> int:
        return len(self.flights)

    def __iter__(self) -> Iterator[Flight]:
        return iter(self.flights.values())

    def start(self, entry: QueuedPod, now_ns: int) -> None:
        """Note that a pod is being tried, from now on."""
        entry.attempts += 1
        entry.taken_at_ns = now_ns
        entry.unschedulable_plugins = entry.pending_plugins = frozenset()
        entry.place = Place.IN_FLIGHT
        self.flights[entry.id] = Flight(entry, self._recorded)

    def record(self, events: Iterable[ObjectChange]) -> None:
        """Remember what happened, if anybody is under way who may want to know."""
        if self.flights:
            before = len(self.events)
            self.events.extend(events)
            self._recorded += len(self.events) - before

    def since(self, flight: Flight) -> Iterator[ObjectChange]:
        """Go through what happened since a pod was taken."""
        return islice(self.events, flight.start - self._forgotten, None)

    def finish(self, flight: Flight) -> None:
        """Note that a pod is no longer being tried, and forget what only it wanted to know."""
        del self.flights[flight.entry.id]
        flight.entry.place = Place.GONE
        oldest = next(iter(self.flights.values()), None)
        keep_from = self._recorded if oldest is None else oldest.start
        while self._forgotten < keep_from:
            self.events.popleft()
            self._forgotten += 1

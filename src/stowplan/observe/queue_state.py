"""Who waits in the queue, where, since when, why, and what will bring each back: a read that changes nothing.

`spell` says in words what a plugin waits for: `Node: added, allocatable changed`. `PodHistory` is the way of one pod
through the queue, as text and for programs; `timeline` remembers its attempts.
"""

from __future__ import annotations

import datetime
import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, assert_never

import msgspec

from stowplan.extender.chain import ExtenderQuestion
from stowplan.framework.changes import ANYTHING, Action
from stowplan.framework.contract import Awaited
from stowplan.framework.waiting_pods import WaitingPods
from stowplan.model.pod import Pod, pod_id
from stowplan.model.pod_group import GroupKey
from stowplan.model.timestamps import format_micro_time
from stowplan.observe.explanation import columns
from stowplan.observe.timeline import ExtenderRemark, Timeline, Try
from stowplan.queue.entry import POOLED, Entry, Place, QueuedPod
from stowplan.queue.places import SECOND, QueueLimits
from stowplan.queue.queue import SchedulingQueue

#: The places in the order in which they are shown.
ORDER: Final[tuple[Place, ...]] = tuple(place for place in Place if place is not Place.GONE)
_RANK: Final[Mapping[Place, int]] = MappingProxyType({place: number for number, place in enumerate(ORDER)})

_WORDS: Final[Mapping[Action, str]] = MappingProxyType(
    {
        Action.ADD: "added",
        Action.DELETE: "deleted",
        Action.UPDATE_NODE_ALLOCATABLE: "allocatable changed",
        Action.UPDATE_NODE_LABEL: "labels changed",
        Action.UPDATE_NODE_TAINT: "taints changed or uncordoned",
        Action.UPDATE_NODE_CONDITION: "conditions changed",
        Action.UPDATE_NODE_ANNOTATION: "annotations changed",
        Action.UPDATE_NODE_DECLARED_FEATURE: "declared features changed",
        Action.UPDATE_NODE_PREEMPTION_POLICY: "preemption policy changed",
        Action.UPDATE_POD_LABEL: "labels changed",
        Action.UPDATE_POD_SCALE_DOWN: "requests less",
        Action.UPDATE_POD_SCALE_UP: "requests more",
        Action.UPDATE_POD_TOLERATION: "tolerates more",
        Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: "last gate taken away",
        Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM: "resource claims made",
    }
)


class Waiting(msgspec.Struct, frozen=True, rename="camel"):
    """A pod that waits. Times are nanoseconds since the epoch."""

    pod: str
    profile: str
    priority: int
    place: str
    #: Since when it is in this place.
    since_ns: int
    #: Since when it waits in all: an attempt does not make it younger.
    waiting_since_ns: int
    attempts: int
    #: The plugins that refused it in its last attempt, that gate it, or that hold it in Permit.
    rejected_by: tuple[str, ...]
    message: str
    nominated_node: str
    #: What it waits for, in words.
    next_try: str
    #: When it is tried at the latest; None if nothing but a change brings it back, or if it is its turn anyway.
    next_try_at_ns: int | None
    #: What each plugin that rejected it awaits, in words.
    woken_by: Mapping[str, tuple[str, ...]]
    #: What extenders said in its last attempt.
    extenders: tuple[ExtenderRemark, ...] = ()
    #: The pod group that it waits with; None if it waits alone.
    group: GroupKey | None = None


def counts(waiting: Iterable[Waiting]) -> dict[str, int]:
    """Return how many of the pods are in each place."""
    found = Counter(one.place for one in waiting)
    return {place.value: found[place.value] for place in ORDER}


@dataclass(frozen=True, slots=True)
class QueueExcerpt:
    """A part of the queue, whose pods are not described yet."""

    #: How many there are in each place, of those that are wanted.
    counts: Mapping[str, int]
    #: Since when the oldest of them is in each place where there are any, in nanoseconds since the epoch.
    oldest_ns: Mapping[str, int]
    entries: Sequence[QueuedPod]


#: Which pods are wanted.
Wanted = Callable[[QueuedPod], bool]
_QUEUED_AT: Final[Callable[[QueuedPod], int]] = attrgetter("queued_at_ns")
_TAKEN_AT: Final[Callable[[QueuedPod], int]] = attrgetter("taken_at_ns")


def soonest_first(entry: QueuedPod) -> tuple[int, int]:
    """Put those first that are tried soonest."""
    return _RANK[entry.where], entry.queued_at_ns


@dataclass(frozen=True, slots=True)
class QueueView:
    """The queue with what is needed to say why somebody is in it."""

    queue: SchedulingQueue
    limits: QueueLimits
    waiting_pods: WaitingPods
    timeline: Timeline
    #: What each plugin awaits, by scheduler name and plugin.
    awaited_by: Mapping[str, Mapping[str, tuple[Awaited, ...]]]
    #: What extenders have not answered yet about a pod.
    questions_about: Callable[[Pod], tuple[ExtenderQuestion, ...]] = lambda pod: ()

    def all(self) -> list[Waiting]:
        """Describe all pods that wait, those first that are tried soonest."""
        return [self.describe(entry) for entry in sorted(self.entries(), key=soonest_first)]

    def soonest(self, most: int, wanted: Wanted | None = None) -> QueueExcerpt:
        """Count the pods that are wanted, and return those that are tried soonest; None for all of the queue."""
        found = self._by_place(self.entries() if wanted is None else filter(wanted, self.entries()))
        first: list[QueuedPod] = []
        for place in ORDER:
            if len(first) < most:
                first += heapq.nsmallest(most - len(first), found.get(place, ()), key=_QUEUED_AT)
        return _excerpt(found, first)

    def longest(self, most: int) -> QueueExcerpt:
        """Count the pods that wait, and return those that wait longest, among them the first of each place."""
        found = self._by_place(self.entries())
        first = [min(there, key=_waiting_since) for there in found.values()]
        longest = heapq.nsmallest(most, chain.from_iterable(found.values()), key=_waiting_since)
        told = list(dict.fromkeys((*first, *longest)))[:most]
        return _excerpt(found, sorted(told, key=_waiting_since))

    @staticmethod
    def _by_place(entries: Iterable[QueuedPod]) -> dict[Place, list[QueuedPod]]:
        found: defaultdict[Place, list[QueuedPod]] = defaultdict(list)
        for entry in entries:
            found[entry.where].append(entry)
        return found

    def entries(self) -> Iterator[QueuedPod]:
        """Go through all pods that wait, in no order."""
        alone, members = self.queue.places.entries.values(), self.queue.groups or ()
        return chain((flight.entry for flight in self.queue.in_flight), alone, members)

    def of(self, pod: Pod) -> Waiting | None:
        """Describe one pod; None if it does not wait."""
        entry = self.queue.get(pod)
        if entry is None:
            flight = self.queue.in_flight.flights.get(pod_id(pod))
            entry = flight.entry if flight is not None else None
        return self.describe(entry) if entry is not None else None

    def describe(self, entry: QueuedPod) -> Waiting:
        """Say all that is to be said of a pod that waits."""
        pod = entry.pod
        text, at_ns = self._next_try(entry)
        tries = self.timeline.tries(pod)
        rejectors = self._rejectors(entry)
        return Waiting(
            pod=pod.key,
            profile=pod.spec.scheduler_name,
            priority=pod.priority,
            place=entry.where.value,
            since_ns=_since(entry.where)(entry),
            waiting_since_ns=_waiting_since(entry),
            attempts=entry.attempts,
            rejected_by=rejectors,
            message=tries[-1].message if tries else "",
            extenders=tries[-1].extenders if tries else (),
            nominated_node=self.queue.nominations.node_of(pod),
            next_try=text,
            next_try_at_ns=at_ns,
            woken_by=self._woken_by(entry, rejectors) if entry.where in POOLED else {},
            group=entry.group.key if entry.group is not None else None,
        )

    def _rejectors(self, entry: QueuedPod) -> tuple[str, ...]:
        held = self.waiting_pods.get(entry.pod)
        if held is not None:
            return tuple(sorted(held.held_by))
        return (entry.gated_by,) if entry.gated_by else tuple(sorted(entry.rejected_by))

    def _next_try(self, entry: QueuedPod) -> tuple[str, int | None]:
        waits: Entry = entry.group if entry.group is not None and entry.place is Place.GONE else entry
        match entry.where:
            case Place.IN_FLIGHT:
                return self._under_way(entry.pod), None
            case Place.ACTIVE:
                return "when its turn comes", None
            case Place.INCOMPLETE:
                why = self.queue.groups.why_incomplete(entry.pod) if self.queue.groups is not None else ""
                return f"when its pod group, and every group that it is a part of, is there ({why})", None
            case Place.PENDING:
                return "with its pod group, which is being tried", None
            case Place.GATED:
                return f"when {waits.gated_by} lets {'its group' if waits is not entry else 'it'} in", None
            case Place.UNSCHEDULABLE:
                latest = max(entry.queued_at_ns, entry.flushed_at_ns) + self.limits.max_unschedulable_seconds * SECOND
                return "when something it waits for happens", latest
            case Place.BACKOFF | Place.ERROR_BACKOFF:
                ends = (self.queue.places.backoff.until(waits) + 1) * self.limits.window_ns
                is_early = waits.place is Place.BACKOFF and self.limits.pops_early
                return "when no other pod is ready, or its wait is over" if is_early else "when its wait is over", ends
            case Place.GONE:
                return "never: it waits no more", None
            case unknown:
                assert_never(unknown)

    def _under_way(self, pod: Pod) -> str:
        if self.waiting_pods.get(pod) is not None:
            return "held in Permit"
        awaited = [f"extender {asked.extender.name} to answer {asked.verb}" for asked in self.questions_about(pod)]
        return f"it is being tried, and waits for {' and '.join(awaited)}" if awaited else "it is being tried"

    def _woken_by(self, entry: QueuedPod, rejectors: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        awaited = self.awaited_by.get(entry.pod.spec.scheduler_name, {})
        return {name: spell(awaited[name]) for name in rejectors if name in awaited}


def _excerpt(found: Mapping[Place, Sequence[QueuedPod]], entries: Sequence[QueuedPod]) -> QueueExcerpt:
    counted = {place.value: len(found.get(place, ())) for place in ORDER}
    oldest = {place.value: min(map(_since(place), found[place])) for place in ORDER if place in found}
    return QueueExcerpt(counted, oldest, entries)


def _since(place: Place) -> Callable[[QueuedPod], int]:
    """Return what tells since when a pod is in a place."""
    return _TAKEN_AT if place is Place.IN_FLIGHT else _QUEUED_AT


def _waiting_since(entry: QueuedPod) -> int:
    return entry.ready_at_ns or entry.queued_at_ns


def spell(awaited: Iterable[Awaited]) -> tuple[str, ...]:
    """Say what is awaited, one text for each resource."""
    actions: dict[str, Action] = {}
    for one in awaited:
        actions[one.resource] = actions.get(one.resource, Action(0)) | one.actions
    return tuple(_spell(resource, found) for resource, found in actions.items())


def _spell(resource: str, actions: Action) -> str:
    if resource == ANYTHING:
        return "anything"
    if Action.ALL in actions:
        return f"{resource}: any change"
    words = []
    if Action.UPDATE in actions:
        words, actions = ["changed"], actions & ~Action.UPDATE
    words = [word for action, word in _WORDS.items() if action in actions] + words
    return f"{resource}: {', '.join(dict.fromkeys(words))}"


class PodHistory(msgspec.Struct, frozen=True):
    """What is known of a pod beside the opinions about it."""

    #: The node it is on; "" if it is on none.
    node_name: str
    waiting: Waiting | None
    tries: tuple[Try, ...]
    now_ns: int

    def data(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "node": self.node_name or None,
            "queue": waiting_data(self.waiting) if self.waiting is not None else None,
            "attempts": [_try_data(one) for one in self.tries],
        }


def render_history(history: PodHistory, width: int) -> str:
    """Write a history for a terminal."""
    sections = (_place(history, width), _waking(history, width), _attempts(history, width))
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def waiting_data(waiting: Waiting) -> dict[str, Any]:
    """Return a waiting pod for programs, its times as the API writes them, and the name of its group."""
    data: dict[str, Any] = msgspec.to_builtins(waiting)
    data["group"] = str(waiting.group) if waiting.group is not None else ""
    since, first, at = (data.pop(name) for name in ("sinceNs", "waitingSinceNs", "nextTryAtNs"))
    latest = timestamp(at) if at is not None else None
    return {**data, "since": timestamp(since), "waitingSince": timestamp(first), "nextTryAt": latest}


def timestamp(time_ns: int) -> str:
    """Write a time as the API does."""
    return format_micro_time(_moment(time_ns))


def span(seconds: float) -> str:
    """Write a length of time in the one or two units that matter: `2 ms`, `45 s`, `3 min 5 s`, `2 h 10 min`."""
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.3g} ms"
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _place(history: PodHistory, width: int) -> list[str]:
    waiting = history.waiting
    if waiting is None:
        return []
    since = f"{_clock(waiting.since_ns)}, {span((history.now_ns - waiting.since_ns) / SECOND)} ago"
    attempts = "attempt" if waiting.attempts == 1 else "attempts"
    by = f"; rejected by {', '.join(waiting.rejected_by)}" if waiting.rejected_by else ""
    rows: list[tuple[object, ...]] = [
        ("place", f"{waiting.place} since {since}, after {waiting.attempts} {attempts}{by}"),
        ("next try", f"{waiting.next_try}{_latest(history, waiting)}"),
    ]
    if waiting.nominated_node:
        rows.append(("nominated", f"{waiting.nominated_node} keeps room for it"))
    return ["In the queue", *columns(rows, width)]


def _latest(history: PodHistory, waiting: Waiting) -> str:
    if waiting.next_try_at_ns is None:
        return ""
    left = max(0, waiting.next_try_at_ns - history.now_ns) / SECOND
    return f", at the latest at {_clock(waiting.next_try_at_ns)}, in {span(left)}"


def _waking(history: PodHistory, width: int) -> list[str]:
    woken_by = history.waiting.woken_by if history.waiting is not None else {}
    if not woken_by:
        return []
    rows = [(plugin, "; ".join(awaited)) for plugin, awaited in woken_by.items()]
    return ["What may bring it back", *columns(rows, width)]


def _attempts(history: PodHistory, width: int) -> list[str]:
    if not history.tries:
        return []
    rows: list[Sequence[object]] = [("at", "took", "outcome")]
    rows += [(_clock(one.started_at_ns or one.ended_at_ns), _took(one), _outcome(one)) for one in history.tries]
    return ["Attempts", *columns(rows, width)]


def _took(one: Try) -> str:
    return span((one.ended_at_ns - one.started_at_ns) / SECOND) if one.started_at_ns else ""


def _outcome(one: Try) -> str:
    heard = "".join(f"; extender {said.extender}: {said.verb}: {said.said}" for said in one.extenders)
    return f"{_what_came_of(one)}{heard}"


def _what_came_of(one: Try) -> str:
    match one.outcome:
        case "bound":
            return f"bound to {one.node_name}"
        case "dropped":
            return f"given up: {one.message}"
        case "error":
            return f"failed: {one.message}"
    room = f" (makes room on {one.node_name})" if one.node_name else ""
    # Nobody in particular refuses a pod that would have fitted, had its group.
    blame = f" by {', '.join(one.plugins)}" if one.plugins else ""
    return f"refused{blame}{room}: {one.message}"


def _try_data(one: Try) -> dict[str, Any]:
    return {
        "outcome": one.outcome,
        "startedAt": timestamp(one.started_at_ns) if one.started_at_ns else None,
        "endedAt": timestamp(one.ended_at_ns),
        "node": one.node_name or None,
        "plugins": list(one.plugins),
        "message": one.message,
        "extenders": [msgspec.to_builtins(heard) for heard in one.extenders],
    }


def _clock(time_ns: int) -> str:
    return _moment(time_ns).strftime("%H:%M:%S")


def _moment(time_ns: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(time_ns / SECOND, datetime.UTC)

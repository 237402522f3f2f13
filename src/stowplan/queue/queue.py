"""The scheduling queue: the owner of the pods that wait to be placed. `docs/queue.md` has the picture.

    add, update --gate--> active --try_pop--> in flight --done--> (gone)
                  |          ^  ^                 |
               gated         |  |             give_back
                  |       flush |                 v
                  +----> backing off <---- refused, nothing changed meanwhile?
                  |             ^                 |
               on_change        |  on_change      v
                  +-------------+---------- unschedulable

Each pod is in exactly one place (`entry.Place`). The queue reads no clock: every method that needs the time is given
it, in nanoseconds since the epoch. What becomes of a pod that is taken is up to `engine.scheduler`; `engine.intake`
tells of changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from itertools import count
from typing import Any

from stowplan.framework import changes
from stowplan.framework.changes import Event
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod
from stowplan.queue.backoff import SECOND, Backoff, Limits
from stowplan.queue.entry import BACKING_OFF, POOLED, Place, QueuedPod, pod_id
from stowplan.queue.heap import PodHeap
from stowplan.queue.hints import AwaitedBy, Hints, Strategy
from stowplan.queue.in_flight import InFlight
from stowplan.queue.nominations import Nominations
from stowplan.queue.unschedulable import Unschedulable

SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF = "PopFromBackoffQ"

Gate = Callable[[Pod], Rejection | None]
Only = Callable[[Pod], bool]


class QueueError(Exception):
    """A caller asked for a transition that does not exist; the text names the pod and its state."""


class SchedulingQueue:
    """Pods by where they are, and the moves between those places."""

    def __init__(
        self,
        gate: Gate,
        sort_key: Callable[[Pod, int], Any],
        awaited_by: AwaitedBy,
        limits: Limits | None = None,
        nominations: Nominations | None = None,
    ) -> None:
        """`gate` is asked before a pod may be tried; `sort_key(pod, queued_at_ns)` orders those that may."""
        self.limits = limits if limits is not None else Limits()
        self.nominations = nominations if nominations is not None else Nominations()
        #: How often a pod came to a place, by the place's name and the label of what brought it there.
        self.incoming: Counter[tuple[str, str]] = Counter()
        self._gate = gate
        self._sort_key = sort_key
        self.hints = Hints(awaited_by)
        tickets = count(1)
        self.active = PodHeap(tickets)
        self.backoff = Backoff(self.limits, self._key, tickets)
        self.unschedulable = Unschedulable()
        self.in_flight = InFlight()
        self.waiting: dict[str, QueuedPod] = {}

    @property
    def has_ready(self) -> bool:
        """Whether `try_pop` would give a pod."""
        return bool(len(self.active) or len(self.backoff.refused))

    # Pods come, change and go

    def add(self, pod: Pod, now_ns: int) -> None:
        """Take in a new pod."""
        if self._is_known(pod):
            self.update(pod, pod, now_ns)
        else:
            self._take_in(pod, changes.UNSCHEDULABLE_POD_ADD, now_ns)

    def update(self, old: Pod, new: Pod, now_ns: int) -> None:
        """Take in a new version of a pod; where it is refused, the change may bring it back."""
        events = [Event(change, old, new) for change in changes.of_pod(old, new)]
        flight = self.in_flight.get(pod_id(new))
        if flight is not None:
            flight.pod = new
            self.in_flight.record(events)
            return
        entry = self.waiting.get(pod_id(new))
        if entry is None:
            self._take_in(new, changes.UNSCHEDULABLE_POD_UPDATE, now_ns)
            return
        entry.pod = new
        self.nominations.update(old, new)
        if entry.place in POOLED:
            self._reconsider_updated(entry, events, now_ns)
        else:
            self._put_again(entry)

    def delete(self, pod: Pod) -> None:
        """Drop a pod, wherever it is; one that is being tried will not come back."""
        self.nominations.remove(pod)
        flight = self.in_flight.get(pod_id(pod))
        if flight is not None:
            flight.pod = None
        entry = self.waiting.pop(pod_id(pod), None)
        if entry is not None:
            self._take_out(entry)

    # Pods are tried

    def try_pop(self, now_ns: int) -> QueuedPod | None:
        """Take the next pod: the first of the active ones, else the one whose wait ends first. None if there is none.

        Whoever takes a pod calls `done` or `give_back` for it.
        """
        entry = self.active.pop()
        if entry is None:
            entry = self.backoff.pop_early()
            if entry is None:
                return None
            self._count(Place.ACTIVE, POP_FROM_BACKOFF)
            self._note_ready(entry, now_ns)
        del self.waiting[entry.id]
        entry.attempts += 1
        entry.unschedulable_plugins = entry.pending_plugins = frozenset()
        self.in_flight.start(entry)
        return entry

    def done(self, pod: Pod) -> None:
        """Note that a pod has found its node; nothing happens if it is not being tried."""
        flight = self.in_flight.get(pod_id(pod))
        if flight is not None:
            self.in_flight.finish(flight)
            flight.entry.place = Place.GONE

    def give_back(
        self, entry: QueuedPod, now_ns: int, rejected_by: Collection[str] = (), pending: Collection[str] = ()
    ) -> None:
        """Take back a pod that found no node, with the plugins that refused it; without any, the attempt failed."""
        flight = self.in_flight.get(entry.id)
        if flight is None or flight.entry is not entry:
            raise QueueError(f"pod {entry.pod.key!r} is {entry.place.value}; only a pod in flight can be given back")
        entry.unschedulable_plugins, entry.pending_plugins = frozenset(rejected_by), frozenset(pending)
        # Judged before the events are forgotten, on the pod as it now is.
        entry.pod = flight.pod or entry.pod
        strategy = self.hints.best(entry, self.in_flight.since(flight))
        self.in_flight.finish(flight)
        if flight.pod is None:
            entry.place = Place.GONE
            return
        _note_failure(entry, now_ns)
        self.waiting[entry.id] = entry
        self._requeue(entry, strategy, SCHEDULE_ATTEMPT_FAILURE, now_ns)

    # Things happen

    def on_change(self, event: Event, now_ns: int, only: Only | None = None) -> None:
        """Bring back the pods that an event may help; `only` leaves out pods that it cannot concern."""
        change = event.change
        rejectors = self.hints.awaiting(change)
        if change.is_wildcard:
            concerned: Iterable[QueuedPod] = list(self.unschedulable)
        elif rejectors:
            concerned = self.unschedulable.rejected_by(rejectors)
        else:
            return
        self._reconsider((entry for entry in concerned if only is None or only(entry.pod)), event, now_ns)

    def activate(self, pods: Iterable[Pod], now_ns: int) -> None:
        """Let pods be tried at once, whatever they wait for; one in flight is tried again when it comes back."""
        for pod in pods:
            entry = self.waiting.get(pod_id(pod))
            if entry is not None and entry.place is not Place.ACTIVE:
                is_let_in = entry.place in BACKING_OFF
                self._take_out(entry)
                self._to_active(entry, changes.FORCE_ACTIVATE.label, now_ns, is_let_in=is_let_in)
            elif self.in_flight.get(pod_id(pod)) is not None:
                self.in_flight.record([Event(changes.FORCE_ACTIVATE, None, pod)])

    def flush_backoff(self, now_ns: int) -> None:
        """Let pods be tried whose wait is over. Called every second."""
        for entry in self.backoff.pop_completed(now_ns):
            # They passed the gate when they came here.
            self._to_active(entry, BACKOFF_COMPLETE, now_ns, is_let_in=True)

    def flush_unschedulable(self, now_ns: int) -> None:
        """Bring back pods that nothing has brought back for too long. Called every 30 seconds."""
        latest = now_ns - self.limits.max_unschedulable_seconds * SECOND
        stale = [entry for entry in self.unschedulable if (entry.flushed_at_ns or entry.queued_at_ns) < latest]
        for entry in stale:
            entry.flushed_at_ns = now_ns
        if stale:
            self._reconsider(stale, Event(changes.UNSCHEDULABLE_TIMEOUT), now_ns)

    # Moves

    def _take_in(self, pod: Pod, change: changes.Change, now_ns: int) -> None:
        entry = self.waiting[pod_id(pod)] = QueuedPod(pod, now_ns)
        self._to_active(entry, change.label, now_ns)
        if entry.place is Place.ACTIVE:
            self.nominations.put(pod, pod.status.nominated_node_name)

    def _reconsider(self, entries: Iterable[QueuedPod], event: Event, now_ns: int) -> None:
        for entry in entries:
            strategy = self.hints.strategy(entry, event)
            if strategy is not Strategy.SKIP:
                self.unschedulable.remove(entry)
                self._requeue(entry, strategy, event.change.label, now_ns)
        self.in_flight.record([event])

    def _reconsider_updated(self, entry: QueuedPod, events: list[Event], now_ns: int) -> None:
        for event in events:
            strategy = self.hints.strategy(entry, event)
            if strategy is not Strategy.SKIP:
                self.unschedulable.remove(entry)
                self._requeue(entry, strategy, event.change.label, now_ns)
            if entry.place not in POOLED:
                return

    def _requeue(self, entry: QueuedPod, strategy: Strategy, label: str, now_ns: int) -> None:
        if strategy is Strategy.SKIP:
            self._to_pool(entry, label)
        elif strategy is Strategy.AFTER_BACKOFF and self.backoff.is_backing_off(entry, now_ns):
            self._to_backoff(entry, label)
        else:
            self._to_active(entry, label, now_ns)

    def _to_active(self, entry: QueuedPod, label: str, now_ns: int, *, is_let_in: bool = False) -> None:
        if not is_let_in and self._is_gated(entry):
            self._to_pool(entry, label)
            return
        entry.place = Place.ACTIVE
        self._note_ready(entry, now_ns)
        self.active.put(entry, self._key(entry))
        self._count(Place.ACTIVE, label)

    def _to_backoff(self, entry: QueuedPod, label: str) -> None:
        if self._is_gated(entry):
            self._to_pool(entry, label)
            return
        self.backoff.put(entry)
        self._count(Place.BACKOFF, label)

    def _to_pool(self, entry: QueuedPod, label: str) -> None:
        self.unschedulable.put(entry)
        self._count(entry.place, label)

    def _is_gated(self, entry: QueuedPod) -> bool:
        rejection = self._gate(entry.pod)
        entry.gated_by = rejection.plugin if rejection is not None else ""
        if rejection is not None:
            entry.unschedulable_plugins |= {rejection.plugin}
        return rejection is not None

    def _put_again(self, entry: QueuedPod) -> None:
        if entry.place is Place.ACTIVE:
            self.active.put(entry, self._key(entry))
        else:
            self.backoff.put(entry)

    def _take_out(self, entry: QueuedPod) -> None:
        if entry.place is Place.ACTIVE:
            self.active.remove(entry)
        elif entry.place in BACKING_OFF:
            self.backoff.remove(entry)
        else:
            self.unschedulable.remove(entry)
        entry.place = Place.GONE

    def _key(self, entry: QueuedPod) -> Any:
        return self._sort_key(entry.pod, entry.queued_at_ns)

    def _is_known(self, pod: Pod) -> bool:
        return pod_id(pod) in self.waiting or self.in_flight.get(pod_id(pod)) is not None

    def _note_ready(self, entry: QueuedPod, now_ns: int) -> None:
        if entry.ready_at_ns is None:
            entry.ready_at_ns = now_ns

    def _count(self, place: Place, label: str) -> None:
        self.incoming[place.value, label] += 1


def _note_failure(entry: QueuedPod, now_ns: int) -> None:
    """Count a failed attempt. One that plugins refused ends a row of errors."""
    if entry.rejected_by:
        entry.refusals += 1
        entry.errors = 0
    else:
        entry.errors += 1
    entry.queued_at_ns = now_ns
    entry.backoff_until = entry.flushed_at_ns = None

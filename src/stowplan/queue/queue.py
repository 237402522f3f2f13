"""The scheduling queue: the owner of the pods that wait to be placed. `docs/queue.md` has the tables.

    add, update --gate--> active --try_pop--> in flight --done--> (gone)
                  |          ^                    |
                gated        | flush_backoff  give_back: did anything happen meanwhile that may help?
                  |          |                    |
                  |     backing off <---yes-------+---no---> unschedulable
                  |          ^                                    |
                  +----------+------------on_change---------------+

Each pod is in exactly one place (`entry.Place`). The queue reads no clock: every method that needs the time is given
it, in nanoseconds since the epoch. What becomes of a pod that is taken is up to `engine.scheduler`; changes are told by
`engine.event_handlers`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import chain
from typing import Final

import msgspec

from stowplan.framework import changes
from stowplan.framework.changes import ObjectChange
from stowplan.model.pod import Pod, pod_id
from stowplan.model.pod_group import OwnGroup
from stowplan.queue.entry import BACKING_OFF, POOLED, Entry, InFlightPods, Place, QueuedGroup, QueuedPod
from stowplan.queue.groups import SCHEDULE_ATTEMPT_FAILURE, GroupOutcome, GroupsInQueue, strategy_of
from stowplan.queue.hints import AwaitedBy, Hints, HintTimer, Narrowing, QueueingStrategy
from stowplan.queue.nominations import Nominations
from stowplan.queue.places import SECOND, Places, QueueLimits, QueueRules, note_flushed, note_ready

BACKOFF_COMPLETE = "BackoffComplete"
_ADDED: Final = changes.UNSCHEDULED_POD_ADD.label
_UPDATED: Final = changes.UNSCHEDULED_POD_UPDATE.label
#: So many errors in a row are no passing trouble.
MANY_ERRORS: Final = 3

Only = Callable[[Pod], bool]


class QueueError(Exception):
    """A caller asked for a transition that does not exist; the text names the pod and its state."""


class SchedulingQueue:
    """Decides who waits where, who is next, and whom a change brings back."""

    def __init__(
        self,
        rules: QueueRules,
        awaited_by: AwaitedBy,
        limits: QueueLimits | None = None,
        nominations: Nominations | None = None,
    ) -> None:
        self._limits = limits if limits is not None else QueueLimits()
        self._hints = Hints(awaited_by)
        self.nominations = nominations if nominations is not None else Nominations()
        self.places = Places(rules, self._limits)
        self.in_flight = InFlightPods()
        #: The pods that wait as groups; None if each waits for itself, whatever it names.
        self.groups = GroupsInQueue(self.places, has_trees=rules.has_trees) if rules.has_groups else None

    def use(self, awaited_by: AwaitedBy) -> None:
        """Ask other plugins whether a change helps, from now on."""
        self._hints = Hints(awaited_by, self._hints.timer)

    def time_hints(self, timer: HintTimer) -> None:
        """Have it measured, from now on, how long plugins take to say whether a change helps."""
        self._hints.timer = timer

    @property
    def has_ready(self) -> bool:
        """Whether `try_pop` would give a pod."""
        places = self.places
        return bool(places.active.size or (self._limits.pops_early and places.backoff.refused.size))

    @property
    def is_at_rest(self) -> bool:
        """Whether no pod is being tried or soon will be, but for those that have failed again and again."""
        places = self.places
        first = places.active.first()
        # Looked at often, mostly while many wait: one that has not failed yet tells at once.
        if len(places.backoff.refused) or (first is not None and first.errors < MANY_ERRORS):
            return False
        under_way = (flight.entry for flight in self.in_flight)
        return all(map(_is_hopeless, chain(under_way, places.active, places.backoff.failed)))

    def get(self, pod: Pod) -> QueuedPod | None:
        """Return a pod that waits, by itself or in a group; None if it does not."""
        return self.places.get(pod) or (self.groups.get(pod) if self.groups is not None else None)

    # Pods come, change and go

    def add(self, pod: Pod, now_ns: int) -> None:
        """Take in a new pod."""
        identity = pod_id(pod)
        is_member = self.groups is not None and identity in self.groups.members
        if is_member or identity in self.places.entries or identity in self.in_flight.flights:
            self.update(pod, pod, now_ns)
        else:
            self._take_in(pod, _ADDED, now_ns)

    def update(self, old: Pod, new: Pod, now_ns: int) -> None:
        """Take in a new version of a pod; where it is refused, the change may bring it back."""
        events = [ObjectChange(change, old, new) for change in changes.of_pod(old, new)]
        flight = self.in_flight.flights.get(pod_id(new))
        if flight is not None:
            flight.update, flight.is_gone = new, False
            self.in_flight.record(events)
            return
        waiting: Entry | None = self.places.get(new)
        member = self.groups.get(new) if self.groups is not None else None
        if self.groups is not None and member is not None:
            self.nominations.update(old, new)
            waiting = self.groups.update(member, new)
        elif isinstance(waiting, QueuedPod):
            waiting.pod = new
            self.nominations.update(old, new)
            self.places.put_right(waiting)
        else:
            self._take_in(new, _ADDED if self._limits.counts_strangers_as_added else _UPDATED, now_ns)
        for event in events:
            if waiting is not None and waiting.place in POOLED:
                self._reconsider(waiting, event, now_ns)

    def update_in_flight(self, new: Pod) -> None:
        """Take in a new version of a pod that has a node but is not bound yet, in case it loses the node.

        That it has changed does not count for it then, as upstream has it. Nothing happens if it is not being tried.
        """
        flight = self.in_flight.flights.get(pod_id(new))
        if flight is not None:
            flight.update = new

    def delete(self, pod: Pod, now_ns: int) -> None:
        """Drop a pod, wherever it is; one that is being tried will not come back."""
        self.nominations.remove(pod)
        identity = pod_id(pod)
        flight = self.in_flight.flights.get(identity)
        if flight is not None:
            flight.is_gone = True
        entry = self.places.entries.get(identity)
        if entry is not None:
            self.places.take_out(entry)
        elif self.groups is not None and (member := self.groups.get(pod)) is not None:
            self.groups.drop(member, _ADDED, now_ns)

    def put_group(self, found: OwnGroup, now_ns: int) -> None:
        """Take in a group of pods, or a new version of one."""
        if self.groups is not None:
            self.groups.put(found, _ADDED, now_ns)

    def remove_group(self, found: OwnGroup, now_ns: int) -> None:
        """Drop a group of pods; the pods stay, and wait for it."""
        if self.groups is not None:
            self.groups.remove(found, _UPDATED, now_ns)

    def _take_in(self, pod: Pod, label: str, now_ns: int) -> None:
        entry, nominated = QueuedPod(pod, queued_at_ns=now_ns), pod.status.nominated_node_name
        if pod.spec.scheduling_group is not None and self.groups is not None and not pod.node_name:
            self.nominations.put(pod, nominated)
            self.groups.take_in(entry, label, now_ns)
            return
        self.places.to_active(entry, label, now_ns)
        is_heard = entry.place is Place.ACTIVE or self._limits.nominates_gated
        if is_heard and (nominated or self.nominations.by_node):
            self.nominations.put(pod, nominated)

    # Pods are tried

    def try_pop(self, now_ns: int) -> QueuedPod | None:
        """Take the next pod: the first of the active ones, else the one whose wait ends first. None if there is none.

        Whoever takes a pod calls `done` or `give_back` for it. A pod that waits in a group comes with all others that
        do, its `QueuedGroup`; in the end `finish_group` is called.
        """
        entry = self.places.pop(now_ns)
        if isinstance(entry, QueuedGroup):
            return self._take_group(entry, now_ns)
        if entry is not None:
            self.in_flight.start(entry, now_ns)
        return entry

    def _take_group(self, group: QueuedGroup, now_ns: int) -> QueuedPod:
        if self.groups is not None:
            self.groups.start(group)
        group.taken_at_ns = now_ns
        for member in group.members:
            self.in_flight.start(member, now_ns)
            # As long as a group is tried, none of its pods keeps room from another: upstream does not find them.
            self.nominations.hollow(member.pod)
        return group.members[0]

    def finish_group(self, group: QueuedGroup, outcome: GroupOutcome, now_ns: int) -> None:
        """End the attempt of a group, once all its pods were given back or are done or on their way."""
        if self.groups is not None:
            self.groups.finish(group, outcome, now_ns)

    def take(self, pods: Iterable[Pod], now_ns: int) -> list[QueuedPod]:
        """Take pods out of turn, wherever they wait. Those whose gate is shut stay; those not here are left out."""
        known = [entry for entry in map(self.places.get, pods) if entry is not None]
        found = [entry for entry in known if self.places.take_if_open(entry)]
        for entry in found:
            note_ready(entry, now_ns)
            self.in_flight.start(entry, now_ns)
        return found

    def done(self, pod: Pod) -> None:
        """Note that a pod has found its node, so nothing need be remembered for it; nothing happens if it is not tried.

        Should binding it fail after all, it can still be given back.
        """
        flight = self.in_flight.flights.get(pod_id(pod))
        if flight is not None:
            self.in_flight.finish(flight)

    def give_back(
        self, entry: QueuedPod, now_ns: int, rejected_by: Collection[str] = (), pending: Collection[str] = ()
    ) -> None:
        """Take back a pod that found no node, with the plugins that refused it; without any, the attempt failed.

        What happened while it was tried counts as if it happened now. A pod deleted meanwhile is dropped.
        """
        if entry.place not in (Place.IN_FLIGHT, Place.GONE):
            raise QueueError(
                f"pod {entry.pod.key!r} is {entry.place.value}; only a pod that was taken can be given back"
            )
        events = self._land(entry)
        if events is None:
            return
        entry.unschedulable_plugins, entry.pending_plugins = frozenset(rejected_by), frozenset(pending)
        _note_failure(entry, now_ns)
        if entry.group is not None and self.groups is not None:
            entry.group, entry.gated_by, entry.gate_reasons = None, "", ()
            self.nominations.put(entry.pod, self.nominations.node_of(entry.pod))
            self.groups.take_in(entry, SCHEDULE_ATTEMPT_FAILURE, now_ns)
            return
        self.places.requeue(entry, self._hints.best(entry, events), SCHEDULE_ATTEMPT_FAILURE, now_ns)

    def _land(self, entry: QueuedPod) -> list[ObjectChange] | None:
        """End a pod's flight; return what happened meanwhile, None if it is gone or came back by another way."""
        flight = self.in_flight.flights.get(entry.id)
        if self.get(entry.pod) is not None or (flight is not None and flight.entry is not entry):
            return None
        if flight is None:
            # It was done. Nobody noted what happened since, so something may have.
            return [ObjectChange(changes.FORCE_ACTIVATE, None, entry.pod)]
        events = list(self.in_flight.since(flight))
        self.in_flight.finish(flight)
        entry.pod = flight.update or entry.pod
        return None if flight.is_gone else events

    # Things happen

    def on_change(self, event: ObjectChange, now_ns: int, only: Only | None = None) -> None:
        """Bring back the pods that an event may help; `only` leaves out pods that it cannot concern."""
        rejectors = self._hints.awaiting(event.change)
        if not rejectors:
            return
        narrowed = self._hints.narrowed(event) if self._limits.narrows else None
        for entry in self.places.unschedulable.rejected_by(rejectors):
            if (only is None or _concerns(entry, only)) and (narrowed is None or _concerns(entry, narrowed.concerns)):
                self._reconsider(entry, event, now_ns, narrowed)
        self.in_flight.record([event])

    def nominate(self, pod: Pod, node_name: str, now_ns: int) -> None:
        """Nominate a pod to a node, "" for none; those who left room for it elsewhere hear that they need not."""
        before = self.nominations.node_of(pod)
        self.nominations.put(pod, node_name)
        if before not in ("", node_name):
            status = msgspec.structs.replace(pod.status, nominated_node_name=before)
            event = ObjectChange(changes.ASSIGNED_POD_DELETE, msgspec.structs.replace(pod, status=status), None)
            self.on_change(event, now_ns, only=lambda it: it.priority <= pod.priority and pod_id(it) != pod_id(pod))

    def activate(self, pods: Iterable[Pod], now_ns: int) -> None:
        """Let pods be tried at once, whatever they wait for; one in flight is tried again when it comes back."""
        for pod in pods:
            entry: Entry | None = self.places.get(pod)
            if entry is None and self.groups is not None:
                entry = self.groups.waiting(pod)
            if entry is None:
                if self.in_flight.flights.get(pod_id(pod)) is not None:
                    self.in_flight.record([ObjectChange(changes.FORCE_ACTIVATE, None, pod)])
            elif entry.place is not Place.ACTIVE:
                enter = self.places.leave_backoff if entry.place in BACKING_OFF else self.places.to_active
                self.places.take_out(entry)
                enter(entry, changes.FORCE_ACTIVATE.label, now_ns)

    def flush_backoff(self, now_ns: int) -> None:
        """Let pods be tried whose wait is over. Called every second."""
        for entry in list(self.places.backoff.pop_completed(now_ns)):
            self.places.leave_backoff(entry, BACKOFF_COMPLETE, now_ns)

    def flush_unschedulable(self, now_ns: int) -> None:
        """Bring back pods that nothing has brought back for too long. Called every 30 seconds."""
        latest = now_ns - self._limits.max_unschedulable_seconds * SECOND
        pool = self.places.unschedulable
        stale = [entry for entry in pool if max(entry.queued_at_ns, entry.flushed_at_ns) < latest]
        for entry in stale:
            entry.flushed_at_ns = now_ns
            note_flushed(entry, flushed=True)
            self._reconsider(entry, ObjectChange(changes.UNSCHEDULABLE_TIMEOUT), now_ns)
        if stale:
            self.in_flight.record([ObjectChange(changes.UNSCHEDULABLE_TIMEOUT)])

    def bring_back(self, pod: Pod, now_ns: int) -> None:
        """Bring back a pod that was refused: what helps it came when it was not let in. It backs off first."""
        entry: Entry | None = self.places.get(pod)
        if entry is None and self.groups is not None:
            entry = self.groups.waiting(pod)
        if entry is not None and entry.place in POOLED:
            self._reconsider(entry, ObjectChange(changes.FORCE_ACTIVATE, None, pod), now_ns)

    def bring_all_back(self, now_ns: int) -> None:
        """Bring back every pod that was refused: who refused it may be asked differently now, or not at all."""
        event = ObjectChange(changes.CONFIGURATION_RELOAD)
        for entry in list(self.places.unschedulable):
            self._reconsider(entry, event, now_ns)
        self.in_flight.record([event])

    def _reconsider(self, entry: Entry, event: ObjectChange, now_ns: int, narrowed: Narrowing | None = None) -> None:
        """Ask whether an event helps a pod in the pool, and move it if so."""
        if isinstance(entry, QueuedGroup):
            strategy = strategy_of(self._hints, entry.members, event, narrowed)
        else:
            strategy = self._hints.strategy(entry, event, narrowed)
        if strategy is not QueueingStrategy.SKIP:
            self.places.take_out(entry)
            self.places.requeue(entry, strategy, event.change.label, now_ns)


def _concerns(entry: Entry, only: Only) -> bool:
    return any(only(member.pod) for member in entry.members) if isinstance(entry, QueuedGroup) else only(entry.pod)


def _is_hopeless(entry: Entry) -> bool:
    """Say whether somebody has failed again and again; a group is tried again and again after a refusal, too."""
    return entry.errors + (entry.refusals if isinstance(entry, QueuedGroup) else 0) >= MANY_ERRORS


def _note_failure(entry: QueuedPod, now_ns: int) -> None:
    """Count a failed attempt. One that plugins refused ends a row of errors."""
    if entry.rejected_by:
        entry.refusals += 1
        entry.errors = 0
    else:
        entry.errors += 1
    entry.queued_at_ns, entry.was_flushed = now_ns, False
    entry.backoff_until = None

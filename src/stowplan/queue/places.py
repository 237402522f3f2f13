"""Where waiting pods are, and the ways from one place to another. Who goes where, and when, is decided in `queue.py`.

A pod passes the gate whenever it comes to the active queue or to backoff from elsewhere; one that does not pass stays
in the pool, gated. Where pods are not popped early from backoff, they pass the gate when they leave it instead.

The wait of a pod that backs off doubles with every refusal, up to a limit. Times are cut to whole seconds: pods whose
wait ends in the same second come in the order of the active queue, so that popping early respects priority. Where
nobody pops early (`QueueLimits.pops_early`), times are exact and alone decide the order. Pods that failed for another
reason than a refusal (an API server that does not answer, say) are kept apart and never popped early.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, Final

from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod, pod_id
from stowplan.model.pod_group import GroupKey
from stowplan.queue.entry import BACKING_OFF, Entry, Place, PodHeap, QueuedGroup, QueuedPod, Rejector
from stowplan.queue.hints import QueueingStrategy

SECOND: Final = 1_000_000_000

#: Where a pod goes by a strategy, unless its wait is over or its gate is shut.
_MEANT: Final = {
    QueueingStrategy.SKIP: Place.UNSCHEDULABLE,
    QueueingStrategy.AFTER_BACKOFF: Place.BACKOFF,
    QueueingStrategy.IMMEDIATELY: Place.ACTIVE,
}


@dataclass(frozen=True, slots=True)
class QueueRules:
    """What the profiles say about waiting pods."""

    #: Says who keeps a pod from being tried, None if nobody does; whoever did so up to now (or "") is asked first.
    gate: Callable[[Pod, str], Rejection | None]
    #: Orders pods by themselves and the time they came, in nanoseconds.
    sort_key: Callable[[Pod, int], Any]
    #: Hears of a gate that failed, once for each pod and fault.
    tell: Callable[[str], None] = lambda text: None
    #: Orders groups, by their keys, their pods and the time they came.
    group_sort_key: Callable[[GroupKey, Sequence[Pod], int], Any] = lambda key, pods, queued_at_ns: queued_at_ns
    #: Whether pods that name a PodGroup wait as that group, and whether groups may be parts of others.
    has_groups: bool = False
    has_trees: bool = False


class Places:
    """All pods that wait, each in one place."""

    def __init__(self, rules: QueueRules, limits: QueueLimits) -> None:
        self._rules = rules
        self._pops_early = limits.pops_early
        tickets = count(1)
        self.active = PodHeap(tickets)
        self.backoff = BackoffQueue(limits, self._key, tickets)
        self.unschedulable = Unschedulable()
        #: Pods that wait by themselves, by their ids, and groups, by theirs.
        self.entries: dict[str, QueuedPod] = {}
        self.groups: dict[str, QueuedGroup] = {}
        #: How often a pod came to a place, by the place's name and the label of what brought it there.
        self.incoming: Counter[tuple[str, str]] = Counter()
        #: The same, of those that came to another place than the strategy for them says; and by the type of the entity.
        self.incoming_entities: Counter[tuple[str, str, str]] = Counter()

    def get(self, pod: Pod) -> QueuedPod | None:
        return self.entries.get(pod_id(pod))

    @property
    def known(self) -> Iterator[Entry]:
        """Go through all who wait, pods and groups."""
        return chain(self.entries.values(), self.groups.values())

    # A pod that is nowhere

    def requeue(
        self, entry: Entry, strategy: QueueingStrategy, label: str, now_ns: int, new: QueuedPod | None = None
    ) -> None:
        """Put a pod where a strategy wants it; of a group whose other pods passed the gate, only `new` is asked."""
        meant = _MEANT[strategy]
        if strategy is QueueingStrategy.SKIP:
            self._to_pool(entry, label, meant)
        elif strategy is QueueingStrategy.AFTER_BACKOFF and self.backoff.is_backing_off(entry, now_ns):
            self.to_backoff(entry, label, meant, new)
        else:
            self.to_active(entry, label, now_ns, meant, new)

    def to_active(
        self, entry: Entry, label: str, now_ns: int, meant: Place | None = None, new: QueuedPod | None = None
    ) -> None:
        """Let a pod be tried, if its gate opens; `meant` is where a strategy wants it, if there is one."""
        if self._is_gated(entry, new):
            self._to_pool(entry, label, meant)
        else:
            self._let_in(entry, label, now_ns, meant)

    def leave_backoff(self, entry: Entry, label: str, now_ns: int) -> None:
        """Let a pod be tried that was taken out of backoff."""
        if self._pops_early:
            self._let_in(entry, label, now_ns)
        else:
            self.to_active(entry, label, now_ns)

    def _let_in(self, entry: Entry, label: str, now_ns: int, meant: Place | None = None) -> None:
        """Let a pod be tried that has passed the gate."""
        if isinstance(entry, QueuedGroup):
            self._let_group_in(entry, label, now_ns, meant)
            return
        self.entries[entry.id] = entry
        entry.place = Place.ACTIVE
        if entry.ready_at_ns is None:
            entry.ready_at_ns = now_ns
        self.active.put(entry, self._rules.sort_key(entry.pod, entry.queued_at_ns))
        self.incoming["active", label] += 1
        if meant is not Place.ACTIVE:
            self.incoming_entities["active", label, entry.type] += 1

    def _let_group_in(self, group: QueuedGroup, label: str, now_ns: int, meant: Place | None) -> None:
        self._know(group)
        group.place = Place.ACTIVE
        note_ready(group, now_ns)
        for member in group.members:
            note_ready(member, now_ns)
        self.active.put(group, self._key(group))
        self.count(group, Place.ACTIVE, label)
        if meant is not Place.ACTIVE:
            self.incoming_entities["active", label, group.type] += 1

    # A pod that is somewhere

    def pop(self, now_ns: int) -> Entry | None:
        """Take out the first active pod, else the one whose wait ends first."""
        entry = self.active.pop()
        if entry is None:
            entry = self.backoff.pop_early()
            if entry is None:
                return None
            self.count(entry, Place.ACTIVE, "PopFromBackoffQ")
            note_ready(entry, now_ns)
        if isinstance(entry, QueuedGroup):
            del self.groups[entry.id]
        else:
            del self.entries[entry.id]
        entry.place = Place.GONE
        return entry

    def take_out(self, entry: Entry) -> None:
        """Take a pod out of where it is."""
        if entry.place is Place.ACTIVE:
            self.active.remove(entry)
        elif entry.place in BACKING_OFF:
            self.backoff.remove(entry)
        else:
            self.unschedulable.remove(entry)
        self._forget(entry)

    def take_if_open(self, entry: QueuedPod) -> bool:
        """Take a pod out of where it is, unless its gate is shut still; say whether it was taken."""
        is_at_gate = entry.place is Place.GATED
        self.take_out(entry)
        if is_at_gate and self._is_gated(entry):
            self.entries[entry.id] = entry
            self.unschedulable.put(entry)
            return False
        return True

    def put_right(self, entry: Entry) -> None:
        """Put a pod that has changed where it now belongs in the order of its place."""
        if entry.place is Place.ACTIVE:
            self.active.put(entry, self._key(entry))
        elif entry.place in BACKING_OFF:
            self.backoff.put(entry)

    def count(self, entry: Entry, place: Place, label: str) -> None:
        """Count who has come to a place."""
        if isinstance(entry, QueuedGroup):
            self.incoming[place.value, label] += len(entry.members)
        else:
            self.incoming[place.value, label] += 1

    def to_backoff(self, entry: Entry, label: str, meant: Place | None = None, new: QueuedPod | None = None) -> None:
        """Let a pod wait for its next attempt."""
        if self._pops_early and self._is_gated(entry, new):
            self._to_pool(entry, label, meant)
            return
        self._know(entry)
        self.backoff.put(entry)
        self.count(entry, Place.BACKOFF, label)
        if meant is not Place.BACKOFF:
            self.incoming_entities["backoff", label, entry.type] += 1

    def _to_pool(self, entry: Entry, label: str, meant: Place | None) -> None:
        self._know(entry)
        if entry.was_flushed:
            # It stays; whatever brings it back later is the reason then.
            note_flushed(entry, flushed=False)
        self.unschedulable.put(entry)
        self.count(entry, entry.place, label)
        if meant is not Place.UNSCHEDULABLE:
            self.incoming_entities["unschedulable", label, entry.type] += 1

    def _know(self, entry: Entry) -> None:
        if isinstance(entry, QueuedGroup):
            self.groups[entry.id] = entry
        else:
            self.entries[entry.id] = entry

    def _forget(self, entry: Entry) -> None:
        del (self.groups if isinstance(entry, QueuedGroup) else self.entries)[entry.id]
        entry.place = Place.GONE

    def _is_gated(self, entry: Entry, new: QueuedPod | None = None) -> bool:
        """Say whether a pod is kept out; a group is if any of its pods is."""
        if isinstance(entry, QueuedGroup):
            # One is enough: of several gates upstream keeps the last one's name.
            asked = reversed(entry.members) if new is None else (new,)
            shut = next((member for member in asked if self._is_gated(member)), None)
            entry.gated_by, entry.gate_reasons = (shut.gated_by, shut.gate_reasons) if shut is not None else ("", ())
            return shut is not None
        rejection = self._rules.gate(entry.pod, entry.gated_by)
        entry.gated_by, entry.gate_reasons = (
            (rejection.plugin, rejection.reasons) if rejection is not None else ("", ())
        )
        if rejection is not None or entry.gate_fault:
            self._note_fault(entry, rejection)
        if rejection is not None:
            entry.unschedulable_plugins |= {rejection.plugin}
        return rejection is not None

    def _note_fault(self, entry: QueuedPod, rejection: Rejection | None) -> None:
        is_fault = rejection is not None and rejection.code is Code.ERROR
        fault = ", ".join(rejection.reasons) if rejection is not None and is_fault else ""
        # A gate is asked at every change that may open it; who is told the same every time reads nothing else.
        if fault and fault != entry.gate_fault:
            self._rules.tell(fault)
        entry.gate_fault = fault

    def _key(self, entry: Entry) -> Any:
        if isinstance(entry, QueuedGroup):
            pods = [member.pod for member in entry.members]
            return self._rules.group_sort_key(entry.key, pods, entry.queued_at_ns)
        return self._rules.sort_key(entry.pod, entry.queued_at_ns)


def note_ready(entry: Entry, now_ns: int) -> None:
    """Note when a pod could first be tried."""
    if entry.ready_at_ns is None:
        entry.ready_at_ns = now_ns


def note_flushed(entry: Entry, *, flushed: bool) -> None:
    """Note whether somebody, and everybody who waits with it, comes back only because it had waited too long."""
    entry.was_flushed = flushed
    for member in entry.members if isinstance(entry, QueuedGroup) else ():
        member.was_flushed = flushed


class Unschedulable:
    """The pool of pods that wait for something to change. A change looks only at those whom it may concern."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._by_rejector: dict[Rejector, dict[str, Entry]] = {}
        self._rejectors_of: dict[str, list[Rejector]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def put(self, entry: Entry) -> None:
        """Put in a pod, which is not in."""
        entry.place = Place.GATED if entry.gated_by else Place.UNSCHEDULABLE
        self._entries[entry.id] = entry
        # Remembered, because the profile that a pod names is the pod's to change.
        self._rejectors_of[entry.id] = rejectors = entry.rejectors
        for rejector in rejectors:
            self._by_rejector.setdefault(rejector, {})[entry.id] = entry

    def remove(self, entry: Entry) -> None:
        """Take out a pod, which is in."""
        del self._entries[entry.id]
        for rejector in self._rejectors_of.pop(entry.id):
            waiting = self._by_rejector[rejector]
            del waiting[entry.id]
            if not waiting:
                del self._by_rejector[rejector]

    def rejected_by(self, rejectors: Container[Rejector]) -> list[Entry]:
        """Return the pods that any of the plugins refused or gates."""
        found: dict[str, Entry] = {}
        # Most of the time few have refused anybody who waits, and many await a change.
        for rejector, waiting in self._by_rejector.items():
            if rejector in rejectors:
                found.update(waiting)
        return list(found.values())

    def index(self) -> dict[Rejector, set[str]]:
        """Return who is listed under whom, for `validate_queue`."""
        return {rejector: set(waiting) for rejector, waiting in self._by_rejector.items()}


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """How long pods wait, in seconds, and what else feature gates and the release decide about waiting."""

    initial_backoff_seconds: int = 1
    max_backoff_seconds: int = 10
    #: A refused pod that nothing brought back for longer than this is tried all the same.
    max_unschedulable_seconds: int = 300
    #: Whether a pod that backs off is tried when no other waits (feature gate SchedulerPopFromBackoffQ).
    pops_early: bool = True
    #: Whether plugins may leave out pods that an event cannot concern (feature gate SchedulerPreQueueingHints).
    narrows: bool = False
    #: Whether a new pod that is gated counts on the node it is nominated to all the same.
    nominates_gated: bool = True
    #: Whether a pod that is first heard of by an update is counted as one that was added.
    counts_strangers_as_added: bool = True

    @property
    def window_ns(self) -> int:
        """How finely ends of waits are told apart."""
        return SECOND if self.pops_early else 1


class BackoffQueue:
    """The pods that back off."""

    def __init__(self, limits: QueueLimits, sort_key: Callable[[Entry], Any], tickets: Iterator[int]) -> None:
        self._limits = limits
        self._sort_key = sort_key
        self.refused = PodHeap(tickets)
        self.failed = PodHeap(tickets)

    def __len__(self) -> int:
        return len(self.refused) + len(self.failed)

    def is_backing_off(self, entry: Entry, now_ns: int) -> bool:
        """Say whether a pod must still wait; it does until its last second is over."""
        return self._count(entry) > 0 and self.until(entry) >= now_ns // self._limits.window_ns

    def until(self, entry: Entry) -> int:
        """Return the last second of a pod's wait; the last nanosecond, where nobody pops early."""
        if entry.backoff_until is None:
            size = len(entry.members) if isinstance(entry, QueuedGroup) else 1
            wait_ns = delay_ns(self._count(entry), self._limits, size)
            entry.backoff_until = (entry.queued_at_ns + wait_ns) // self._limits.window_ns
        return entry.backoff_until

    def put(self, entry: Entry) -> None:
        """Put in a pod, or put it in its place again after it has changed."""
        if entry.place not in BACKING_OFF:
            entry.place = Place.BACKOFF if entry.rejected_by else Place.ERROR_BACKOFF
        if entry.place is Place.ERROR_BACKOFF:
            self.failed.put(entry, self.until(entry))
        elif self._limits.pops_early:
            self.refused.put(entry, (self.until(entry), self._sort_key(entry)))
        else:
            self.refused.put(entry, self.until(entry))

    def remove(self, entry: Entry) -> None:
        (self.refused if entry.place is Place.BACKOFF else self.failed).remove(entry)

    def pop_early(self) -> Entry | None:
        """Take out the refused pod whose wait ends first; None if there is none, or if nobody pops early."""
        return self.refused.pop() if self._limits.pops_early else None

    def pop_completed(self, now_ns: int) -> Iterator[Entry]:
        """Take out the pods whose wait is over."""
        for heap in (self.refused, self.failed):
            while (entry := heap.first()) is not None and not self.is_backing_off(entry, now_ns):
                heap.remove(entry)
                yield entry

    def _count(self, entry: Entry) -> int:
        return entry.errors or entry.refusals


def delay_seconds(attempts: int, limits: QueueLimits) -> int:
    """Return how long a pod waits after so many failed attempts."""
    if attempts == 0:
        return 0
    # More doublings than bits would only cost memory.
    return min(limits.initial_backoff_seconds << min(attempts - 1, 62), limits.max_backoff_seconds)


def delay_ns(attempts: int, limits: QueueLimits, pods: int) -> int:
    """Return how long a group of so many pods waits: its longest wait grows with the square root of their number."""
    if pods <= 1:
        return delay_seconds(attempts, limits) * SECOND
    longest = int(limits.max_backoff_seconds * SECOND * math.sqrt(pods))
    return min(limits.initial_backoff_seconds * SECOND << min(attempts - 1, 62), longest) if attempts else 0

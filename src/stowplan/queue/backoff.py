"""Pods that must wait a while before they are tried again, and how long.

The wait doubles with every refusal, up to a limit. Times are cut to whole seconds: pods whose wait ends in the same
second come in the order of the active queue, so that popping early respects priority. Where nobody pops early
(`Limits.pops_early`), times are exact and alone decide the order. Pods that failed for another
reason than a refusal (an API server that does not answer, say) are kept apart and never popped early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from stowplan.queue.entry import Place, PodHeap, QueuedPod

SECOND: Final = 1_000_000_000

SortKey = Callable[[QueuedPod], Any]


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """How long pods wait, in seconds."""

    initial_backoff_seconds: int = 1
    max_backoff_seconds: int = 10
    #: A refused pod that nothing brought back for longer than this is tried all the same.
    max_unschedulable_seconds: int = 300
    #: Whether a pod that backs off is tried when no other waits (feature gate SchedulerPopFromBackoffQ).
    pops_early: bool = True

    @property
    def window_ns(self) -> int:
        """How finely ends of waits are told apart."""
        return SECOND if self.pops_early else 1


class BackoffQueue:
    """The pods that back off."""

    def __init__(self, limits: QueueLimits, sort_key: SortKey, tickets: Iterator[int]) -> None:
        self._limits = limits
        self._sort_key = sort_key
        self.refused = PodHeap(tickets)
        self.failed = PodHeap(tickets)

    def __len__(self) -> int:
        return len(self.refused) + len(self.failed)

    def is_backing_off(self, entry: QueuedPod, now_ns: int) -> bool:
        """Say whether a pod must still wait; it does until its last second is over."""
        return self._count(entry) > 0 and self.until(entry) >= now_ns // self._limits.window_ns

    def until(self, entry: QueuedPod) -> int:
        """Return the last second of a pod's wait; the last nanosecond, where nobody pops early."""
        if entry.backoff_until is None:
            wait = delay_seconds(self._count(entry), self._limits)
            entry.backoff_until = (entry.queued_at_ns + wait * SECOND) // self._limits.window_ns
        return entry.backoff_until

    def put(self, entry: QueuedPod) -> None:
        """Put in a pod, or put it in its place again after it has changed."""
        if entry.place not in (Place.BACKOFF, Place.ERROR_BACKOFF):
            entry.place = Place.BACKOFF if entry.rejected_by else Place.ERROR_BACKOFF
        if entry.place is Place.ERROR_BACKOFF:
            self.failed.put(entry, self.until(entry))
        elif self._limits.pops_early:
            self.refused.put(entry, (self.until(entry), self._sort_key(entry)))
        else:
            self.refused.put(entry, self.until(entry))

    def remove(self, entry: QueuedPod) -> None:
        (self.refused if entry.place is Place.BACKOFF else self.failed).remove(entry)

    def pop_early(self) -> QueuedPod | None:
        """Take out the refused pod whose wait ends first; None if there is none, or if nobody pops early."""
        return self.refused.pop() if self._limits.pops_early else None

    def pop_completed(self, now_ns: int) -> Iterator[QueuedPod]:
        """Take out the pods whose wait is over."""
        for heap in (self.refused, self.failed):
            while (entry := heap.first()) is not None and not self.is_backing_off(entry, now_ns):
                heap.remove(entry)
                yield entry

    def _count(self, entry: QueuedPod) -> int:
        return entry.errors or entry.refusals


def delay_seconds(attempts: int, limits: QueueLimits) -> int:
    """Return how long a pod waits after so many failed attempts."""
    if attempts == 0:
        return 0
    # More doublings than bits would only cost memory.
    return min(limits.initial_backoff_seconds << min(attempts - 1, 62), limits.max_backoff_seconds)

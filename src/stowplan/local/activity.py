"""What an embedded cluster is doing, in a few numbers: nodes, pods by phase, who waits and why, placements a second.

`cli/up_views.py` draws it; nothing here knows of terminals.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Final

import msgspec

from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.storage.store import Store
from stowplan.engine.ports import Bound, Report
from stowplan.local.scheduler import LocalScheduler
from stowplan.queue.entry import Place

SECOND_NS: Final = 1_000_000_000
#: Pods a second are counted over so many seconds.
WINDOW_SECONDS: Final = 10
LAST: Final = 8
MOST_REASONS: Final = 4


class RecentPlacement(msgspec.Struct, frozen=True):
    """A pod that was bound."""

    pod: str
    node: str
    at_ns: int


class Activity(msgspec.Struct, frozen=True):
    """The cluster at one moment."""

    nodes: int
    #: How many pods there are of each phase, and how many that are being deleted count as `Terminating`.
    phases: dict[str, int]
    #: How many pods wait in each place of the queue.
    waiting: dict[str, int]
    #: Why pods were refused, the most frequent sentence first.
    reasons: list[tuple[str, int]]
    bound: int
    bound_per_second: float
    #: The latest placements, newest first.
    last: list[RecentPlacement]
    now_ns: int
    #: Whether the scheduler of this cluster places pods; if not, others may do that without being counted here.
    schedules: bool = True


class ActivityCounter:
    """Counts along; `count` is cheap enough to be asked for every second."""

    def __init__(self, store: Store, pods: Resource, nodes: Resource, scheduler: LocalScheduler) -> None:
        self._store, self._pods, self._nodes = store, pods, nodes
        self._replica = scheduler.replica
        self._now_ns: Callable[[], int] = scheduler.replica.scheduler.environment.now_ns
        self._phase_at = pods.fields.index("status.phase")
        self._bound = 0
        self._last: deque[RecentPlacement] = deque(maxlen=LAST)
        #: How many pods were bound in each of the last seconds.
        self._seconds: deque[tuple[int, int]] = deque()
        scheduler.listen(self._hear)

    def count(self) -> Activity:
        """Say what the cluster is doing now."""
        now_ns = self._now_ns()
        return Activity(
            nodes=len(self._store.list(self._nodes)),
            phases=dict(Counter(stored.fields[self._phase_at] or "Pending" for stored in self._store.list(self._pods))),
            waiting=self._waiting(),
            reasons=self._reasons(),
            bound=self._bound,
            bound_per_second=self._rate(now_ns),
            last=list(reversed(self._last)),
            now_ns=now_ns,
            schedules=self._replica.is_scheduling,
        )

    def _hear(self, report: Report) -> None:
        if not isinstance(report, Bound):
            return
        now_ns = self._now_ns()
        self._bound += 1
        self._last.append(RecentPlacement(report.pod.key, report.node_name, now_ns))
        second = now_ns // SECOND_NS
        if self._seconds and self._seconds[-1][0] == second:
            self._seconds[-1] = (second, self._seconds[-1][1] + 1)
        else:
            self._seconds.append((second, 1))
            self._forget(second)

    def _rate(self, now_ns: int) -> float:
        """Return pods a second, over the time in which pods were bound at all."""
        second = now_ns // SECOND_NS
        self._forget(second)
        if not self._seconds:
            return 0.0
        passed = max(1.0, min(WINDOW_SECONDS, now_ns / SECOND_NS - self._seconds[0][0]))
        return sum(count for _, count in self._seconds) / passed

    def _forget(self, second: int) -> None:
        while self._seconds and self._seconds[0][0] <= second - WINDOW_SECONDS:
            self._seconds.popleft()

    def _waiting(self) -> dict[str, int]:
        queue = self._replica.scheduler.state.queue
        found = Counter(entry.place.value for entry in queue.places.entries.values())
        if len(queue.in_flight):
            found[Place.IN_FLIGHT.value] = len(queue.in_flight)
        return dict(found)

    def _reasons(self) -> list[tuple[str, int]]:
        tries = (
            self._replica.timeline.tries(entry.pod)
            for entry in self._replica.scheduler.state.queue.places.unschedulable
        )
        return Counter(found[-1].message for found in tries if found).most_common(MOST_REASONS)

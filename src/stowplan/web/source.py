"""What the page reads: one replica, what was heard of it since it began, and columns that are kept for all readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from stowplan.app.inspection import Inspection
from stowplan.app.what_if_page import WHATIF
from stowplan.model.pod import Pod, pod_id
from stowplan.observe.queue_state import ORDER
from stowplan.observe.report_log import tell_all
from stowplan.queue.entry import Place, QueuedPod
from stowplan.web.children import Children
from stowplan.web.decision_log import DecisionLog
from stowplan.web.node_columns import NodeColumns

#: To count who waits is to be so small a part of the time.
_REST_FACTOR: Final = 200


class Source:
    """One replica, as the page sees it."""

    def __init__(self, inspection: Inspection) -> None:
        self.inspection, self.replica = inspection, inspection.replica
        self.cluster, self.cache = self.replica.cluster, self.replica.cluster.cache
        environment = self.replica.scheduler.environment
        self.now_ns: Callable[[], int] = environment.now_ns
        self.started_at_ns = self.now_ns()
        self.columns = NodeColumns(self.cache)
        self.children = Children(inspection.between_cycles)
        self.what_if = inspection.pages()[WHATIF]
        self._counted: Mapping[Place, int] = {}
        self._count_again_ns = 0
        self.decisions = DecisionLog(self.now_ns, self.by_place)
        environment.tell = tell_all(environment.tell, self.decisions)

    @property
    def is_scheduling(self) -> bool:
        return self.replica.watching.is_scheduling

    def by_place(self) -> Mapping[str, int]:
        """Count who waits where; of a long queue it may be a moment old."""
        queue = self.replica.scheduler.state.queue
        places = queue.places
        if queue.groups is not None and queue.groups.members:
            # What waits there are groups; it is pods that are counted.
            return self._spelled(self._count(entry.where for entry in self.inspection.view().entries()))
        found = {
            Place.IN_FLIGHT: len(queue.in_flight),
            Place.ACTIVE: len(places.active),
            Place.BACKOFF: len(places.backoff.refused),
            Place.ERROR_BACKOFF: len(places.backoff.failed),
        }
        return self._spelled({**self._count(entry.place for entry in places.unschedulable), **found})

    def _count(self, where: Iterable[Place]) -> Mapping[Place, int]:
        """Count one after another, which is seldom done if it takes long."""
        began_ns = self.now_ns()
        if began_ns >= self._count_again_ns:
            self._counted = Counter(where)
            now_ns = self.now_ns()
            self._count_again_ns = now_ns + _REST_FACTOR * (now_ns - began_ns)
        return self._counted

    def _spelled(self, counted: Mapping[Place, int]) -> Mapping[str, int]:
        return {place.value: counted.get(place, 0) for place in ORDER}

    def entry_of(self, pod: Pod) -> QueuedPod | None:
        """Return how a pod waits; None if it does not."""
        queue = self.replica.scheduler.state.queue
        flight = queue.in_flight.flights.get(pod_id(pod))
        return flight.entry if flight is not None else queue.get(pod)

"""Metrics that are read from the queue and the cache when somebody asks, so that keeping them costs nothing."""

from __future__ import annotations

from collections import Counter

from stowplan.cache.cache import Cache
from stowplan.observe.series import SeriesSet
from stowplan.queue.entry import Place
from stowplan.queue.queue import SchedulingQueue

#: Upstream counts by the container that a pod is put into, and gated pods share one with those that were refused.
_CONTAINER = {Place.GATED.value: Place.UNSCHEDULABLE.value, Place.ERROR_BACKOFF.value: Place.BACKOFF.value}


class StateMetrics:
    """Reads the queue and the cache. `started_at` has the counts of the queue when the metrics were last reset."""

    def __init__(self, series: SeriesSet, queue: SchedulingQueue, cache: Cache) -> None:
        self._series = series
        self._queue = queue
        self._cache = cache
        self._started_at: Counter[tuple[str, str]] = Counter()

    def reset(self) -> None:
        """Count pods that come to the queue from here on."""
        self._started_at = Counter(self._queue.places.incoming)

    def refresh(self) -> None:
        """Bring the series up to date."""
        self._read_pending()
        self._read_incoming()
        self._read_in_flight()
        self._read_rejectors()
        self._read_cache()

    def _read_pending(self) -> None:
        places = self._queue.places
        gated = sum(1 for entry in places.unschedulable if entry.place is Place.GATED)
        pending = self._series.gauge("scheduler_pending_pods")
        pending.set(len(places.active), "active")
        pending.set(len(places.backoff.refused) + len(places.backoff.failed), "backoff")
        pending.set(len(places.unschedulable) - gated, "unschedulable")
        pending.set(gated, "gated")

    def _read_incoming(self) -> None:
        incoming = self._series.counter("scheduler_queue_incoming_pods_total")
        incoming.values.clear()
        for (place, label), count in (self._queue.places.incoming - self._started_at).items():
            incoming.add(_CONTAINER.get(place, place), label, by=count)

    def _read_in_flight(self) -> None:
        events = self._series.gauge("scheduler_inflight_events")
        for labels in events.values:
            events.values[labels] = 0
        for event in self._queue.in_flight.events:
            events.add(event.change.label)
        events.set(len(self._queue.in_flight), "PodPopped")

    def _read_rejectors(self) -> None:
        rejectors = self._series.gauge("scheduler_unschedulable_pods")
        # One that refuses nobody any more is 0, not gone.
        for labels in rejectors.values:
            rejectors.values[labels] = 0
        for entry in self._queue.places.entries.values():
            for plugin in entry.rejected_by:
                rejectors.add(plugin, entry.pod.spec.scheduler_name)

    def _read_cache(self) -> None:
        size = self._series.gauge("scheduler_cache_size")
        placed = [one.is_assumed for one in self._cache.pods()]
        size.set(len(self._cache.table), "nodes")
        size.set(len(placed), "pods")
        size.set(sum(placed), "assumed_pods")

"""The scheduler's metrics: listens to what the flow reports, and gives it to Prometheus when it asks.

`metric_list` and `component_metrics` say which metrics there are; `series` keeps the numbers. Nothing here is global: a
process may have as many as it has schedulers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any, Final, assert_never

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.registry import Collector

from stowplan.cache.cache import Cache
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.engine import ports
from stowplan.framework import changes
from stowplan.framework.changes import Action, Change
from stowplan.framework.placing import SUCCESS
from stowplan.framework.plugin_faults import SECOND_NS
from stowplan.model.node import Node
from stowplan.model.pod import Pod, pod_id
from stowplan.observe import component_metrics, own_metrics
from stowplan.observe.component_metrics import COMPONENT, RequestMetrics
from stowplan.observe.metric_list import SCHEDULER
from stowplan.observe.own_metrics import OWN, WatchState
from stowplan.observe.plugin_metrics import BUDGET, PluginMetrics
from stowplan.observe.series import Definition, Family, SeriesSet, Shown
from stowplan.queue.entry import Place, QueuedGroup
from stowplan.queue.hints import HintTimer
from stowplan.queue.queue import SchedulingQueue

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
ALL: Final = SCHEDULER + COMPONENT + OWN
MANY_ATTEMPTS: Final = 15
#: Where somebody waits, by upstream's queue.
_QUEUE = {
    Place.ACTIVE: "active",
    Place.BACKOFF: "backoff",
    Place.ERROR_BACKOFF: "backoff",
    Place.UNSCHEDULABLE: "unschedulable",
    Place.GATED: "gated",
}
#: Upstream counts by the container that a pod is put into, and gated pods share one with those that were refused.
_CONTAINER = {Place.GATED.value: Place.UNSCHEDULABLE.value}


class Metrics(Collector):
    """All metrics of one scheduler; called with every report of the flow."""

    def __init__(
        self,
        now_ns: Callable[[], int],
        gates: FeatureGates = DEFAULT_GATES,
        shown: Shown | None = None,
        version: str = component_metrics.FOLLOWED,
    ) -> None:
        self._now_ns = now_ns
        self.series = SeriesSet(available(gates), shown)
        disabled = len(shown.disabled) if shown is not None else 0
        self._introduce = partial(component_metrics.introduce, self.series, gates, version, disabled)
        # Found once: these are for every pod.
        self._algorithm = self.series.histogram("scheduler_scheduling_algorithm_duration_seconds")
        self._sli = self.series.histogram("scheduler_pod_scheduling_sli_duration_seconds")
        self._tries = self.series.histogram("scheduler_pod_scheduling_attempts")
        self._attempts = self.series.counter("scheduler_schedule_attempts_total")
        self._durations = self.series.histogram("scheduler_scheduling_attempt_duration_seconds")
        self._hints = self.series.histogram("scheduler_queueing_hint_execution_duration_seconds")
        self._events = self.series.histogram("scheduler_event_handling_duration_seconds")
        self.plugins = PluginMetrics(self.series)
        self._spell = str if gates.changed("PodEventLabels") else _spelled_before_137
        self.requests = RequestMetrics(self.series)
        self._state: StateMetrics | None = None
        self._watches: Callable[[], Iterable[WatchState]] = tuple
        # Pods that are being bound.
        self._on_their_way: set[str] = set()
        self._introduce()
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def watch(self, queue: SchedulingQueue, cache: Cache) -> None:
        """Read the state of a queue and a cache from now on, whenever metrics are asked for; time the queue's hints."""
        queue.time_hints(HintTimer(self._now_ns, self._hint_answered, self._narrowed))
        self._state = StateMetrics(self.series, queue, cache, self._spell)

    def read_watches(self, watches: Callable[[], Iterable[WatchState]]) -> None:
        """Ask how the watches of a scheduler are, whenever metrics are asked for."""
        self._watches = watches

    # Reading

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Family]:
        if self._state is not None:
            self._state.refresh()
        self.series.gauge("scheduler_goroutines").set(len(self._on_their_way), "binding")
        for watch in self._watches():
            own_metrics.show(self.series, watch)
        yield from self.series.families()

    def reset(self) -> None:
        """Start all series again."""
        self.series.reset()
        if self._state is not None:
            self._state.reset()
        self._introduce()

    # Listening

    def __call__(self, report: ports.Report) -> None:
        match report:
            case ports.Placed():
                self._placed(report)
            case ports.Bound():
                self._bound(report)
            case ports.GivenBack():
                self._given_back(report)
            case ports.Dropped():
                self.plugins.drop()
                self._on_their_way.discard(pod_id(report.pod))
            case ports.Permitted():
                result = SUCCESS if report.rejection is None else report.rejection.code.value
                self.series.time("scheduler_permit_wait_duration_seconds", self._since(report.held_at_ns), result)
            case ports.GangTried():
                self._gang_tried(report)
            case ports.VictimsChosen() | ports.Evicted():
                self._made_room(report)
            case ports.PlacementsTried():
                self._placements_tried(report)
            case ports.Trouble() | ports.ExtenderSaid():
                pass
            case _:
                assert_never(report)

    def event_handled(self, label: str, seconds: float) -> None:
        """Note how long it took to take in something that a watch told."""
        self._events.observe(seconds, self._spell(label))

    def _hint_answered(self, plugin: str, event: str, said: str, took_ns: int) -> None:
        self._hints.observe(took_ns / SECOND_NS, plugin, self._spell(event), said)

    def _narrowed(self, plugin: str, is_narrowed: bool) -> None:
        result = "narrowed" if is_narrowed else "all_pods"
        self.series.count("scheduler_pre_queueing_hint_evaluations_total", plugin, result)

    def lead(self, lease_name: str, is_leading: bool) -> None:
        """Note whether this replica leads."""
        self.series.gauge("leader_election_master_status").set(int(is_leading), lease_name)

    def compared(self, differences: Counter[tuple[str, str]]) -> None:
        """Note how many objects the cache has otherwise than the watches told, by kind and side."""
        for labels in own_metrics.SIDES:
            self.series.gauge("stowplan_cache_mismatches").set(differences[labels], *labels)

    def renew_slowly(self, lease_name: str) -> None:
        """Note that a lease had to be read again to be renewed."""
        self.series.counter("leader_election_slowpath_total").add(lease_name)

    def _placed(self, report: ports.Placed) -> None:
        self._on_their_way.add(pod_id(report.pod))
        self.plugins.placed(report)
        self._algorithm.observe(self._since(report.taken_at_ns))

    def _bound(self, report: ports.Bound) -> None:
        self._on_their_way.discard(pod_id(report.pod))
        self._ended("scheduled", report.pod, _seconds(report.taken_at_ns, report.bound_at_ns))
        attempts = str(report.attempts) if report.attempts < MANY_ATTEMPTS else f"{MANY_ATTEMPTS}+"
        self._sli.observe(_seconds(report.ready_at_ns, report.bound_at_ns), attempts)
        self._tries.observe(report.attempts)
        if report.was_flushed:
            self.series.counter("scheduler_pod_scheduled_after_flush_total").add()

    def _given_back(self, report: ports.GivenBack) -> None:
        seconds = self._since(report.taken_at_ns)
        if pod_id(report.pod) in self._on_their_way:
            self._on_their_way.discard(pod_id(report.pod))
        else:
            self.plugins.given_back(report)
            self._algorithm.observe(seconds)
        self._ended("error" if report.is_error else "unschedulable", report.pod, seconds)

    def _ended(self, result: str, pod: Pod, seconds: float) -> None:
        profile = pod.spec.scheduler_name
        self._attempts.add(result, profile)
        self._durations.observe(seconds, result, profile)

    def _gang_tried(self, report: ports.GangTried) -> None:
        took, labels = self._since(report.taken_at_ns), (report.result, report.profile)
        self.series.count("scheduler_podgroup_schedule_attempts_total", *labels)
        self.series.time("scheduler_podgroup_scheduling_attempt_duration_seconds", took, *labels)
        self.series.time("scheduler_podgroup_scheduling_algorithm_duration_seconds", took)

    def _made_room(self, report: ports.VictimsChosen | ports.Evicted) -> None:
        if isinstance(report, ports.VictimsChosen):
            self._victims_chosen(report)
        else:
            self._evicted(report)

    def _victims_chosen(self, report: ports.VictimsChosen) -> None:
        preemptor = report.pod.kind.lower()
        if isinstance(report.pod, Pod):
            self.series.histogram("scheduler_preemption_victims").observe(report.victims)
        else:
            self.series.time("scheduler_workload_preemption_victims", report.victims)
        if report.disruptions:
            self.series.time("scheduler_preemption_workload_disruptions", report.disruptions, preemptor)
        for _ in range(report.pdb_violations):
            self.series.count("scheduler_preemption_pdb_violations_total", preemptor)

    def _evicted(self, report: ports.Evicted) -> None:
        result, took = "error" if report.is_error else "success", self._since(report.started_at_ns)
        self.series.count("scheduler_preemption_goroutines_execution_total", result)
        self.series.time("scheduler_preemption_goroutines_duration_seconds", took, result)
        self.series.time("scheduler_preemption_execution_duration_seconds", took, report.pod.kind.lower(), result)

    def _placements_tried(self, report: ports.PlacementsTried) -> None:
        for _ in range(report.generated):
            self.series.count("scheduler_generated_placements_total", report.profile)
        for is_enough, seconds in report.evaluated:
            labels = ("feasible" if is_enough else "infeasible", report.profile)
            self.series.count("scheduler_placement_evaluations_total", *labels)
            self.series.time("scheduler_placement_evaluation_duration_seconds", seconds, *labels)

    def _since(self, at_ns: int) -> float:
        return _seconds(at_ns, self._now_ns())


def _seconds(from_ns: int, to_ns: int) -> float:
    return max(0, to_ns - from_ns) / SECOND_NS


def available(gates: FeatureGates) -> list[Definition]:
    """Return the metrics that exist under some feature gates."""
    known = (*of_release(gates), *BUDGET)
    return [definition for definition in known if not definition.gate or gates.enabled(definition.gate)]


def of_release(gates: FeatureGates) -> list[Definition]:
    """Return the metrics that a release has, by whatever feature gate."""
    if gates.changed("MetricsOf137"):
        return list(ALL)
    return [definition.earlier or definition for definition in ALL if not definition.is_new]


class StateMetrics:
    """Reads the queue and the cache when somebody asks, so that keeping these metrics costs nothing."""

    def __init__(self, series: SeriesSet, queue: SchedulingQueue, cache: Cache, spell: Callable[[str], str]) -> None:
        self._series = series
        self._queue = queue
        self._cache = cache
        self._spell = spell
        # The counts of the queue when the metrics were last reset.
        self._pods_before: Counter[tuple[str, str]] = Counter()
        self._entities_before: Counter[tuple[str, str, str]] = Counter()

    def reset(self) -> None:
        """Count pods that come to the queue from here on."""
        self._pods_before = Counter(self._queue.places.incoming)
        self._entities_before = Counter(self._queue.places.incoming_entities)

    def refresh(self) -> None:
        """Bring the series up to date."""
        self._read_pending()
        self._read_incoming()
        self._read_in_flight()
        self._read_rejectors()
        self._read_cache()

    def _read_pending(self) -> None:
        groups = self._queue.groups
        pods, waiting = Counter[str](), Counter[tuple[str, str]]()
        for entry in self._queue.places.known:
            queue = _QUEUE[entry.place]
            pods[queue] += len(entry.members) if isinstance(entry, QueuedGroup) else 1
            waiting[queue, entry.type] += 1
        pending = self._series.gauge("scheduler_pending_pods")
        for queue in dict.fromkeys(_QUEUE.values()):
            pending.set(pods[queue], queue)
        for place in (Place.INCOMPLETE, Place.PENDING) if groups is not None else ():
            pending.set(sum(member.place is place for member in groups or ()), place.value)
        if "scheduler_queued_entities" in self._series.by_name:
            entities = self._series.gauge("scheduler_queued_entities")
            for kind in ("pod",) if groups is None else ("pod", "podgroup"):
                for queue in dict.fromkeys(_QUEUE.values()):
                    entities.set(waiting[queue, kind], queue, kind)

    def _read_incoming(self) -> None:
        places = self._queue.places
        incoming = self._series.counter("scheduler_queue_incoming_pods_total")
        incoming.values.clear()
        for (place, label), count in (places.incoming - self._pods_before).items():
            incoming.add(_CONTAINER.get(place, place), self._spell(label), by=count)
        if "scheduler_queue_incoming_entities_total" in self._series.by_name:
            entities = self._series.counter("scheduler_queue_incoming_entities_total")
            entities.values.clear()
            for labels, count in (places.incoming_entities - self._entities_before).items():
                entities.add(*labels, by=count)

    def _read_in_flight(self) -> None:
        events = self._series.gauge("scheduler_inflight_events")
        for labels in events.values:
            events.values[labels] = 0
        for event in self._queue.in_flight.events:
            events.add(self._spell(event.change.label))
        events.set(len(self._queue.in_flight), "PodPopped")

    def _read_rejectors(self) -> None:
        rejectors = self._series.gauge("scheduler_unschedulable_pods")
        # One that refuses nobody any more is 0, not gone.
        for labels in rejectors.values:
            rejectors.values[labels] = 0
        for entry in (*self._queue.places.entries.values(), *(self._queue.groups or ())):
            for plugin in entry.rejected_by:
                rejectors.add(plugin, entry.pod.spec.scheduler_name)

    def _read_cache(self) -> None:
        size = self._series.gauge("scheduler_cache_size")
        placed = [one.is_assumed for one in self._cache.pods()]
        size.set(len(self._cache.table), "nodes")
        size.set(len(placed), "pods")
        size.set(sum(placed), "assumed_pods")


def event_label(old: Any | None, new: Any | None) -> str:
    """Return what upstream calls a change in its metrics, such as `AssignedPodDelete` or `NodeUpdate`."""
    found = new if new is not None else old
    action = Action.ADD if old is None else Action.DELETE if new is None else Action.UPDATE
    match found:
        case Pod():
            resource = changes.ASSIGNED_POD if found.node_name else changes.UNSCHEDULED_POD
        case Node():
            resource = changes.NODE
        case _:
            resource = changes.resource_of(found.kind) if found is not None else ""
    return _label(resource, action)


def _spelled_before_137(label: str) -> str:
    """Return what 1.36 calls a change: it knows one sort of pending pods, and no pod that requests more."""
    for resource in (changes.UNSCHEDULED_POD, changes.TARGET_POD):
        if label.startswith(resource):
            label = f"UnschedulablePod{label.removeprefix(resource)}"
    return label.replace("UpdatePodScaleUp", "Update")


@cache
def _label(resource: str, action: Action) -> str:
    return Change(resource, action).label

"""What is measured while a workload runs: how fast pods are scheduled, how long each step took, what it cost.

As upstream's collectors: throughput by samples at regular intervals, durations from the scheduler's own histograms,
which start again when the measuring begins. A sample a second would never see a scheduler that is done with a thousand
pods in half a second, so a run of less than ten seconds is cut into ten intervals.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from stowplan.bench.process_cost import MeasuredProcess
from stowplan.bench.workloads import LabelValues, MetricsConfig
from stowplan.model.pod import Pod
from stowplan.observe.series import HistogramSeries, SeriesSet

SECOND_NS: Final = 1_000_000_000
SAMPLE_NS: Final = SECOND_NS
#: A run is cut into so many intervals at least.
FEWEST_SAMPLES: Final = 10
#: Labels whose values are not told apart, as upstream does not.
_JOINED: Final = frozenset(("profile", "status", "hint"))

DEFAULT_METRICS: Final = MetricsConfig(
    {
        "scheduler_framework_extension_point_duration_seconds": [],
        "scheduler_scheduling_attempt_duration_seconds": [
            LabelValues("result", ["scheduled", "unschedulable", "error"])
        ],
        # Not upstream's: how long a decision took, without the binding.
        "scheduler_scheduling_algorithm_duration_seconds": None,
        "scheduler_plugin_execution_duration_seconds": [],
        "scheduler_queueing_hint_execution_duration_seconds": [],
        "scheduler_event_handling_duration_seconds": [],
        "scheduler_podgroup_scheduling_attempt_duration_seconds": [],
        "scheduler_podgroup_scheduling_algorithm_duration_seconds": None,
    }
)


@dataclass(frozen=True, slots=True)
class DataItem:
    """One measured thing, as perf-dash reads it."""

    data: dict[str, float]
    unit: str
    labels: dict[str, str]

    @property
    def metric(self) -> str:
        return self.labels["Metric"]


@dataclass(slots=True)
class Measurement:
    """What came out of one collection of metrics."""

    name: str
    #: How many of the pods that are measured were scheduled; and of all, for others may go on beside them.
    pods: int
    all_pods: int
    seconds: float
    #: None where nobody knows which process the scheduler is.
    cpu_seconds: float | None
    peak_mebibytes: float | None
    #: The rate of the last tenth of the pods by that of the first; None for too few pods.
    last_by_first: float | None
    items: list[DataItem] = field(default_factory=list)

    @property
    def throughput(self) -> float | None:
        found = next((item for item in self.items if item.metric == "SchedulingThroughput"), None)
        return found.data["Average"] if found is not None else None

    @property
    def cpu_milliseconds_a_pod(self) -> float | None:
        return self.cpu_seconds * 1000 / self.all_pods if self.all_pods and self.cpu_seconds is not None else None


class Measured(Protocol):
    """Whose work is measured: the process that does it, and its own metrics, if either can be had."""

    @property
    def process(self) -> MeasuredProcess | None: ...

    @property
    def series(self) -> SeriesSet | None: ...


class Collector:
    """Measures from when it is made until `finish`. Hears of every pod; see `VirtualApi.observers`."""

    def __init__(
        self,
        name: str,
        wanted: Callable[[Pod], bool],
        measured: Measured,
        config: MetricsConfig | None,
        now_ns: Callable[[], int],
    ) -> None:
        self._name, self._wanted, self._now_ns = name, wanted, now_ns
        self._process, self._series = measured.process, measured.series.by_name if measured.series is not None else {}
        self._config = config or DEFAULT_METRICS
        for metric in self._config.metrics:
            found = self._series.get(metric)
            if found is not None:
                found.reset()
        self._stamps_ns: list[int] = []
        self._all_pods = 0
        if self._process is not None:
            self._process.reset_peak()
        self._started_ns = now_ns()
        self._started_cpu = self._process.cpu_seconds() if self._process is not None else 0.0

    def observe(self, old: Pod | None, new: Pod | None) -> None:
        if new is not None and new.spec.node_name and (old is None or not old.spec.node_name):
            self._all_pods += 1
            if self._wanted(new):
                self._stamps_ns.append(self._now_ns())

    def finish(self) -> Measurement:
        """Return what was measured."""
        cpu_seconds = self._process.cpu_seconds() - self._started_cpu if self._process is not None else None
        peak = self._process.peak_mebibytes() if self._process is not None else None
        ended_ns = self._stamps_ns[-1] if self._stamps_ns else self._now_ns()
        seconds = (ended_ns - self._started_ns) / SECOND_NS
        ratio = last_by_first(self._stamps_ns)
        counts = (len(self._stamps_ns), self._all_pods)
        found = Measurement(self._name, *counts, seconds, cpu_seconds, peak, ratio)
        samples = throughputs(self._stamps_ns, self._started_ns)
        if samples:
            found.items.append(DataItem(_summary(samples), "pods/s", self._labels("SchedulingThroughput")))
        found.items.append(DataItem({"Duration": seconds}, "s", self._labels("SchedulingDuration")))
        if found.cpu_milliseconds_a_pod is not None:
            item = DataItem({"Average": found.cpu_milliseconds_a_pod}, "ms", self._labels("CPUTimePerPod"))
            found.items.append(item)
        if peak is not None:
            found.items.append(DataItem({"Max": peak}, "MiB", self._labels("PeakMemory")))
        if ratio is not None:
            found.items.append(DataItem({"Ratio": ratio}, "", self._labels("ThroughputLastTenthByFirst")))
        for metric, labels in self._config.metrics.items():
            series = self._series.get(metric)
            if isinstance(series, HistogramSeries):
                found.items += self._durations(series, labels)
        return found

    def _labels(self, metric: str) -> dict[str, str]:
        return {"Name": self._name, "Metric": metric}

    def _durations(self, series: HistogramSeries, wanted: list[LabelValues] | None) -> Iterable[DataItem]:
        """Return the durations of a histogram for each combination of labels that is asked for and occurred."""
        name = series.definition.name
        observed = read_histogram(series)
        if wanted is None:
            groups: dict[tuple[tuple[str, str], ...], list[Buckets]] = {(): list(observed.values())}
        else:
            # By label, the values that are collected; None is for all.
            kept: dict[str, list[str] | None] = {one.label: one.values for one in wanted}
            if not kept:
                kept = {label: None for label in series.definition.labels if label not in _JOINED}
            groups = {}
            for labels, buckets in observed.items():
                shown = tuple((key, labels_of) for key, labels_of in labels if key in kept)
                if all(kept[key] is None or value in (kept[key] or ()) for key, value in shown):
                    groups.setdefault(shown, []).append(buckets)
        for shown, group in groups.items():
            merged = Buckets.merged(group)
            if merged is not None and merged.count:
                yield DataItem(merged.milliseconds(), "ms", {**self._labels(name), **dict(shown)})


# Throughput


def throughputs(stamps_ns: Sequence[int], started_ns: int) -> list[float]:
    """Return the pods a second of each interval, by upstream's rules.

    The interval in which the first pod is scheduled does not count, and one without any is joined to the next.
    """
    if not stamps_ns:
        return []
    interval_ns = min(SAMPLE_NS, max(1, (stamps_ns[-1] - started_ns) // FEWEST_SAMPLES))
    found: list[float] = []
    last_count = last_ns = skipped = 0
    at = 0
    for tick_ns in range(started_ns + interval_ns, stamps_ns[-1] + 1, interval_ns):
        while at < len(stamps_ns) and stamps_ns[at] <= tick_ns:
            at += 1
        if not last_ns:
            last_count, last_ns = at, tick_ns if at else 0
        elif at == last_count:
            skipped += 1
        else:
            rate = (at - last_count) * SECOND_NS / (tick_ns - last_ns)
            found += [rate] * (skipped + 1)
            last_count, last_ns, skipped = at, tick_ns, 0
    return found


def last_by_first(stamps_ns: Sequence[int]) -> float | None:
    """Return how fast the last tenth of the pods was scheduled, as a multiple of the first."""
    tenth = len(stamps_ns) // 10
    if tenth < 2:
        return None
    first_ns, last_ns = stamps_ns[tenth] - stamps_ns[0], stamps_ns[-1] - stamps_ns[-1 - tenth]
    return first_ns / last_ns if last_ns else None


def _summary(samples: Iterable[float]) -> dict[str, float]:
    ordered = sorted(samples)
    return {"Average": sum(ordered) / len(ordered)} | {
        f"Perc{percent}": ordered[math.ceil(len(ordered) * percent / 100) - 1] for percent in (50, 90, 95, 99)
    }


# Durations


@dataclass(frozen=True, slots=True)
class Buckets:
    """What a histogram has seen: upper bounds, how many are below each, and the sum of all."""

    bounds: tuple[float, ...]
    cumulative: tuple[float, ...]
    sum: float

    @property
    def count(self) -> float:
        return self.cumulative[-1]

    @classmethod
    def merged(cls, found: Sequence[Buckets]) -> Buckets | None:
        if not found:
            return None
        counts = tuple(map(sum, zip(*(one.cumulative for one in found), strict=True)))
        return cls(found[0].bounds, counts, sum(one.sum for one in found))

    def quantile(self, share: float) -> float:
        """Return below which value a share of all is, by a straight line within a bucket, as Prometheus does."""
        rank = share * self.count
        at = next(index for index, below in enumerate(self.cumulative) if below >= rank)
        if math.isinf(self.bounds[at]):
            return self.bounds[at - 1]
        lower, before = (self.bounds[at - 1], self.cumulative[at - 1]) if at else (0.0, 0.0)
        within = self.cumulative[at] - before
        return lower + (self.bounds[at] - lower) * ((rank - before) / within if within else 1.0)

    def milliseconds(self) -> dict[str, float]:
        quantiles = {f"Perc{percent}": self.quantile(percent / 100) * 1000 for percent in (50, 90, 95, 99)}
        return {"Average": self.sum / self.count * 1000, **quantiles}


def read_histogram(series: HistogramSeries) -> Mapping[tuple[tuple[str, str], ...], Buckets]:
    """Return what a histogram has seen, by its labels."""
    bounds: dict[tuple[tuple[str, str], ...], dict[float, float]] = {}
    sums: dict[tuple[tuple[str, str], ...], float] = {}
    for sample in series.family(lambda labels: labels).samples:
        labels: dict[str, Any] = dict(sample.labels)
        bound = labels.pop("le", None)
        key = tuple(sorted(labels.items()))
        if sample.name.endswith("_bucket") and bound is not None:
            bounds.setdefault(key, {})[float(bound)] = sample.value
        elif sample.name.endswith("_sum"):
            sums[key] = sample.value
    return {
        key: Buckets(tuple(sorted(found)), tuple(found[bound] for bound in sorted(found)), sums.get(key, 0.0))
        for key, found in bounds.items()
    }


def with_all_labels(items: Sequence[DataItem]) -> list[DataItem]:
    """Give all items the same labels, as perf-dash expects."""
    names = sorted(set(itertools.chain.from_iterable(item.labels for item in items)))
    return [
        DataItem(item.data, item.unit, {name: item.labels.get(name, "not applicable") for name in names})
        for item in items
    ]

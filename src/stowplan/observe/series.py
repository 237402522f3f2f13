"""Counters, gauges and histograms as plain numbers: cheap to change while scheduling, given to Prometheus when it asks.

One thread changes and reads them, so nothing is locked. `metric_list` says which there are, `metrics` owns them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import accumulate
from typing import Literal, TypeAlias

import msgspec
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.utils import floatToGoString

Family: TypeAlias = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily
Labels: TypeAlias = tuple[str, ...]
#: Says under which label values a series is shown.
Rename: TypeAlias = Callable[[Labels], Labels]
#: The label values that are shown as they are, by metric and label; others are shown as `unexpected`.
AllowedValues: TypeAlias = Mapping[tuple[str, str], frozenset[str]]

UNEXPECTED = "unexpected"
_DEPRECATED = "(Deprecated since "


class Definition(msgspec.Struct, frozen=True):
    """A metric as it is published."""

    name: str
    labels: Labels
    #: What stands in the HELP line: the stability in brackets, and what it is about.
    text: str
    buckets: tuple[float, ...] = ()
    #: The feature gate without which the metric does not exist.
    gate: str = ""
    #: Whether it came with 1.37.
    is_new: bool = False
    #: What 1.36 has instead, where that is not the same; of the labels it has the first ones.
    earlier: Definition | None = None
    #: What whoever counts calls it, if not by its name.
    alias: str = ""

    def since_137(self) -> Definition:
        """Return the metric as one that 1.36 has not got."""
        return msgspec.structs.replace(self, is_new=True)

    def was(self, text: str, shown: str = "") -> Definition:
        """Return the metric with what 1.36 says of it, and how it shows it if not under the same name and labels."""
        old = metric(shown, text, self.buckets, self.gate)
        name, labels = (old.name, old.labels) if shown else (self.name, self.labels)
        earlier = msgspec.structs.replace(old, name=name, labels=labels, alias=self.name)
        return msgspec.structs.replace(self, earlier=earlier)

    @property
    def kind(self) -> Literal["counter", "gauge", "histogram"]:
        """What is told by the name, as Prometheus has it, and by whether there are buckets."""
        if self.buckets:
            return "histogram"
        return "counter" if self.name.endswith("_total") else "gauge"

    @property
    def stability(self) -> str:
        return self.text[1 : self.text.index("]")]

    @property
    def deprecated_since(self) -> str:
        _, _, since = self.text.partition(_DEPRECATED)
        return since.partition(")")[0]


def metric(shown: str, text: str, buckets: tuple[float, ...] = (), gate: str = "") -> Definition:
    """Define a metric by how it is shown, `name{label,label}`, and its HELP line, `[STABILITY] what it is about`."""
    name, _, labels = shown.removesuffix("}").partition("{")
    return Definition(name, tuple(labels.split(",")) if labels else (), text, buckets, gate)


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return the upper bounds of buckets, each `factor` times the one before."""
    bounds = [start]
    while len(bounds) < count:
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


def _spelled(bound: float) -> str:
    """Spell a bound as Go does: dashboards compare the text."""
    spelled: str = floatToGoString(bound)  # type: ignore[no-untyped-call]
    return spelled.removesuffix(".0")


class CounterSeries:
    """Numbers that only grow, by label values."""

    _family: type[CounterMetricFamily | GaugeMetricFamily] = CounterMetricFamily

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.values: dict[Labels, float] = {}
        self.reset()

    def add(self, *labels: str, by: float = 1) -> None:
        self.values[labels] = self.values.get(labels, 0) + by

    def reset(self) -> None:
        """Start again; a metric without labels is there from the start."""
        self.values.clear()
        if not self.definition.labels:
            self.values[()] = 0

    def family(self, rename: Rename) -> Family:
        definition = self.definition
        family = self._family(definition.name, definition.text, labels=definition.labels)
        for labels, value in self._renamed(rename):
            family.add_metric(labels, value)
        return family

    def _renamed(self, rename: Rename) -> list[tuple[Labels, float]]:
        merged: dict[Labels, float] = {}
        count = len(self.definition.labels)
        for labels, value in self.values.items():
            shown = rename(labels[:count])
            merged[shown] = merged.get(shown, 0) + value
        return sorted(merged.items())


class GaugeSeries(CounterSeries):
    """Numbers that go up and down, by label values."""

    _family = GaugeMetricFamily

    def set(self, value: float, *labels: str) -> None:
        self.values[labels] = value


class _Observed:
    """What one series of a histogram has seen."""

    __slots__ = ("counts", "sum")

    def __init__(self, buckets: int) -> None:
        self.counts = [0] * (buckets + 1)
        self.sum = 0.0

    def take_in(self, other: _Observed) -> None:
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)]
        self.sum += other.sum


class HistogramSeries:
    """How often values fell into which bucket, by label values."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self._bounds = definition.buckets
        self._names = [*map(_spelled, definition.buckets), "+Inf"]
        self._observed: dict[Labels, _Observed] = {}
        self.reset()

    def observe(self, value: float, *labels: str) -> None:
        try:
            observed = self._observed[labels]
        except KeyError:
            observed = self._observed[labels] = _Observed(len(self._bounds))
        observed.counts[bisect_left(self._bounds, value)] += 1
        observed.sum += value

    def reset(self) -> None:
        """Start again; a metric without labels is there from the start."""
        self._observed.clear()
        if not self.definition.labels:
            self._observed[()] = _Observed(len(self._bounds))

    def family(self, rename: Rename) -> Family:
        definition = self.definition
        merged: dict[Labels, _Observed] = {}
        for labels, observed in self._observed.items():
            merged.setdefault(rename(labels), _Observed(len(self._bounds))).take_in(observed)
        family = HistogramMetricFamily(definition.name, definition.text, labels=definition.labels)
        for labels, observed in sorted(merged.items(), key=lambda item: item[0]):
            cumulative = map(float, accumulate(observed.counts))
            family.add_metric(labels, list(zip(self._names, cumulative, strict=True)), observed.sum)
        return family


Series: TypeAlias = CounterSeries | GaugeSeries | HistogramSeries

_KINDS: Mapping[str, Callable[[Definition], Series]] = {
    "counter": CounterSeries,
    "gauge": GaugeSeries,
    "histogram": HistogramSeries,
}


class Shown(msgspec.Struct, frozen=True):
    """What is left out when metrics are read: whole metrics, and label values that nobody allowed."""

    disabled: Collection[str] = frozenset()
    allowed: AllowedValues = {}

    def rename_of(self, definition: Definition) -> Rename:
        limits = [self.allowed.get((definition.name, label)) for label in definition.labels]
        if not any(limit is not None for limit in limits):
            return lambda labels: labels
        return lambda labels: tuple(
            value if limit is None or value in limit else UNEXPECTED
            for value, limit in zip(labels, limits, strict=True)
        )


class SeriesSet:
    """The series of a number of definitions, by name; plugins count their own work here (`handle.Measures`)."""

    def __init__(self, definitions: Iterable[Definition], shown: Shown | None = None) -> None:
        self.by_name: dict[str, Series] = {}
        self._shown = shown if shown is not None else Shown()
        for definition in definitions:
            self.by_name[definition.alias or definition.name] = _KINDS[definition.kind](definition)

    def counter(self, name: str) -> CounterSeries:
        found = self.by_name[name]
        assert isinstance(found, CounterSeries), name
        return found

    def gauge(self, name: str) -> GaugeSeries:
        found = self.by_name[name]
        assert isinstance(found, GaugeSeries), name
        return found

    def histogram(self, name: str) -> HistogramSeries:
        found = self.by_name[name]
        assert isinstance(found, HistogramSeries), name
        return found

    def count(self, name: str, *labels: str) -> None:
        """Count one more, if there is such a metric under the feature gates."""
        if name in self.by_name:
            self.counter(name).add(*labels)

    def time(self, name: str, seconds: float, *labels: str) -> None:
        """Note how long something took, if there is such a metric under the feature gates."""
        if name in self.by_name:
            self.histogram(name).observe(seconds, *labels)

    def families(self) -> list[Family]:
        """Return what has values, by name; a metric that nobody has touched is not shown."""
        by_name = {series.definition.name: series for series in self.by_name.values()}
        wanted = [by_name[name] for name in sorted(by_name.keys() - set(self._shown.disabled))]
        families = [series.family(self._shown.rename_of(series.definition)) for series in wanted]
        return [family for family in families if family.samples]

    def reset(self) -> None:
        for series in self.by_name.values():
            series.reset()

"""Throughput is sampled by upstream's rules, and durations are read from histograms as Prometheus reads them."""

from __future__ import annotations

import math

import pytest

from stowplan.bench.measuring import Buckets, last_by_first, read_histogram, throughputs
from stowplan.observe.series import HistogramSeries, metric

S = 1_000_000_000


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param([], [], id="without pods there is no sample"),
        pytest.param(
            [0.5, 1.5, 1.6, 2.5, 9.5, 10.0, 10.2],
            # The interval of the first pod does not count; six without a pod are joined to the one that has two.
            [2.0, 1.0, *([2 / 7] * 7)],
            id="an interval a second over ten seconds",
        ),
        pytest.param([0.1 * number for number in range(1, 11)], [10.0] * 9, id="ten intervals over one second"),
    ],
)
def test_throughput_is_sampled_at_intervals(seconds: list[float], expected: list[float]) -> None:
    found = throughputs([round(second * S) for second in seconds], 0)
    assert found == pytest.approx(expected)


def test_the_last_tenth_is_compared_with_the_first() -> None:
    # 30 pods: three in the first tenth at one a second, three in the last at two a second.
    stamps = [*range(0, 27 * S, S), *(26 * S + S // 2 * step for step in (1, 2, 3))]
    assert last_by_first(stamps) == pytest.approx(2.0)
    assert last_by_first(stamps[:10]) is None


def test_quantiles_go_straight_through_a_bucket() -> None:
    buckets = Buckets((1.0, 2.0, math.inf), (10.0, 20.0, 20.0), 30.0)
    assert buckets.quantile(0.5) == 1.0
    assert buckets.quantile(0.75) == 1.5
    assert buckets.milliseconds()["Average"] == 1500


def test_what_is_beyond_the_last_bound_counts_as_the_last_bound() -> None:
    assert Buckets((1.0, 2.0, math.inf), (0.0, 1.0, 10.0), 90.0).quantile(0.99) == 2.0


def test_a_histogram_is_read_by_its_labels() -> None:
    series = HistogramSeries(metric("took_seconds{result}", "[ALPHA] how long", (0.1, 1.0)))
    for value, result in ((0.05, "good"), (0.5, "good"), (5.0, "bad")):
        series.observe(value, result)
    found = read_histogram(series)
    assert found[("result", "good"),].cumulative == (1.0, 2.0, 2.0)
    assert found[("result", "bad"),].cumulative == (0.0, 0.0, 1.0)
    assert found[("result", "good"),].sum == pytest.approx(0.55)

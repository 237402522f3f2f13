"""Numbers are kept by label values and shown as Prometheus wants them."""

import pytest

from stowplan.observe.series import SeriesSet, Shown, exponential, metric

COUNTER = metric("things_total{kind,place}", "[STABLE] Things.")
PLAIN = metric("plain_total", "[ALPHA] Plain.")
TIMES = metric("time_seconds{kind}", "[BETA] Time.", (0.1, 0.2))


def samples(series: SeriesSet) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Read all samples by name and labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in series.families()
        for sample in family.samples
    }


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        pytest.param(exponential(1, 2, 5), (1, 2, 4, 8, 16), id="doubling from one"),
        pytest.param(exponential(0.001, 2, 4), (0.001, 0.002, 0.004, 0.008), id="doubling from a millisecond"),
        pytest.param(
            exponential(0.00001, 1.5, 3),
            (0.00001, 1.5000000000000002e-05, 2.2500000000000005e-05),
            id="multiplied step by step",
        ),
    ],
)
def test_bounds_grow_by_their_factor(bounds: tuple[float, ...], expected: tuple[float, ...]) -> None:
    assert bounds == expected


def test_a_metric_with_labels_is_shown_once_something_was_counted() -> None:
    series = SeriesSet([COUNTER, PLAIN])
    assert samples(series) == {("plain_total", ()): 0}
    series.counter("things_total").add("a", "b", by=2)
    assert samples(series)["things_total", (("kind", "a"), ("place", "b"))] == 2


def test_a_value_on_a_bound_belongs_to_its_bucket_and_buckets_add_up() -> None:
    series = SeriesSet([TIMES])
    for value in (0.05, 0.1, 0.15, 3.0):
        series.histogram("time_seconds").observe(value, "x")
    found = samples(series)
    buckets = {dict(labels)["le"]: value for (name, labels), value in found.items() if name == "time_seconds_bucket"}
    assert buckets == {"0.1": 2, "0.2": 3, "+Inf": 4}
    assert found["time_seconds_count", (("kind", "x"),)] == 4
    assert found["time_seconds_sum", (("kind", "x"),)] == pytest.approx(3.3)


def test_bounds_are_spelled_as_go_does() -> None:
    series = SeriesSet([metric("sizes", "[BETA] Sizes.", (0.00001, 0.5, 1, 64, 4194304))])
    names = [dict(labels)["le"] for name, labels in samples(series) if name == "sizes_bucket"]
    assert names == ["1e-05", "0.5", "1", "64", "4.194304e+06", "+Inf"]


def test_values_that_are_not_allowed_are_shown_together() -> None:
    shown = Shown(allowed={("things_total", "kind"): frozenset({"a"}), ("time_seconds", "kind"): frozenset()})
    series = SeriesSet([COUNTER, TIMES], shown)
    for kind in ("a", "b", "c"):
        series.counter("things_total").add(kind, "p")
        series.histogram("time_seconds").observe(0.15, kind)
    found = samples(series)
    assert found["things_total", (("kind", "a"), ("place", "p"))] == 1
    assert found["things_total", (("kind", "unexpected"), ("place", "p"))] == 2
    assert found["time_seconds_count", (("kind", "unexpected"),)] == 3


def test_a_disabled_metric_is_not_shown() -> None:
    assert samples(SeriesSet([PLAIN], Shown(disabled=frozenset({"plain_total"})))) == {}


def test_a_reset_leaves_only_what_is_always_there() -> None:
    series = SeriesSet([COUNTER, PLAIN])
    series.counter("things_total").add("a", "b")
    series.counter("plain_total").add()
    series.reset()
    assert samples(series) == {("plain_total", ()): 0}

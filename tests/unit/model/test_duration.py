"""Durations are read and written as in Kubernetes files."""

import pytest

from stowplan.model import duration
from stowplan.model.duration import Duration


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        pytest.param("15s", 15_000_000_000, id="seconds"),
        pytest.param("1h2m3.5s", 3_723_500_000_000, id="several units add up"),
        pytest.param("2462ms", 2_462_000_000, id="milliseconds"),
        pytest.param("-1s", -1_000_000_000, id="a minus sign counts for the whole"),
        pytest.param("+1s", 1_000_000_000, id="a plus sign is allowed"),
        pytest.param("0", 0, id="zero needs no unit"),
        pytest.param(".5s", 500_000_000, id="digits before the point may be missing"),
        pytest.param("1µs", 1_000, id="micro sign"),
    ],
)
def test_a_duration_is_read(text: str, nanoseconds: int) -> None:
    assert duration.parse(text) == Duration(nanoseconds)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("abc", 'time: invalid duration "abc"', id="no number"),
        pytest.param("", 'time: invalid duration ""', id="nothing"),
        pytest.param("-", 'time: invalid duration "-"', id="only a sign"),
        pytest.param("10", 'time: missing unit in duration "10"', id="no unit"),
        pytest.param("1d", 'time: unknown unit "d" in duration "1d"', id="days are not a unit"),
        pytest.param("9999999h", 'time: invalid duration "9999999h"', id="longer than 292 years"),
    ],
)
def test_a_bad_duration_says_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        duration.parse(text)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        pytest.param(0, "0s", id="zero is seconds"),
        pytest.param(2_462_000_000, "2.462s", id="parts of a second have no trailing zeros"),
        pytest.param(600_000_000_000, "10m0s", id="minutes spell out the seconds"),
        pytest.param(3_600_000_000_000, "1h0m0s", id="hours spell out minutes and seconds"),
        pytest.param(-10_000_000, "-10ms", id="below a second the unit shrinks"),
        pytest.param(1_500, "1.5µs", id="microseconds"),
        pytest.param(7, "7ns", id="nanoseconds"),
    ],
)
def test_a_duration_is_written_in_its_largest_units(nanoseconds: int, text: str) -> None:
    assert str(Duration(nanoseconds)) == text


def test_seconds_are_for_calculating() -> None:
    assert Duration(2_462_000_000).seconds == 2.462

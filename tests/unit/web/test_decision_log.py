"""What was decided lately, and how fast."""

from typing import Any

import pytest

from stowplan.engine.ports import Bound, Dropped, GivenBack, Placed, Report
from stowplan.testing import make_pod
from stowplan.web.answers import DecisionAnswer
from stowplan.web.decision_log import MOST_DECISIONS, MOST_SECONDS, DecisionLog

SECOND = 1_000_000_000
POD = make_pod("a").build()


class Clock:
    def __init__(self) -> None:
        self.ns = 100 * SECOND

    def __call__(self) -> int:
        return self.ns


def bound(at_ns: int, took_ns: int = SECOND // 100) -> Bound:
    return Bound(POD, "node", 1, at_ns - took_ns, at_ns - took_ns, at_ns, False)


def refused(**changes: Any) -> GivenBack:
    values = {"message": "no room", "plugins": frozenset(("B", "A")), "nominated_node_name": "", "is_error": False}
    return GivenBack(**{"pod": POD, "taken_at_ns": 100 * SECOND, "attempts": 3, **values, **changes})


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        pytest.param(
            bound(100 * SECOND),
            DecisionAnswer("default/a", "bound", "node", [], "", "1970-01-01T00:01:40.000000Z", 0.01, 1),
            id="a pod that was bound",
        ),
        pytest.param(
            refused(),
            DecisionAnswer("default/a", "refused", None, ["A", "B"], "no room", "1970-01-01T00:01:40.000000Z", 0.0, 3),
            id="a pod that was refused",
        ),
        pytest.param(
            refused(nominated_node_name="n", plugins=frozenset()),
            DecisionAnswer("default/a", "preempting", "n", [], "no room", "1970-01-01T00:01:40.000000Z", 0.0, 3),
            id="a pod that room is made for",
        ),
        pytest.param(
            refused(is_error=True, plugins=frozenset()),
            DecisionAnswer("default/a", "error", None, [], "no room", "1970-01-01T00:01:40.000000Z", 0.0, 3),
            id="an attempt that failed",
        ),
        pytest.param(
            Dropped(POD, "it is gone"),
            DecisionAnswer("default/a", "dropped", None, [], "it is gone", "1970-01-01T00:01:40.000000Z", None, 0),
            id="a pod that needs no node any more",
        ),
    ],
)
def test_a_decision_is_told_of(report: Report, expected: DecisionAnswer) -> None:
    log = DecisionLog(Clock(), dict)
    log(report)
    assert log.newest(0, log.position) == [expected]


def test_that_a_pod_is_placed_is_no_decision_before_it_is_bound() -> None:
    log = DecisionLog(Clock(), dict)
    log(Placed(POD, "node", 0))
    assert log.position == 0


def test_the_last_thousand_are_kept_and_told_newest_first_between_positions() -> None:
    log = DecisionLog(Clock(), dict)
    for number in range(MOST_DECISIONS + 5):
        log(Dropped(POD, str(number)))
    assert len(log.newest(0, log.position, 9999)) == MOST_DECISIONS
    assert [one.message for one in log.newest(1000, 1003)] == ["1002", "1001", "1000"]
    assert [one.message for one in log.newest(0, log.position, most=2)] == ["1004", "1003"]


def test_seconds_have_counts_and_percentiles_and_who_waits() -> None:
    clock = Clock()
    log = DecisionLog(clock, lambda: {"active": 7})
    for took in (1, 2, 3):
        log(bound(clock.ns, took * SECOND))
    log(refused(taken_at_ns=clock.ns - 4 * SECOND))
    clock.ns += SECOND
    log.close_second()
    (one,) = log.rates_since(0)
    assert (one.placed_per_second, one.refused_per_second, one.by_place) == (3, 1, {"active": 7})
    assert (one.attempt_seconds_p50, one.at) == (2.5, "1970-01-01T00:01:40.000000Z")
    assert log.rates_since(log.last_second) == []


def test_a_second_in_which_nothing_happened_is_put_down_when_somebody_asks() -> None:
    clock = Clock()
    log = DecisionLog(clock, dict)
    clock.ns += SECOND
    log.close_second()
    log.close_second()
    (one,) = log.rates(log.last_second)
    assert (one.placed_per_second, one.attempt_seconds_p50) == (0, None)


def test_ten_minutes_are_kept() -> None:
    clock = Clock()
    log = DecisionLog(clock, dict)
    for _ in range(MOST_SECONDS + 3):
        clock.ns += SECOND
        log.close_second()
    assert len(log.rates(log.last_second)) == MOST_SECONDS

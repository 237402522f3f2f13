"""How fast we ask: the token bucket, and the pauses after failures."""

from __future__ import annotations

import asyncio

import pytest

from stowplan.kube.backoff import RetryDelays
from stowplan.kube.client import TokenBucket
from stowplan.simulate import virtual_time


def departures(qps: float, burst: int, arrivals: list[float]) -> list[float]:
    """When requests that ask at these seconds are let through."""

    async def one(bucket: TokenBucket, arrival: float) -> float:
        await asyncio.sleep(arrival)
        await bucket.take()
        return round(asyncio.get_running_loop().time(), 6)

    async def work() -> list[float]:
        bucket = TokenBucket(qps, burst)
        return list(await asyncio.gather(*(one(bucket, arrival) for arrival in arrivals)))

    return virtual_time.run(work())


@pytest.mark.parametrize(
    ("qps", "burst", "arrivals", "expected"),
    [
        pytest.param(2, 3, [0.0] * 6, [0, 0, 0, 0.5, 1.0, 1.5], id="a burst, then the rate"),
        pytest.param(2, 1, [0.0, 0.0, 10.0, 10.1], [0, 0.5, 10, 10.5], id="no more than the burst is saved up"),
        pytest.param(1, 2, [0.0, 0.0, 0.5, 1.5], [0, 0, 1.0, 2.0], id="who comes while others wait waits longer"),
        pytest.param(0, 0, [0.0] * 11, [0.0] * 10 + [0.2], id="0 is client-go's default: 5 and 10"),
        pytest.param(-1, 0, [0.0] * 1000, [0.0] * 1000, id="below 0 is no limit"),
    ],
)
def test_requests_are_let_through(qps: float, burst: int, arrivals: list[float], expected: list[float]) -> None:
    assert departures(qps, burst, arrivals) == expected


def test_who_gives_up_waiting_leaves_its_turn_to_others() -> None:
    async def work() -> float:
        bucket = TokenBucket(1, 1)
        await bucket.take()
        waiting = asyncio.create_task(bucket.take())
        await asyncio.sleep(0.5)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await bucket.take()
        return asyncio.get_running_loop().time()

    assert virtual_time.run(work()) == pytest.approx(1.0)


def test_a_burst_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"clientConnection\.burst must be greater than 0"):
        TokenBucket(50, 0)


def test_pauses_double_up_to_the_longest() -> None:
    backoff = RetryDelays(lambda: 0.0)
    now, pauses = 0.0, []
    for _ in range(8):
        pauses.append(backoff.delay(now))
        now += pauses[-1]
    assert pauses == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30])


def test_pauses_are_jittered_to_less_than_twice() -> None:
    assert RetryDelays(lambda: 0.75).delay(0.0) == pytest.approx(1.4)


@pytest.mark.parametrize(
    ("next_failure", "expected"),
    [
        pytest.param(2.4 + 29, 3.2, id="soon after the last pause they go on growing"),
        pytest.param(2.4 + 31, 0.8, id="after half a minute without failure they start anew"),
    ],
)
def test_pauses_start_anew_once_things_went_well(next_failure: float, expected: float) -> None:
    backoff = RetryDelays(lambda: 0.0)
    backoff.delay(0.0)
    backoff.delay(0.8)
    assert backoff.delay(next_failure) == pytest.approx(expected)

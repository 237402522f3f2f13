"""Clients go first: what the cluster does by itself gets its share of a busy server, and all of an idle one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

import pytest

from stowplan.embedded.registry.precedence import Precedence
from stowplan.simulate import virtual_time
from stowplan.simulate.virtual_time import VirtualTimeLoop

T = TypeVar("T")


def run(story: Coroutine[Any, Any, T]) -> T:
    return virtual_time.run(story)


def spend(seconds: float) -> None:
    """Let the processor be busy."""
    cast("VirtualTimeLoop", asyncio.get_running_loop()).jump(seconds)


def now() -> float:
    return asyncio.get_running_loop().time()


async def serve(precedence: Precedence, requests: int, think_seconds: float = 0.0) -> None:
    """Play clients whose requests take 3 ms each."""
    for _ in range(requests):
        since = now()
        spend(0.003)
        precedence.served(since)
        await asyncio.sleep(think_seconds)


class Worker:
    """Works a millisecond at a time, and counts."""

    def __init__(self) -> None:
        self.pieces = 0

    async def work(self) -> None:
        while True:
            spend(0.001)
            self.pieces += 1
            await asyncio.sleep(0)


async def pieces_during(requests: int, workers: int, think_seconds: float = 0.0) -> list[int]:
    """Count what each of some workers gets done while clients are served."""
    precedence, playing = Precedence(), [Worker() for _ in range(workers)]
    tasks = [asyncio.create_task(precedence.behind(worker.work())) for worker in playing]
    await serve(precedence, requests, think_seconds)
    for task in tasks:
        task.cancel()
    return [worker.pieces for worker in playing]


@pytest.mark.parametrize("workers", [pytest.param(1, id="one works"), pytest.param(4, id="four work")])
def test_the_rest_gets_a_fifth_of_the_time_of_a_busy_server(workers: int) -> None:
    # 1,000 requests take 3 s, beside which a fifth of the whole is 0.75 s, or 750 pieces.
    assert sum(run(pieces_during(1000, workers))) == pytest.approx(750, rel=0.1)


def test_those_who_wait_take_turns() -> None:
    pieces = run(pieces_during(1000, workers=4))
    assert max(pieces) - min(pieces) <= 25


def test_time_that_nobody_asks_for_goes_to_the_rest() -> None:
    # Of 100 pauses of 50 ms, at most the first two milliseconds each are spent on waiting for another request.
    assert run(pieces_during(100, workers=1, think_seconds=0.05)) >= [100 * 48]


def test_work_goes_on_soon_after_the_last_request() -> None:
    async def story() -> float:
        precedence, went_on_at = Precedence(), []

        async def work() -> None:
            # More than three requests make up for.
            spend(0.02)
            await asyncio.sleep(0)
            went_on_at.append(now())

        working = asyncio.create_task(precedence.behind(work()))
        await serve(precedence, 3)
        served_at = now()
        await working
        return went_on_at[0] - served_at

    assert 0.0 < run(story()) < 0.005


def test_who_is_cancelled_while_waiting_for_a_turn_hears_of_it() -> None:
    async def story() -> list[str]:
        precedence, heard = Precedence(), []

        async def work() -> None:
            try:
                spend(1)
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                heard.append("cancelled")
                raise

        task = asyncio.create_task(precedence.behind(work()))
        precedence.served(now())
        await asyncio.sleep(0)
        precedence.served(now())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        return [*heard, "ended" if task.cancelled() else "goes on"]

    assert run(story()) == ["cancelled", "ended"]


def test_what_is_awaited_reaches_the_work() -> None:
    async def story() -> list[str]:
        heard = []

        async def work() -> None:
            future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_later(1, future.set_result, "a result")
            heard.append(await future)
            try:
                async with asyncio.timeout(5):
                    await asyncio.Event().wait()
            except TimeoutError:
                heard.append(f"a time-out at {now()}")

        await Precedence().behind(work())
        return heard

    assert run(story()) == ["a result", "a time-out at 6.0"]


def test_a_fault_of_the_work_is_raised() -> None:
    async def work() -> None:
        await asyncio.sleep(1)
        raise ValueError("out of order")

    with pytest.raises(ValueError, match="out of order"):
        run(Precedence().behind(work()))

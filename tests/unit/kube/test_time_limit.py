"""What takes too long is ended; all who wait share one timer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from stowplan.kube.time_limit import TimeLimit
from stowplan.simulate import virtual_time


async def ended(limit: TimeLimit, seconds: float) -> tuple[str, float]:
    """Sleep inside a limit; return how that ended, and when."""
    loop = asyncio.get_running_loop()
    try:
        with limit():
            await asyncio.sleep(seconds)
    except TimeoutError:
        return "timed out", loop.time()
    return "done", loop.time()


def test_each_is_ended_when_its_own_time_is_over() -> None:
    async def work() -> list[tuple[str, float]]:
        limit, found = TimeLimit(10), []
        async with asyncio.TaskGroup() as group:
            for sleeps in (5, 99, 9, 99):
                found.append(group.create_task(ended(limit, sleeps)))
                await asyncio.sleep(1)
        return [task.result() for task in found]

    assert virtual_time.run(work()) == [("done", 5), ("timed out", 11), ("done", 11), ("timed out", 13)]


def test_who_begins_when_all_others_are_done_has_the_whole_time() -> None:
    async def work() -> list[tuple[str, float]]:
        limit = TimeLimit(10)
        return [await ended(limit, 8), await ended(limit, 99), await ended(limit, 99)]

    assert virtual_time.run(work()) == [("done", 8), ("timed out", 18), ("timed out", 28)]


def test_a_task_goes_on_after_it_was_ended() -> None:
    async def work() -> tuple[int, float]:
        await ended(TimeLimit(10), 99)
        await asyncio.sleep(5)
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling(), asyncio.get_running_loop().time()

    assert virtual_time.run(work()) == (0, 15)


@pytest.mark.parametrize("at", [pytest.param(3, id="before its time is over"), pytest.param(10, id="at the same time")])
def test_who_is_cancelled_by_another_is_cancelled(at: float) -> None:
    async def work() -> bool:
        task = asyncio.create_task(ended(TimeLimit(10), 99))
        asyncio.get_running_loop().call_at(at, task.cancel)
        await asyncio.wait((task,))
        return task.cancelled()

    assert virtual_time.run(work())


async def _raise() -> None:
    raise ValueError("no")


async def _raise_when_ended() -> None:
    try:
        await asyncio.sleep(99)
    finally:
        await _raise()


@pytest.mark.parametrize(
    "work", [pytest.param(_raise, id="at once"), pytest.param(_raise_when_ended, id="when it is ended")]
)
def test_what_is_raised_inside_comes_out(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def inside() -> None:
        with TimeLimit(10)():
            await work()

    with pytest.raises(ValueError, match="no"):
        virtual_time.run(inside())


def test_one_timer_serves_all() -> None:
    async def work() -> list[asyncio.TimerHandle | None]:
        limit, timers = TimeLimit(10), []
        for _ in range(100):
            with limit():
                timers.append(limit.timer)
            await asyncio.sleep(0.05)
        return timers

    first, *others = virtual_time.run(work())
    assert first is not None
    assert all(timer is first for timer in others)

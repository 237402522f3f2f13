"""Time passes only where somebody waits for it."""

from __future__ import annotations

import asyncio

import pytest

from stowplan.simulate import virtual_time
from stowplan.simulate.virtual_time import StuckError, VirtualTimeLoop


def test_an_hour_passes_at_once() -> None:
    async def nap() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    assert virtual_time.run(nap()) == 3600


def test_who_waits_less_is_woken_first_and_sees_its_own_time() -> None:
    async def main() -> list[tuple[str, float]]:
        seen: list[tuple[str, float]] = []

        async def nap(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            seen.append((name, asyncio.get_running_loop().time()))

        await asyncio.gather(nap("late", 2.5), nap("early", 1), nap("last", 1000))
        return seen

    assert virtual_time.run(main()) == [("early", 1), ("late", 2.5), ("last", 1000)]


def test_a_timeout_ends_what_would_take_longer() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.sleep(100), 30)
        return asyncio.get_running_loop().time()

    assert virtual_time.run(main()) == 30


def test_waiting_for_what_never_comes_is_noticed() -> None:
    loop = VirtualTimeLoop()
    task = loop.create_task(asyncio.Event().wait())
    with pytest.raises(StuckError, match="waits for something that never comes"):
        loop.run_until_complete(task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()


def test_the_queue_counts_in_nanoseconds() -> None:
    loop = VirtualTimeLoop()
    loop.jump(1.5)
    assert loop.now_ns() == 1_500_000_000
    loop.close()

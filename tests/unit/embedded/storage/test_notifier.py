"""Few who wait are told of a change at once; many are told in waves, between which there is time for others."""

from __future__ import annotations

import asyncio

from stowplan.embedded.storage.notifier import Notifier
from stowplan.simulate import virtual_time

#: What it takes to tell one of them.
COST_SECONDS = 0.001


class Listeners:
    """Some who wait again and again; notifier one takes a while, in which the loop does nothing else."""

    def __init__(self, count: int) -> None:
        self.notifier = Notifier()
        self.told = 0
        self.most_in_a_turn = 0
        self._in_this_turn = 0
        self._tasks = [asyncio.ensure_future(self._listen()) for _ in range(count)]

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, virtual_time.VirtualTimeLoop)
        while True:
            await self.notifier.wait()
            loop.jump(COST_SECONDS)
            self.told += 1
            self._in_this_turn += 1
            self.most_in_a_turn = max(self.most_in_a_turn, self._in_this_turn)

    async def turn(self) -> None:
        self._in_this_turn = 0
        await asyncio.sleep(0)

    async def leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def test_few_are_told_at_once() -> None:
    async def story() -> int:
        listeners = Listeners(3)
        await asyncio.sleep(0)
        listeners.notifier.notify()
        await asyncio.sleep(0)
        await listeners.leave()
        return listeners.told

    assert virtual_time.run(story()) == 3


def test_of_many_only_some_are_told_in_a_turn_of_the_loop() -> None:
    async def story() -> Listeners:
        listeners = Listeners(300)
        await asyncio.sleep(0)
        listeners.notifier.notify()
        while listeners.told < 300:
            await listeners.turn()
        await listeners.leave()
        return listeners

    assert virtual_time.run(story()).most_in_a_turn == 50


def test_notifier_many_takes_a_fifth_of_the_time() -> None:
    async def story() -> float:
        listeners = Listeners(100)
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0)
        began = loop.time()
        while loop.time() - began < 5:
            listeners.notifier.notify()
            await asyncio.sleep(0.0001)
        await listeners.leave()
        return listeners.told * COST_SECONDS / (loop.time() - began)

    assert 0.15 < virtual_time.run(story()) < 0.25


def test_a_change_in_the_middle_of_a_wave_is_told_in_the_next() -> None:
    async def story() -> int:
        listeners = Listeners(100)
        await asyncio.sleep(0)
        listeners.notifier.notify()
        await asyncio.sleep(0)
        listeners.notifier.notify()
        await asyncio.sleep(10)
        await listeners.leave()
        return listeners.told

    assert virtual_time.run(story()) == 200


def test_who_is_behind_goes_on_though_nothing_changes() -> None:
    async def story() -> int:
        notifier = Notifier()
        passed = 0

        async def catch_up() -> None:
            nonlocal passed
            for _ in range(5):
                await notifier.give_way()
                passed += 1

        await asyncio.gather(*(catch_up() for _ in range(200)))
        return passed

    assert virtual_time.run(story()) == 1000

"""Whoever waits for something to become true is woken by changes, and not for ever."""

from __future__ import annotations

import asyncio

import pytest

from stowplan.engine.news import News
from stowplan.simulate import virtual_time


def test_what_holds_already_is_not_waited_for() -> None:
    assert virtual_time.run(News().until(lambda: True, 0)) is True


def test_a_change_lets_those_who_wait_look_again() -> None:
    async def work() -> tuple[bool, float]:
        news, bound = News(), False
        waiting = asyncio.create_task(news.until(lambda: bound, 600))
        loop = asyncio.get_running_loop()
        loop.call_later(1, news.tell)
        await asyncio.sleep(2)
        assert not waiting.done()
        bound = True
        loop.call_later(3, news.tell)
        return await waiting, loop.time()

    assert virtual_time.run(work()) == (True, 5.0)


def test_waiting_ends_when_the_time_is_over() -> None:
    async def work() -> tuple[bool, float]:
        return await News().until(lambda: False, 600), asyncio.get_running_loop().time()

    assert virtual_time.run(work()) == (False, 600.0)


@pytest.mark.parametrize("fault", [LookupError("the volume is gone"), TimeoutError("the server is slow")])
def test_what_a_look_raises_is_raised(fault: Exception) -> None:
    def look() -> bool:
        raise fault

    with pytest.raises(type(fault), match=str(fault)):
        virtual_time.run(News().until(look, 600))

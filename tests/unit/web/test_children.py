"""Long answers are made in a child, one at a time for each kind."""

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest

from stowplan.app.what_if_page import BusyError
from stowplan.web.children import MOST_IN_LINE, Children


async def at_once(answer: Callable[[int], Any]) -> Any:
    return answer(7)


async def never(answer: Callable[[int], Any]) -> Any:
    await asyncio.get_running_loop().create_future()


def test_what_is_prepared_here_is_made_in_another_process() -> None:
    async def story() -> None:
        said = await Children(at_once).answer("pod", lambda now_ns: lambda: f"{now_ns} {os.getpid()}".encode())
        now_ns, process = said.decode().split()
        assert now_ns == "7"
        assert int(process) != os.getpid()

    asyncio.run(story())


def test_some_may_wait_for_each_kind_and_no_more() -> None:
    async def story() -> None:
        children = Children(never)
        prepare: Callable[[int], Callable[[], bytes]] = lambda now_ns: lambda: b""  # noqa: E731
        waiting = [asyncio.ensure_future(children.answer("pod", prepare)) for _ in range(1 + MOST_IN_LINE)]
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await children.answer("pod", prepare)
        other = asyncio.ensure_future(children.answer("nodes", prepare))
        await asyncio.sleep(0)
        assert not other.done()
        for task in (*waiting, other):
            task.cancel()
        await asyncio.gather(*waiting, other, return_exceptions=True)

    asyncio.run(story())

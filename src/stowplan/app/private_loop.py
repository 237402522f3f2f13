"""An event loop on a thread of its own: how a plain call waits for extenders, also inside a loop that runs already.

A notebook has such a loop, and a loop cannot be run inside another on the same thread.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")

_CLOSE_SECONDS: Final = 2.0


class Closable(Protocol):
    """Something that is open on the loop it was used on."""

    async def close(self) -> None: ...


class PrivateLoop:
    """Runs coroutines for callers who wait. The thread starts with the first one, and ends with its owner."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._used: list[Closable] = []

    def run(self, work: Coroutine[Any, Any, T], uses: Iterable[Closable]) -> T:
        """Run a coroutine to its end, and return its result; what it uses is closed when the thread ends."""
        if self._loop is None:
            self._loop = _start()
            weakref.finalize(self, _end, self._loop, self._used)
        self._used += [one for one in uses if one not in self._used]
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            # Ctrl-C: whoever no longer waits wants no answer.
            future.cancel()
            raise


def _start() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    # A daemon: a program that ends does not wait for it.
    threading.Thread(target=_work, args=(loop,), name="stowplan extenders", daemon=True).start()
    return loop


def _work(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


def _end(loop: asyncio.AbstractEventLoop, used: list[Closable]) -> None:
    with suppress(TimeoutError):
        asyncio.run_coroutine_threadsafe(_close(used), loop).result(_CLOSE_SECONDS)
    loop.call_soon_threadsafe(loop.stop)


async def _close(used: list[Closable]) -> None:
    for one in used:
        await one.close()

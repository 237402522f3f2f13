"""The process that a scheduler runs in: its clocks, its event loop, its garbage, and a loop beside that of a notebook.

Everything below `app` is handed the time and is run by somebody; here is who hands it, and who runs it.
"""

from __future__ import annotations

import asyncio
import ctypes
import datetime
import gc
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")

#: New objects before the youngest are looked through, and rounds of that before older ones are.
_PACE: Final = (50_000, 20, 20)
_CLOSE_SECONDS: Final = 2.0
#: Of glibc's malloc.h.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
#: Larger than the columns of 30,000 nodes, which come and go with every pod, and smaller than bodies that hurt.
_LARGE_BYTES: Final = 256 * 1024
#: What may be free at the end of the rest.
_FREE_BYTES: Final = 4 * 2**20


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def steady_clock() -> Callable[[], int]:
    """Return a clock in nanoseconds since the epoch that never goes back, whatever is done to that of the machine."""
    ahead = time.time_ns() - time.monotonic_ns()
    return lambda: time.monotonic_ns() + ahead


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, on a loop of its own: uvloop's where there is one, for a request costs less there.

    Garbage is looked for seldom: a cluster that is read in makes none, and nearly all that a scheduler makes for a pod
    is gone without being looked for. At the usual pace a quarter of a start and a tenth of the rest would go into it.
    """
    gc.set_threshold(*_PACE)
    with asyncio.Runner(loop_factory=_fastest()) as runner:
        return runner.run(work)


def _fastest() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return how to make the loop; None for the usual way."""
    try:
        import uvloop
    except ImportError:
        # It is not made for every system.
        return None
    return uvloop.new_event_loop


def settle_down() -> None:
    """Look for garbage seldom, and not among what is there: the cluster is known, and nearly all stays."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_PACE)


def return_large_blocks() -> None:
    """Have memory that was taken for something large go back to the system as soon as it is free.

    By default glibc keeps such blocks for itself, up to the size of any that was ever freed, and what lives long
    settles in them: of a server that is sent bodies of 3 MiB a third became holes, of which `malloc_trim` gave back a
    quarter.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        # Another C library, with ways of its own.
        return
    mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
    mallopt(_M_TRIM_THRESHOLD, _FREE_BYTES)


class Tasks:
    """Tasks that are ended together; `on_end` hears of each that ends."""

    def __init__(self, on_end: Callable[[asyncio.Task[None]], None] = lambda task: None) -> None:
        self._on_end = on_end
        self._running: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None], name: str | None = None) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._end)
        return task

    async def cancel(self) -> None:
        """End all of them."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._on_end(task)


class Closable(Protocol):
    """Something that is open on the loop it was used on."""

    async def close(self) -> None: ...


class PrivateLoop:
    """An event loop on a thread of its own: how a plain call waits for extenders, also inside a loop that runs already.

    A notebook has such a loop, and a loop cannot be run inside another on the same thread. The thread starts with the
    first coroutine, and ends with its owner.
    """

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

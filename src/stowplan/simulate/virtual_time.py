"""An event loop whose clock jumps: where a real loop would sleep, this one moves the time forward.

Everything that waits does so by `loop.time()` (sleeps, time-outs), so minutes pass in no time, always in the same
order.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

SECOND_NS = 1_000_000_000


class StuckError(RuntimeError):
    """Everybody waits for somebody else: nothing is ready and no time-out is set."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop that starts at time 0 and is never late."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self._now

    def now_ns(self) -> int:
        """Return the time in nanoseconds, as the queue counts it."""
        return round(self._now * SECOND_NS)

    def jump(self, seconds: float) -> None:
        """Move the clock forward."""
        self._now += seconds


class _JumpingSelector(selectors.SelectSelector):
    """Polls without blocking; the time it was told to wait is added to the clock instead."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise StuckError("nothing is ready and nothing is timed: a task waits for something that never comes")
        self._loop.jump(timeout)
        return ready


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end under virtual time."""
    loop = VirtualTimeLoop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()

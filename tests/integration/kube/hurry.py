"""An event loop in a hurry: back-offs of seconds pass in milliseconds while real bytes go over real connections.

Its clock runs only while nothing is to be done, and then many times as fast as the real one. Work takes no time, so a
busy machine is not mistaken for a server that does not answer.
"""

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

Events = list[tuple[selectors.SelectorKey, int]]


class HurriedLoop(asyncio.SelectorEventLoop):
    """A loop whose seconds are short."""

    def __init__(self, speed: float) -> None:
        self._clock = _HurriedSelector(speed)
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


class _HurriedSelector(selectors.DefaultSelector):
    """Waits for sockets, and lets time pass while it does."""

    def __init__(self, speed: float) -> None:
        super().__init__()
        self.now = 0.0
        self._speed = speed

    def select(self, timeout: float | None = None) -> Events:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        started = time.monotonic()
        ready = super().select(timeout if timeout is None else timeout / self._speed)
        waited = (time.monotonic() - started) * self._speed
        # Nobody may oversleep because the machine had no time for us.
        self.now += waited if timeout is None else min(waited, timeout) if ready else timeout
        return ready


def run(work: Coroutine[Any, Any, T], speed: float = 40.0) -> T:
    """Run a coroutine to its end on such a loop."""
    with asyncio.Runner(loop_factory=lambda: HurriedLoop(speed)) as runner:
        return runner.run(work)


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that shows only by looking; an hour of a hurried clock at most."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + 3600
    while not is_so():
        assert loop.time() < deadline, "it did not come to pass in time"
        await asyncio.sleep(0.1)

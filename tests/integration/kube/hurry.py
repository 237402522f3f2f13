"""An event loop in a hurry: its clock runs many times as fast as the real one, sockets included.

Back-offs of seconds pass in milliseconds while real bytes go over real connections.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class HurriedLoop(asyncio.SelectorEventLoop):
    """A loop whose seconds are short."""

    def __init__(self, speed: float) -> None:
        super().__init__(_HurriedSelector(speed))
        self._speed = speed

    def time(self) -> float:
        return super().time() * self._speed


class _HurriedSelector(selectors.DefaultSelector):
    def __init__(self, speed: float) -> None:
        super().__init__()
        self._speed = speed

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(timeout if timeout is None else timeout / self._speed)


def run(work: Coroutine[Any, Any, T], speed: float = 20.0) -> T:
    """Run a coroutine to its end on such a loop."""
    with asyncio.Runner(loop_factory=lambda: HurriedLoop(speed)) as runner:
        return runner.run(work)


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that shows only by looking; ten minutes of a hurried clock at most."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + 600
    while not is_so():
        assert loop.time() < deadline, "it did not come to pass in time"
        await asyncio.sleep(0.1)

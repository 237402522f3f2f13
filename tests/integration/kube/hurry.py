"""An event loop in a hurry: its clock runs twenty times as fast as the real one, sockets included.

Back-offs of seconds pass in milliseconds while real bytes go over real connections.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

SPEED = 20.0


class HurriedLoop(asyncio.SelectorEventLoop):
    """A loop whose seconds are short."""

    def __init__(self) -> None:
        super().__init__(_HurriedSelector())

    def time(self) -> float:
        return super().time() * SPEED


class _HurriedSelector(selectors.DefaultSelector):
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(timeout if timeout is None else timeout / SPEED)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on such a loop."""
    with asyncio.Runner(loop_factory=HurriedLoop) as runner:
        return runner.run(work)

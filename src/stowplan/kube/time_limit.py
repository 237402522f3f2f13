"""A limit to how long something is awaited, for what is awaited by the thousand: requests here, plugins in the flow."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any


class TimeLimit:
    """Ends with a TimeoutError what takes longer than some seconds: `with limit(): await ...`.

    As `asyncio.timeout`, but one timer serves all: everybody has the same time, so who began first is over first.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        # In the order in which they will be over.
        self._waits: dict[Wait, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self) -> Wait:
        return Wait(self)

    def begin(self, wait: Wait, loop: asyncio.AbstractEventLoop) -> None:
        """Watch over a wait from now on."""
        wait.ends_at = loop.time() + self._seconds
        self._waits[wait] = None
        if self._timer is None:
            self._timer = loop.call_at(wait.ends_at, self._look, loop)

    def end(self, wait: Wait) -> None:
        """Watch over it no longer."""
        self._waits.pop(wait, None)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """End who is over, and look again when the next one may be; a timer that nobody needs any more ends here."""
        self._timer = None
        for wait in list(self._waits):
            if wait.ends_at > loop.time():
                self._timer = loop.call_at(wait.ends_at, self._look, loop)
                break
            del self._waits[wait]
            wait.give_up()


class Wait:
    """One task inside a limit."""

    __slots__ = ("_cancelling", "_is_over", "_limit", "_task", "ends_at")

    def __init__(self, limit: TimeLimit) -> None:
        self._limit, self._is_over, self.ends_at = limit, False, 0.0

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        task: asyncio.Task[Any] | None = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("a time limit is for what a task awaits")
        self._task, self._cancelling = task, task.cancelling()
        self._limit.begin(self, loop)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._limit.end(self)
        # Somebody else may have cancelled the task as well, and is obeyed.
        if self._is_over and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def give_up(self) -> None:
        """End what is awaited."""
        self._is_over = True
        self._task.cancel()

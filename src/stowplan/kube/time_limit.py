"""A limit to how long something is awaited, for what is awaited by the thousand: requests here, plugins in the flow."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

import msgspec


class TimeLimit:
    """Ends with a TimeoutError what takes longer than some seconds: `with limit(): await ...`.

    As `asyncio.timeout`, but one timer serves all: everybody has the same time, so who began first is over first.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        #: In the order in which they will be over.
        self.waits: dict[LimitedWait, None] = {}
        self.timer: asyncio.TimerHandle | None = None

    def __call__(self) -> LimitedWait:
        return LimitedWait(self)

    def look(self, loop: asyncio.AbstractEventLoop) -> None:
        """End who is over, and look again when the next one may be; a timer that nobody needs any more ends here."""
        self.timer = None
        for wait in list(self.waits):
            if wait.ends_at > loop.time():
                self.timer = loop.call_at(wait.ends_at, self.look, loop)
                break
            wait.give_up()


class LimitedWait(msgspec.Struct, eq=False):
    """One task inside a limit."""

    limit: TimeLimit
    task: asyncio.Task[Any] | None = None
    cancelling: int = 0
    ends_at: float = 0.0
    is_over: bool = False

    def __enter__(self) -> None:
        loop, limit = asyncio.get_running_loop(), self.limit
        self.task = asyncio.current_task(loop)
        if self.task is None:
            raise RuntimeError("a time limit is for what a task awaits")
        self.cancelling, self.ends_at = self.task.cancelling(), loop.time() + limit.seconds
        limit.waits[self] = None
        if limit.timer is None:
            limit.timer = loop.call_at(self.ends_at, limit.look, loop)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.limit.waits.pop(self, None)
        # Somebody else may have cancelled the task as well, and is obeyed.
        is_ours = self.is_over and self.task is not None and self.task.uncancel() <= self.cancelling
        if is_ours and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def give_up(self) -> None:
        """End what is awaited."""
        del self.limit.waits[self]
        if self.task is not None:
            self.is_over = True
            self.task.cancel()

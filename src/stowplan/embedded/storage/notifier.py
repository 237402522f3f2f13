"""Whom to tell of changes, and when: those who wait are woken at once if they are few, and in waves if they are many.

What the waves take, those who make the changes do not have. So a wave that took long is followed by a longer pause, in
which changes add up, and no turn of the loop is filled with more than some of those who are woken.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

#: Some changes are told at once; of very many in a row, those of so long are told together, which costs everybody much
#: less. Told at once they come to clients in order with those of other logs.
_TOGETHER_SECONDS: Final = 0.005
_TOLD_AT_ONCE: Final = 10
#: So few are woken without looking what that takes.
_FEW: Final = 8
#: How many are woken in one turn of the loop.
_SOME: Final = 50
#: How much longer than a wave the pause after it is: waves take a fifth of the time at most.
_PAUSE: Final = 4
_LONGEST_PAUSE_SECONDS: Final = 1.0


class Notifier:
    """Those who wait for the next change of one log."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[None], None] = {}
        #: Who is still to be woken of the wave under way.
        self._rest: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._is_notifying = False
        self._is_missed = False
        self._told_at = float("-inf")
        # How often in a row it was told, with no longer pause than changes wait to be told together.
        self._told = 0
        self._woke_at = 0.0
        self._took_seconds = 0.0
        self._not_before = float("-inf")
        self._passing = 0

    async def wait(self) -> None:
        """Return when something has changed, or a little later."""
        await self._woken(self._join())

    async def give_way(self) -> None:
        """Let others have their turn, for one who knows already that there is more."""
        if self._passing >= _SOME or asyncio.get_running_loop().time() < self._not_before:
            future = self._join()
            self.notify()
            await self._woken(future)
            return
        self._passing += 1
        try:
            await asyncio.sleep(0)
        finally:
            self._passing -= 1

    def notify(self) -> None:
        """Something has changed: wake those who wait, now or a little later."""
        if self._is_notifying:
            self._is_missed = True
        elif self._waiting:
            self._notify(next(iter(self._waiting)).get_loop())

    def _notify(self, loop: asyncio.AbstractEventLoop) -> None:
        now, next_at = loop.time(), self._told_at + _TOGETHER_SECONDS
        self._told = self._told + 1 if now < next_at else 1
        begin_at = max(self._not_before, next_at) if self._told > _TOLD_AT_ONCE else self._not_before
        if begin_at <= now:
            self._begin(loop)
        else:
            self._is_notifying = True
            self._timer = loop.call_at(begin_at, self._begin, loop)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake all that wait now; who comes back meanwhile waits for the next wave."""
        self._timer, self._is_notifying, self._is_missed = None, False, False
        self._told_at = loop.time()
        waiting, self._waiting = self._waiting, {}
        if len(waiting) <= _FEW:
            for future in waiting:
                _wake(future)
            return
        self._is_notifying = True
        self._took_seconds = 0.0
        self._rest = deque(waiting)
        self._wake_some(loop)

    def _wake_some(self, loop: asyncio.AbstractEventLoop) -> None:
        # What is woken runs between these two, and nothing else does.
        loop.call_soon(self._note_begin, loop)
        for _ in range(min(_SOME, len(self._rest))):
            _wake(self._rest.popleft())
        loop.call_soon(self._go_on, loop)

    def _note_begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._woke_at = loop.time()

    def _go_on(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        self._took_seconds += now - self._woke_at
        if self._rest:
            self._wake_some(loop)
            return
        self._is_notifying = False
        self._not_before = now + min(_PAUSE * self._took_seconds, _LONGEST_PAUSE_SECONDS)
        if self._is_missed and self._waiting:
            self._notify(loop)

    def _join(self) -> asyncio.Future[None]:
        future = asyncio.get_running_loop().create_future()
        self._waiting[future] = None
        return future

    async def _woken(self, future: asyncio.Future[None]) -> None:
        try:
            await future
        finally:
            self._waiting.pop(future, None)
            if not self._waiting and self._timer is not None:
                self._timer.cancel()
                self._timer, self._is_notifying = None, False


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)

"""Who goes first in the one thread that everybody shares: clients, then what the cluster does by itself.

While clients ask again and again, the rest (scheduler, controllers, kubelets) gets a share of the time and no more;
when nobody has asked for anything for a moment, it gets all. `Connection` says when it serves, whoever starts a task
that can wait starts it `behind` this.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Generator
from typing import Any, Final

#: What the rest gets of the time while clients are served. What it must read to keep up is not counted.
SHARE: Final = 0.2
#: Clients that ask again and again do so within this time.
_PRESENCE_SECONDS: Final = 0.001
#: How much may be saved up, or owed: what was long ago does not count.
_MOST_SECONDS: Final = 0.02


class Precedence:
    """Keeps account of the time of one event loop."""

    def __init__(self) -> None:
        #: What the rest may still use; below zero it has had more than its share.
        self._credit = 0.0
        self._served_at = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def served(self, since: float) -> None:
        """A client was served from a time of the loop until now."""
        now = asyncio.get_running_loop().time()
        self._credit = min(self._credit + (now - since) * SHARE / (1 - SHARE), _MOST_SECONDS)
        self._served_at = now
        self._let_go_on()

    async def behind(self, work: Coroutine[Any, Any, None]) -> None:
        """Do some work that gives way to clients each time it goes on after a wait."""
        await _Behind(self, work)

    def worked(self, since: float) -> None:
        """A piece of such work was done from a time of the loop until now; somebody else's turn."""
        used = asyncio.get_running_loop().time() - since
        self._credit = max(self._credit - used, -_MOST_SECONDS)
        self._let_go_on()

    def turn(self) -> asyncio.Future[None] | None:
        """What has to be waited for before the work goes on, if anything."""
        if not self._waiting and self._may_go_on():
            return None
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._waiting.append(future)
        if self._timer is None:
            self._timer = loop.call_later(_PRESENCE_SECONDS, self._look)
        return future

    def _look(self) -> None:
        self._timer = None
        self._let_go_on()
        if self._waiting:
            self._timer = asyncio.get_running_loop().call_later(_PRESENCE_SECONDS, self._look)

    def _let_go_on(self) -> None:
        """Let the next one go on if that is in order; the one after it goes on when that has done a piece."""
        while self._waiting and (self._waiting[0].done() or self._may_go_on()):
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                return

    def _may_go_on(self) -> bool:
        return self._credit > 0 or asyncio.get_running_loop().time() - self._served_at > _PRESENCE_SECONDS


class _Behind:
    """Steps through a coroutine, and waits for its turn before each step but the first."""

    def __init__(self, precedence: Precedence, work: Coroutine[Any, Any, None]) -> None:
        self._precedence = precedence
        self._work = work

    def __await__(self) -> Generator[Any, Any, None]:
        precedence, now = self._precedence, asyncio.get_running_loop().time
        error: BaseException | None = None
        while True:
            since = now()
            try:
                awaited = self._work.send(None) if error is None else self._work.throw(error)
            except StopIteration:
                return
            finally:
                precedence.worked(since)
            error = None
            try:
                yield awaited
                if (turn := precedence.turn()) is not None:
                    yield from turn
            except BaseException as raised:
                # Being cancelled, for one, is for the work to hear.
                error = raised

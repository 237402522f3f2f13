"""`events`: what happens, for as long as somebody watches.

While nobody does, nothing is read. Otherwise four times a second what has changed is sent to all. A watcher that has
not taken what it was sent last is sent nothing: it misses a tick, and gets a full picture when it reads again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from stowplan.observe.logs import log_for
from stowplan.web.live_picture import LivePicture, PictureChange
from stowplan.web.questions import Asked, Query, failure
from stowplan.web.source import Source

MOST_WATCHERS: Final = 50
TICK_SECONDS: Final = 0.25
#: A comment keeps proxies from taking the connection for dead.
COMMENT_TICKS: Final = 40
COMMENT: Final = b": still here\n\n"
#: Who takes nothing for so long is given up.
MOST_MISSED_TICKS: Final = 240
_HEADERS: Final = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    # Proxies are not to wait until there is more.
    "X-Accel-Buffering": "no",
}

_log = log_for(__name__)


class EventsQuery(Query, frozen=True):
    #: The key of a label by which nodes are grouped.
    label: str = ""


@dataclass(eq=False, slots=True)
class Watcher:
    """Somebody who reads events, one lot at a time."""

    label: str
    #: What is to be sent; None while there is nothing.
    lot: bytes | None = None
    #: Whether a lot is on its way.
    is_sending: bool = False
    #: How many ticks it has missed in a row.
    missed: int = 0
    #: Set when there is a lot, or when it is over.
    news: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: bool = False

    def give(self, lot: bytes) -> None:
        """Have something sent."""
        if lot:
            self.lot = lot
            self.news.set()

    def end(self) -> None:
        """Send nothing any more."""
        self.is_over = True
        self.news.set()

    async def take(self) -> bytes | None:
        """Wait for the next lot; None if there will be none."""
        self.is_sending = False
        await self.news.wait()
        self.news.clear()
        lot, self.lot, self.is_sending = self.lot, None, True
        return None if self.is_over else lot


class EventStream:
    """All who watch one source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._watchers: dict[Watcher, web.Request] = {}
        self._picture = LivePicture(source)
        self._ticks = 0
        self._ticking: asyncio.Task[None] | None = None
        self._is_over = False

    async def watch(self, asked: Asked) -> web.StreamResponse:
        """Send events until who asked for them goes away."""
        if self._is_over or len(self._watchers) >= MOST_WATCHERS:
            message = f"no more than {MOST_WATCHERS} may watch, and nobody where the scheduler ends; try again later"
            return failure(asked.request, 503, "ServiceUnavailable", message)
        watcher = self._enter(asked)
        response = web.StreamResponse(headers=_HEADERS)
        try:
            await response.prepare(asked.request)
            while (lot := await watcher.take()) is not None:
                await response.write(lot)
        except ConnectionError:
            # It went away; that is how all of them end.
            pass
        finally:
            del self._watchers[watcher]
        return response

    def end(self) -> None:
        """Let everybody go, and nobody in."""
        self._is_over = True
        for watcher in self._watchers:
            watcher.end()
        if self._ticking is not None:
            self._ticking.cancel()

    def tick(self) -> None:
        """Give everybody what has changed."""
        self._ticks += 1
        change = self._picture.advance({watcher.label for watcher in self._watchers})
        comment = b"" if self._ticks % COMMENT_TICKS else COMMENT
        for watcher, request in self._watchers.items():
            if watcher.is_sending or watcher.lot is not None:
                watcher.missed += 1
                if watcher.missed >= MOST_MISSED_TICKS and request.transport is not None:
                    request.transport.abort()
            else:
                watcher.give(self._lot(watcher, change) + comment)
                watcher.missed = 0

    def _enter(self, asked: Asked) -> Watcher:
        watcher = Watcher(asked.query.label)
        if not self._watchers:
            # What happened while nobody watched is in the full picture.
            self._picture.advance((watcher.label,))
        self._watchers[watcher] = asked.request
        watcher.give(self._picture.everything(watcher.label))
        if self._ticking is None:
            self._ticking = asyncio.get_running_loop().create_task(self._tick_on(), name="page events")
        return watcher

    def _lot(self, watcher: Watcher, change: PictureChange) -> bytes:
        if watcher.missed:
            return self._picture.everything(watcher.label)
        if change.has_new_layout or watcher.label in change.relabelled:
            return self._picture.nodes(watcher.label) + change.common
        return change.common

    async def _tick_on(self) -> None:
        try:
            while self._watchers:
                await asyncio.sleep(TICK_SECONDS)
                self.tick()
        except Exception as error:
            _log.error(error, "Events of the page ended; who watches comes again")
            for watcher in self._watchers:
                watcher.end()
        finally:
            self._ticking = None

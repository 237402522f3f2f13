"""Connections to the scheduler's pages: so many at a time, and none for longer than its client has something to say.

aiohttp answers; what is here sits between it and the network, and knows no more than whether a request is answered.
"""

from __future__ import annotations

import asyncio
import math
from typing import cast

from aiohttp import web

from stowplan.embedded.http.connections import Connections
from stowplan.serving.guard import Handler


class PageConnection(asyncio.Protocol):
    """Hands on what arrives, and ends the connection if its client takes longer than it may."""

    def __init__(self, inner: asyncio.Protocol, connections: Connections) -> None:
        self._inner = inner
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._is_inside = False
        self._is_busy = False
        self._is_sending = False
        self._is_unread = False
        #: Whether part of a request is here, or something came while another one was answered.
        self._has_more = False
        self.since = self._loop.time()

    @property
    def is_replaceable(self) -> bool:
        return not self._is_busy

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._is_inside = self._connections.enter(self)
        if self._is_inside:
            self._inner.connection_made(transport)
        else:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._connections.leave(self)
        if self._is_inside:
            self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._is_inside:
            return
        if not self._has_more:
            self._has_more = True
            if not self._is_busy:
                self._start_clock()
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received() if self._is_inside else None

    def pause_writing(self) -> None:
        self._is_unread = True
        self._start_clock()
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._is_unread = False
        self._start_clock()
        self._inner.resume_writing()

    def begin(self, *, has_body: bool) -> None:
        """The head of a request is here, and it is answered; its body may still be on its way."""
        self._is_busy, self._is_sending, self._has_more = True, has_body, False
        self._start_clock()

    def end(self) -> None:
        """Its answer is ready; the next request may come."""
        self._is_busy = False
        self._start_clock()

    def look(self, now: float) -> None:
        if now - self.since > self._seconds():
            self.close()

    def go_on(self) -> None:
        """Nobody waits here for room: the pages take no large bodies."""

    def make_way(self) -> None:
        self.close()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _seconds(self) -> float:
        limits = self._connections.limits
        if self._is_unread:
            return limits.write_seconds
        if self._is_busy:
            # Without a body it is us who are waited for.
            return limits.body_seconds if self._is_sending else math.inf
        return limits.head_seconds if self._has_more else limits.idle_seconds

    def _start_clock(self) -> None:
        self.since = self._loop.time()


@web.middleware
async def count_as_busy(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Tell the connection of a request when it begins to be answered, and when that ends."""
    connection = request.transport.get_protocol() if request.transport is not None else None
    if not isinstance(connection, PageConnection):
        return await handler(request)
    connection.begin(has_body=request.can_read_body)
    try:
        return await handler(request)
    finally:
        connection.end()

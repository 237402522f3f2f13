"""The pages of the scheduler of an embedded cluster, on a port beside the API's: the same door, the same token.

Without a token the server is on loopback only, and everybody there may read, web pages of others aside. There are so
many connections at a time, and none for longer than its client has something to say: aiohttp answers, and what sits
between it and the network (`PageConnection`) knows no more than whether a request is answered.
"""

from __future__ import annotations

import asyncio
import hmac
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from aiohttp import HttpVersion10, web

from stowplan.embedded.http.connections import Connections, Limits
from stowplan.embedded.http.origin import HEADERS, OwnOrigin
from stowplan.embedded.http.server import ServerOptions
from stowplan.embedded.objects.errors import StatusError
from stowplan.serving.authentication import MASTERS, AccessRequest, AccessReview, DelegatedAuthenticator, UserInfo
from stowplan.serving.authorization import OPEN_PATHS, AccessSettings, DelegatedAuthorizer, Guard
from stowplan.serving.responses import Handler
from stowplan.serving.routes import Pages
from stowplan.serving.server import connection_log

#: Where kube-scheduler once served without TLS.
USUAL_PORT: Final = 10251
_SHUTDOWN_SECONDS: Final = 0.5
#: Few read the pages: a browser, a collector of metrics.
PAGE_LIMITS: Final = Limits(connections=500)
_FOR_NOBODY: Final = {"Cache-Control": "no-cache, private", "X-Content-Type-Options": "nosniff"}
_ADMIN: Final = UserInfo("kubernetes-admin", (MASTERS,))


@dataclass(frozen=True, slots=True)
class PagesServer:
    """A server that runs."""

    port: int
    _runner: web.AppRunner
    _listener: asyncio.Server

    async def close(self) -> None:
        self._listener.close()
        await self._runner.cleanup()


async def serve_pages(pages: Pages, options: ServerOptions) -> PagesServer:
    """Serve on the port that is asked for, or on a free one if that is taken."""
    door = _OriginCheck(OwnOrigin(options.scheme, options.host, options.names))
    app = pages.application(count_as_busy, door.admit, make_guard(options.token, pages.open_paths).admit)
    runner = web.AppRunner(
        app,
        access_log=None,
        logger=connection_log(),
        shutdown_timeout=_SHUTDOWN_SECONDS,
        lingering_time=options.limits.linger_seconds,
    )
    await runner.setup()
    listener = await _listen(runner, options)
    return PagesServer(int(listener.sockets[0].getsockname()[1]), runner, listener)


async def _listen(runner: web.AppRunner, options: ServerOptions) -> asyncio.Server:
    server, connections = runner.server, Connections(options.limits)
    assert server is not None
    loop = asyncio.get_running_loop()
    handshake = options.limits.handshake_seconds if options.tls else None

    async def listen(port: int) -> asyncio.Server:
        return await loop.create_server(
            lambda: PageConnection(server(), connections),
            options.host,
            port,
            ssl=options.tls,
            ssl_handshake_timeout=handshake,
        )

    try:
        return await listen(options.port)
    except OSError:
        return await listen(0)


class _OriginCheck:
    """Keeps web pages of others out, before anybody is asked for anything."""

    def __init__(self, origin: OwnOrigin) -> None:
        self._origin = origin

    @web.middleware
    async def admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers
        if request.version < HttpVersion10:
            # Without a version, as before HTTP/1.0: whoever asks so may have been made to by a page of somebody else.
            return web.Response(status=400, text="400 Bad Request: malformed HTTP version", headers=_FOR_NOBODY)
        try:
            self._origin.check({name: ", ".join(given.getall(name)) for name in HEADERS if name in given})
        except StatusError as error:
            return web.json_response(error.status(), status=error.code, headers=_FOR_NOBODY)
        return await handler(request)


def make_guard(token: str, open_paths: tuple[str, ...] = ()) -> Guard:
    """Let in those who have the token; without one, everybody."""
    reviewer = TokenHolder(token)
    settings = AccessSettings((*OPEN_PATHS, *open_paths) if token else ("/*",))
    return Guard(
        DelegatedAuthenticator(time.monotonic, reviewer=reviewer),
        DelegatedAuthorizer(time.monotonic, settings, reviewer),
    )


class TokenHolder:
    """Knows one token, and who has it may do everything."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def review_token(self, token: str) -> UserInfo | None:
        is_ours = not self._token or hmac.compare_digest(token.encode(), self._token)
        return _ADMIN if is_ours else None

    async def review_access(self, request: AccessRequest) -> AccessReview:
        return AccessReview(False)

    async def authentication_config(self) -> Mapping[str, str]:
        return {}


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

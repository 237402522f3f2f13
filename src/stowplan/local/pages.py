"""The pages of the scheduler of an embedded cluster, on a port beside the API's: the same door, the same token.

Without a token the server is on loopback only, and everybody there may read, web pages of others aside.
"""

from __future__ import annotations

import asyncio
import hmac
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from aiohttp import HttpVersion10, web

from stowplan.embedded.http.connections import Connections, Limits
from stowplan.embedded.http.origin import HEADERS, OwnOrigin
from stowplan.embedded.objects.errors import StatusError
from stowplan.local.page_connections import PageConnection, count_as_busy
from stowplan.serving.authentication import Authenticator
from stowplan.serving.authorization import AccessSettings, Authorizer
from stowplan.serving.connection_log import connection_log
from stowplan.serving.guard import Guard, Handler
from stowplan.serving.identity import MASTERS, AccessRequest, Decision, User
from stowplan.serving.routes import Pages, routes_of

#: Where kube-scheduler once served without TLS.
USUAL_PORT: Final = 10251
_SHUTDOWN_SECONDS: Final = 0.5
#: Few read the pages: a browser, a collector of metrics.
_MOST_CONNECTIONS: Final = 500
_FOR_NOBODY: Final = {"Cache-Control": "no-cache, private", "X-Content-Type-Options": "nosniff"}
_ADMIN: Final = User("kubernetes-admin", (MASTERS,))


@dataclass(frozen=True, slots=True)
class PagesServer:
    """A server that runs."""

    port: int
    _runner: web.AppRunner
    _listener: asyncio.Server

    async def close(self) -> None:
        self._listener.close()
        await self._runner.cleanup()


@dataclass(frozen=True, slots=True)
class PagesOptions:
    """Where the pages are, and who may read them; as `ServerOptions` has it for the API."""

    host: str
    token: str
    tls: ssl.SSLContext | None
    names: tuple[str, ...] = ()
    limits: Limits = field(default=Limits(connections=_MOST_CONNECTIONS))


async def serve_pages(pages: Pages, options: PagesOptions) -> PagesServer:
    """Serve on the usual port, or on a free one if that is taken."""
    door = _Door(OwnOrigin("https" if options.tls else "http", options.host, options.names))
    app = web.Application(middlewares=[count_as_busy, door.admit, make_guard(options.token).admit])
    app.add_routes(routes_of(pages))
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


async def _listen(runner: web.AppRunner, options: PagesOptions) -> asyncio.Server:
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
        return await listen(USUAL_PORT)
    except OSError:
        return await listen(0)


class _Door:
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


def make_guard(token: str) -> Guard:
    """Let in those who have the token; without one, everybody."""
    reviewer = TokenHolder(token)
    settings = AccessSettings() if token else AccessSettings(always_allowed_paths=("/*",))
    return Guard(Authenticator(time.monotonic, reviewer=reviewer), Authorizer(time.monotonic, settings, reviewer))


class TokenHolder:
    """Knows one token, and who has it may do everything."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def review_token(self, token: str) -> User | None:
        is_ours = not self._token or hmac.compare_digest(token.encode(), self._token)
        return _ADMIN if is_ours else None

    async def review_access(self, request: AccessRequest) -> Decision:
        return Decision(False)

    async def authentication_config(self) -> Mapping[str, str]:
        return {}

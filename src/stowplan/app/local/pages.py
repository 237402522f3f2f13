"""The pages of the scheduler of an embedded cluster, on a port beside the API's: the same door, the same token.

Without a token the server is on loopback only, and everybody there may read, web pages of others aside.
"""

from __future__ import annotations

import hmac
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from stowplan.app.serving.authentication import Authenticator
from stowplan.app.serving.authorization import AccessSettings, Authorizer
from stowplan.app.serving.connection_log import connection_log
from stowplan.app.serving.guard import Guard, Handler
from stowplan.app.serving.identity import MASTERS, AccessRequest, Decision, User
from stowplan.app.serving.routes import Pages, routes_of
from stowplan.embedded.errors import StatusError
from stowplan.embedded.http.origin import HEADERS, OwnOrigin

#: Where kube-scheduler once served without TLS.
USUAL_PORT: Final = 10251
_SHUTDOWN_SECONDS: Final = 0.5
_FOR_NOBODY: Final = {"Cache-Control": "no-cache, private", "X-Content-Type-Options": "nosniff"}
_ADMIN: Final = User("kubernetes-admin", (MASTERS,))


@dataclass(frozen=True, slots=True)
class PagesServer:
    """A server that runs."""

    port: int
    _runner: web.AppRunner

    async def close(self) -> None:
        await self._runner.cleanup()


@dataclass(frozen=True, slots=True)
class PagesOptions:
    """Where the pages are, and who may read them; as `ServerOptions` has it for the API."""

    host: str
    token: str
    tls: ssl.SSLContext | None
    names: tuple[str, ...] = ()


async def serve_pages(pages: Pages, options: PagesOptions) -> PagesServer:
    """Serve on the usual port, or on a free one if that is taken."""
    host, tls = options.host, options.tls
    door = _Door(OwnOrigin("https" if tls else "http", host, options.names))
    app = web.Application(middlewares=[door.admit, make_guard(options.token).admit])
    app.add_routes(routes_of(pages))
    runner = web.AppRunner(app, access_log=None, logger=connection_log(), shutdown_timeout=_SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, USUAL_PORT, ssl_context=tls).start()
    except OSError:
        await web.TCPSite(runner, host, 0, ssl_context=tls).start()
    return PagesServer(int(runner.addresses[0][1]), runner)


class _Door:
    """Keeps web pages of others out, before anybody is asked for anything."""

    def __init__(self, origin: OwnOrigin) -> None:
        self._origin = origin

    @web.middleware
    async def admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers
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

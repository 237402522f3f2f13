"""The API over HTTP: where it listens, who may come in, and how it ends.

`connection` has the bytes, `verbs` the answers. `serve` is the way in.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import ssl
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from stowplan.embedded import pages, paths
from stowplan.embedded.api import Api
from stowplan.embedded.connection import Connection
from stowplan.embedded.errors import StatusError
from stowplan.embedded.http1 import Request
from stowplan.embedded.incoming import Answer, Incoming
from stowplan.embedded.verbs import Verbs
from stowplan.embedded.watching import Watch

_ADMIN: Final = "kubernetes-admin"
_BACKLOG: Final = 1024


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Where to listen, and who may come in."""

    host: str = "127.0.0.1"
    #: 0 takes a port that is free.
    port: int = 0
    #: What clients send as a bearer token; without one everybody may do everything.
    token: str = ""
    tls: ssl.SSLContext | None = None


class UnsafeAddressError(Exception):
    """An address that others can reach is asked for without a token and TLS."""


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that runs; `close` ends it and every watch."""

    url: str
    host: str
    port: int
    _server: asyncio.Server
    _connections: set[Connection]

    async def close(self) -> None:
        self._server.close()
        for connection in list(self._connections):
            connection.close()
        await self._server.wait_closed()


async def serve(api: Api, options: ServerOptions) -> Serving:
    """Start to answer requests. Raise UnsafeAddressError if strangers could come in, OSError if the port is taken."""
    check_address(options)
    door, connections = _Door(Verbs(api, options.token), options.token), set[Connection]()
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(door.respond, connections),
        options.host,
        options.port,
        ssl=options.tls,
        backlog=_BACKLOG,
    )
    port = int(server.sockets[0].getsockname()[1])
    scheme = "https" if options.tls else "http"
    shown = f"[{options.host}]" if ":" in options.host else options.host
    return Serving(f"{scheme}://{shown}:{port}", options.host, port, server, connections)


def check_address(options: ServerOptions) -> None:
    """Refuse to be reachable from elsewhere without a token and TLS."""
    missing = [name for name, given in (("a token", options.token), ("a TLS certificate", options.tls)) if not given]
    if missing and not _is_loopback(options.host):
        raise UnsafeAddressError(
            f"{options.host} can be reached from other machines: {' and '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} needed to listen there; without, listen on 127.0.0.1"
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Door:
    """Lets in who has the token; everybody may ask how the server is."""

    def __init__(self, verbs: Verbs, token: str) -> None:
        self._verbs = verbs
        self._token = token.encode()

    def respond(self, request: Request) -> Answer | Watch:
        path, _, query = request.target.partition("?")
        headers = request.headers
        if self._token and not pages.is_health(paths.split(path)):
            self._check(headers.get("authorization", ""))
        incoming = Incoming(
            request.method,
            path,
            dict(parse_qsl(query, keep_blank_values=True)) if query else {},
            headers.get("accept", ""),
            headers.get("content-type", ""),
            request.body,
            _ADMIN,
            headers.get("host", ""),
            headers.get("user-agent", ""),
        )
        return self._verbs.answer(incoming)

    def _check(self, authorization: str) -> None:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), self._token):
            raise StatusError(401, "Unauthorized", "Unauthorized")

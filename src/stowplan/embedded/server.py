"""The API over HTTP: one handler for every path, watches as chunked streams, a token and TLS where asked for.

`verbs` knows what to answer; here are only bytes. `serve` is the way in.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage
from multidict import CIMultiDict

from stowplan.embedded import pages, paths
from stowplan.embedded.api import Api
from stowplan.embedded.errors import StatusError
from stowplan.embedded.incoming import Answer, Incoming, refusal
from stowplan.embedded.media import JSON
from stowplan.embedded.verbs import Verbs
from stowplan.embedded.watching import Watch

BODY_LIMIT_BYTES: Final = 3 * 1024 * 1024
_ADMIN: Final = "kubernetes-admin"
_log = logging.getLogger(__name__)

#: Answers requests for a page that is not the API's own.
Page = Callable[[Any], Awaitable[web.StreamResponse]]


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
    _runner: web.ServerRunner

    async def close(self) -> None:
        await self._runner.cleanup()


async def serve(api: Api, options: ServerOptions, beside: Mapping[str, Page] | None = None) -> Serving:
    """Start to answer requests. Raise UnsafeAddressError if strangers could come in, OSError if the port is taken.

    `beside` are pages of others, by path; those who may come in see them too, also those put there later.
    """
    check_address(options)
    handler = _Handler(Verbs(api, options.token), options.token, beside if beside is not None else {})
    # A watch whose client has gone ends at once; changes are made without awaiting and cannot be cut in half.
    server = web.Server(handler.handle, request_factory=_make_request, handler_cancellation=True, access_log=None)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, options.host, options.port, ssl_context=options.tls, backlog=1024).start()
    except OSError:
        await runner.cleanup()
        raise
    port = int(runner.addresses[0][1])
    scheme = "https" if options.tls else "http"
    shown = f"[{options.host}]" if ":" in options.host else options.host
    return Serving(f"{scheme}://{shown}:{port}", options.host, port, runner)


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


class _Handler:
    """Turns requests into answers."""

    def __init__(self, verbs: Verbs, token: str, beside: Mapping[str, Page]) -> None:
        self._verbs = verbs
        self._token = token.encode()
        self._beside = beside

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            incoming = await self._read(request)
            page = self._beside.get(incoming.path)
            if page is not None:
                return await page(request)
            answer = self._verbs.answer(incoming)
        except StatusError as error:
            answer = refusal(error)
        except Exception:
            _log.exception("%s %s failed", request.method, request.raw_path)
            answer = refusal(
                StatusError(500, "InternalError", f"{request.method} {request.raw_path} failed: see the log")
            )
        if isinstance(answer, Watch):
            return await _stream(request, answer)
        return _response(answer)

    async def _read(self, request: web.BaseRequest) -> Incoming:
        path, _, query = request.raw_path.partition("?")
        headers = request.headers
        self._authenticate(headers.get("Authorization", ""), path)
        return Incoming(
            request.method,
            path,
            dict(parse_qsl(query, keep_blank_values=True)) if query else {},
            headers.get("Accept", ""),
            headers.get("Content-Type", ""),
            await _body(request) if request.can_read_body else b"",
            _ADMIN,
            headers.get("Host", ""),
            headers.get("User-Agent", ""),
        )

    def _authenticate(self, header: str, path: str) -> None:
        if not self._token or pages.is_health(paths.split(path)):
            return
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), self._token):
            raise StatusError(401, "Unauthorized", "Unauthorized")


def _make_request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: web.RequestHandler,
    writer: AbstractStreamWriter,
    task: asyncio.Task[None],
) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=BODY_LIMIT_BYTES)


async def _body(request: web.BaseRequest) -> bytes:
    length = request.content_length
    try:
        if length is None or length <= BODY_LIMIT_BYTES:
            return await request.read()
    except web.HTTPRequestEntityTooLarge:
        pass
    except (web.RequestPayloadError, ValueError) as error:
        raise StatusError(400, "BadRequest", f"the body of the request cannot be read: {error}") from None
    problem = f"Request entity too large: limit is {BODY_LIMIT_BYTES}"
    raise StatusError(413, "RequestEntityTooLarge", problem)


def _response(answer: Answer) -> web.Response:
    headers = CIMultiDict({"Content-Type": answer.content_type})
    for warning in answer.warnings:
        headers.add("Warning", f"299 - {json.dumps(warning)}")
    if answer.code == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return web.Response(body=answer.body, status=answer.code, headers=headers)


async def _stream(request: web.BaseRequest, watch: Watch) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": JSON, "Cache-Control": "no-cache, private"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    try:
        async for piece in watch.pieces():
            await response.write(piece)
        await response.write_eof()
    except ConnectionError:
        _log.debug("the client of %s has gone", request.raw_path)
    return response

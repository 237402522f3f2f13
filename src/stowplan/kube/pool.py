"""The connections to an API server: `lanes.py` for short requests, the HTTP library for streams and through proxies.

Requests time out as a whole, streams when nothing comes. What goes wrong becomes a `TransportError` that says whether
the server may have got the request. No other place knows the HTTP library.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import aiohttp
import msgspec
from multidict import CIMultiDict
from yarl import URL

from stowplan.kube.answers import Answer
from stowplan.kube.errors import TransportError
from stowplan.kube.identity import Credentials
from stowplan.kube.lanes import Lanes, NotConnectedError
from stowplan.kube.letterhead import Letterhead
from stowplan.kube.tls import CredentialsError

_CONNECT_SECONDS = 10.0
# Below the 90 s after which an API server closes an idle connection, so that we do not write into a closing one.
_IDLE_SECONDS = 60.0
_READ_BYTES = 2**18
_MOST_ERROR_BYTES = 2**20
# A peer that vanished is noticed after about half a minute without an answer to probes.
_KEEP_ALIVE = ((socket.TCP_KEEPIDLE, 15), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3))

_NEVER_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientProxyConnectionError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.InvalidURL,
    CredentialsError,
    NotConnectedError,
)


_FAULTS = (TimeoutError, aiohttp.ClientError, OSError, ValueError, CredentialsError, NotConnectedError)


class Request(msgspec.Struct, frozen=True):
    """What is asked. `silence_seconds` replaces the time for the whole by one for the wait until something comes."""

    verb: str
    path: str
    params: Mapping[str, str] = {}
    body: bytes | None = None
    content_type: str = "application/json"
    silence_seconds: float | None = None


class Stream:
    """An answer that is still coming."""

    def __init__(self, request: Request, response: aiohttp.ClientResponse) -> None:
        self._request, self._response = request, response
        self.code, self.reason = response.status, response.reason or ""
        self.headers: Mapping[str, str] = response.headers

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield what comes, as it comes, until the server ends; raise TransportError if it breaks off."""
        with _translated(self._request):
            async for piece in self._response.content.iter_any():
                yield piece

    async def read_all(self) -> bytes:
        """Read the body of an error."""
        with _translated(self._request):
            return await self._response.content.read(_MOST_ERROR_BYTES)


class Pool:
    """Sessions are opened with the first request, inside the event loop."""

    def __init__(self, credentials: Credentials, user_agent: str, timeout_seconds: float) -> None:
        self._credentials = credentials
        self._timeout_seconds = timeout_seconds
        self._headers = {
            "User-Agent": user_agent,
            "Accept": "application/json",
            # As upstream: in a data centre, packing costs more than it saves.
            "Accept-Encoding": "identity",
        }
        self._session: aiohttp.ClientSession | None = None
        self._lanes = None if credentials.proxy else Lanes(credentials)
        self._letterhead = Letterhead(credentials, self._headers)

    async def close(self) -> None:
        if self._lanes is not None:
            await self._lanes.close()
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def renew(self, request: Request) -> None:
        """Get other credentials than those that were not accepted for a request."""
        with _translated(request):
            await self._credentials.authorization.renew()

    async def exchange(self, request: Request) -> Answer:
        """Send, and wait for the whole answer."""
        with _translated(request):
            if self._lanes is not None and request.silence_seconds is None:
                path = _with_query(request)
                async with asyncio.timeout(self._timeout_seconds):
                    sent = await self._letterhead.write(request.verb, path, request.body, request.content_type)
                    return await self._lanes.exchange(sent)
            async with await self._send(request) as response:
                return Answer(response.status, response.reason or "", response.headers, await response.read())

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        """Send, and hand the answer over while it is still coming; leaving breaks it off."""
        with _translated(request):
            response = await self._send(request)
        try:
            yield Stream(request, response)
        finally:
            response.close()

    async def _send(self, request: Request) -> aiohttp.ClientResponse:
        credentials = self._credentials
        headers: CIMultiDict[str] = CIMultiDict(credentials.impersonation)
        authorization = await credentials.authorization.header()
        if authorization:
            headers["Authorization"] = authorization
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        return await self._open().request(
            request.verb,
            _url(credentials.server, request),
            headers=headers,
            data=request.body,
            timeout=self._timeout(request),
            **self._route(),
        )

    def _timeout(self, request: Request) -> aiohttp.ClientTimeout:
        if request.silence_seconds is not None:
            return aiohttp.ClientTimeout(sock_connect=_CONNECT_SECONDS, sock_read=request.silence_seconds)
        return aiohttp.ClientTimeout(total=self._timeout_seconds, sock_connect=_CONNECT_SECONDS)

    def _route(self) -> dict[str, Any]:
        credentials = self._credentials
        route: dict[str, Any] = {"ssl": credentials.trust.context() if credentials.trust is not None else True}
        if credentials.server_name:
            route["server_hostname"] = credentials.server_name
        if credentials.proxy:
            route["proxy"] = credentials.proxy
        return route

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS, socket_factory=_make_socket)
            self._session = aiohttp.ClientSession(
                connector=connector,
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                read_bufsize=_READ_BYTES,
            )
        return self._session


def _with_query(request: Request) -> str:
    return f"{request.path}?{urlencode(request.params)}" if request.params else request.path


def _url(server: str, request: Request) -> URL:
    url = URL(server + request.path, encoded=True)
    return url.with_query(request.params) if request.params else url


def _make_socket(address: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol = address[:3]
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEP_ALIVE:
        made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made


def _problem(fault: BaseException) -> str:
    match fault:
        case TimeoutError():
            return "no answer in time"
        case NotConnectedError():
            return f"cannot connect: {fault}"
        case CredentialsError():
            return str(fault)
        case aiohttp.ClientConnectorError() if not isinstance(fault, aiohttp.ClientSSLError):
            return f"cannot connect: {fault.os_error}"
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError() | ConnectionError():
            return "the connection broke off before the end of the answer"
    return f"{type(fault).__name__}: {fault}"


class _translated:  # noqa: N801 - reads as a statement: `with _translated(request):`
    """Turn what the library raises into a TransportError."""

    def __init__(self, request: Request) -> None:
        self._request = request

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: Any, fault: BaseException | None, traceback: Any) -> None:
        if not isinstance(fault, _FAULTS):
            return
        cause = fault.__cause__ if isinstance(fault, NotConnectedError) else fault
        raise TransportError(
            (self._request.verb, self._request.path),
            _problem(fault),
            may_have_arrived=not isinstance(fault, _NEVER_SENT),
            is_timeout=isinstance(cause, TimeoutError),
        ) from fault

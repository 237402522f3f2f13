"""What carries requests to an API server: own connections for short ones, the HTTP library for streams and proxies.

Requests time out as a whole, streams when nothing comes. What goes wrong becomes a `TransportError` that says whether
the server may have got the request. Beside this, only `port_forward.py` knows the HTTP library.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

import aiohttp
import msgspec
from multidict import CIMultiDict
from yarl import URL

from stowplan.kube.connections import (
    CONNECT_SECONDS,
    IDLE_SECONDS,
    ApiAnswer,
    ConnectionPool,
    NotConnectedError,
    keep_alive,
)
from stowplan.kube.errors import TransportError
from stowplan.kube.identity import Credentials, CredentialsError
from stowplan.kube.time_limit import TimeLimit

_READ_BYTES = 2**18
_MOST_ERROR_BYTES = 2**20
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


class ApiRequest(msgspec.Struct, frozen=True):
    """What is asked. `silence_seconds` replaces the time for the whole by one for the wait until something comes."""

    verb: str
    path: str
    params: Mapping[str, str] = {}
    body: bytes | None = None
    content_type: str = "application/json"
    silence_seconds: float | None = None


class IncomingAnswer(Protocol):
    """An answer that is still coming."""

    code: int
    reason: str
    headers: Mapping[str, str]

    def pieces(self) -> AsyncIterator[bytes]:
        """Yield what comes, as it comes, until the server ends; raise TransportError if it breaks off."""

    async def read_all(self) -> bytes:
        """Read the body of an error."""


class Transport(Protocol):
    """Carries requests to one API server; what goes wrong on the way is a TransportError."""

    async def close(self) -> None: ...

    async def renew(self, request: ApiRequest) -> None:
        """Get other credentials than those that were not accepted for a request."""

    async def exchange(self, request: ApiRequest) -> ApiAnswer:
        """Send, and wait for the whole answer."""

    def stream(self, request: ApiRequest) -> AbstractAsyncContextManager[IncomingAnswer]:
        """Send, and hand the answer over while it is still coming; leaving breaks it off."""


class ApiStream:
    """An `IncomingAnswer` of the HTTP library."""

    def __init__(self, request: ApiRequest, response: aiohttp.ClientResponse) -> None:
        self._request, self._response = request, response
        self.code, self.reason = response.status, response.reason or ""
        self.headers: Mapping[str, str] = response.headers

    async def pieces(self) -> AsyncIterator[bytes]:
        with _translated(self._request):
            async for piece in self._response.content.iter_any():
                yield piece

    async def read_all(self) -> bytes:
        with _translated(self._request):
            return await self._response.content.read(_MOST_ERROR_BYTES)


class PooledTransport:
    """The `Transport` over HTTP. Sessions are opened with the first request, inside the event loop."""

    def __init__(self, credentials: Credentials, user_agent: str, timeout_seconds: float) -> None:
        self._credentials = credentials
        self._timeout_seconds, self._limit = timeout_seconds, TimeLimit(timeout_seconds)
        self._headers = {
            "User-Agent": user_agent,
            "Accept": "application/json",
            # As upstream: in a data centre, packing costs more than it saves.
            "Accept-Encoding": "identity",
        }
        self._session: aiohttp.ClientSession | None = None
        self._connections = None if credentials.proxy else ConnectionPool(credentials)
        self._head = RequestHead(credentials, self._headers)

    async def close(self) -> None:
        if self._connections is not None:
            await self._connections.close()
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def renew(self, request: ApiRequest) -> None:
        with _translated(request):
            await self._credentials.authorization.renew()

    async def exchange(self, request: ApiRequest) -> ApiAnswer:
        with _translated(request):
            if self._connections is not None and request.silence_seconds is None:
                path = f"{request.path}?{urlencode(request.params)}" if request.params else request.path
                with self._limit():
                    sent = await self._head.write(request.verb, path, request.body, request.content_type)
                    return await self._connections.exchange(sent)
            async with await self._send(request) as response:
                return ApiAnswer(response.status, response.reason or "", response.headers, await response.read())

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[ApiStream]:
        with _translated(request):
            response = await self._send(request)
        try:
            yield ApiStream(request, response)
        finally:
            response.close()

    async def _send(self, request: ApiRequest) -> aiohttp.ClientResponse:
        credentials = self._credentials
        headers = await who_asks(credentials)
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        url = URL(credentials.server + request.path, encoded=True)
        return await self._open().request(
            request.verb,
            url.with_query(request.params) if request.params else url,
            headers=headers,
            data=request.body,
            timeout=self._timeout(request),
            **route(credentials),
        )

    def _timeout(self, request: ApiRequest) -> aiohttp.ClientTimeout:
        if request.silence_seconds is not None:
            return aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS, sock_read=request.silence_seconds)
        return aiohttp.ClientTimeout(total=self._timeout_seconds, sock_connect=CONNECT_SECONDS)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS, socket_factory=_make_socket)
            self._session = aiohttp.ClientSession(
                connector=connector,
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                read_bufsize=_READ_BYTES,
            )
        return self._session


async def who_asks(credentials: Credentials) -> CIMultiDict[str]:
    """Return the headers that say who asks, and on whose behalf."""
    headers: CIMultiDict[str] = CIMultiDict(credentials.impersonation)
    authorization = await credentials.authorization.header()
    if authorization:
        headers["Authorization"] = authorization
    return headers


def route(credentials: Credentials) -> dict[str, Any]:
    """Return what the HTTP library is to be told of the way to a server."""
    found: dict[str, Any] = {"ssl": credentials.trust.context() if credentials.trust is not None else True}
    if credentials.server_name:
        found["server_hostname"] = credentials.server_name
    if credentials.proxy:
        found["proxy"] = credentials.proxy
    return found


def _make_socket(address: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol = address[:3]
    made = socket.socket(family, kind, protocol)
    keep_alive(made)
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


@contextmanager
def _translated(request: ApiRequest) -> Iterator[None]:
    """Turn what the library raises into a TransportError."""
    try:
        yield
    except _FAULTS as fault:
        cause = fault.__cause__ if isinstance(fault, NotConnectedError) else fault
        raise TransportError(
            (request.verb, request.path),
            _problem(fault),
            may_have_arrived=not isinstance(fault, _NEVER_SENT),
            is_timeout=isinstance(cause, TimeoutError),
        ) from fault


class RequestHead:
    """Writes heads in HTTP/1.1, what is the same for every request only once.

    `fields` are for every request, beside what the credentials ask for.
    """

    def __init__(self, credentials: Credentials, fields: Mapping[str, str]) -> None:
        self._credentials = credentials
        address = urlsplit(credentials.server)
        self._base = address.path
        self._fields = {"Host": address.netloc, **fields}
        self._authorization: str | None = None
        self._fixed = ""

    async def write(self, verb: str, path: str, body: bytes | None, content_type: str) -> bytes:
        """Write a request; `path` begins after the address of the server, and may have a query."""
        authorization = await self._credentials.authorization.header()
        if authorization != self._authorization:
            shown = [("Authorization", authorization)] if authorization else []
            self._fixed = "".join(_lines((*self._fields.items(), *self._credentials.impersonation, *shown)))
            self._authorization = authorization
        target = self._base + path
        if not target.isascii() or not target.isprintable() or " " in target:
            raise ValueError(f"path {target!r}: expected it to be quoted")
        about = f"Content-Type: {content_type}\r\n" if body is not None else ""
        if body is not None or verb != "GET":
            about += f"Content-Length: {len(body or b'')}\r\n"
        return f"{verb} {target} HTTP/1.1\r\n{self._fixed}{about}\r\n".encode() + (body or b"")


def _lines(fields: Iterable[tuple[str, str]]) -> Iterable[str]:
    for name, value in fields:
        if any(character in f"{name}{value}" for character in "\r\n\0"):
            raise CredentialsError(f"header {name!r}: its value has a line break; check the token and whom to act as")
        yield f"{name}: {value}\r\n"

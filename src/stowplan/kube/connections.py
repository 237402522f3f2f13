"""Connections for short requests: one request at a time on each, kept for the next. For writes, which come in bursts.

A binding costs a third of the processor time here that it costs by way of the general HTTP client, which
`transport.py` uses for lists, watches and proxies. An answer is a head and a body by length, in chunks, or to the end.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

import msgspec
from multidict import CIMultiDict

from stowplan.kube.identity import Credentials

CONNECT_SECONDS: Final = 10.0
# Below the 90 s after which an API server closes an idle connection, so that we do not write into a closing one.
IDLE_SECONDS: Final = 60.0
_KEEP_ALIVE: Final = ((socket.TCP_KEEPIDLE, 15), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3))
_PORTS: Final = {"https": 443, "http": 80}

_END_OF_HEAD: Final = b"\r\n\r\n"
_MOST_HEAD_BYTES: Final = 2**16
_WITHOUT_BODY: Final = (204, 304)


class NotConnectedError(Exception):
    """There is no connection, so nothing was sent; the cause says why."""


class ApiConnection(asyncio.Protocol):
    def __init__(self, context: ssl.SSLContext | None) -> None:
        self.context = context
        self.used_at = 0.0
        self.is_open = False
        self._transport: asyncio.Transport | None = None
        #: What has come of the answer; None while nothing is asked.
        self._coming: asyncio.StreamReader | None = None
        #: Set once nothing is left of the connection.
        self.lost = asyncio.Event()

    async def exchange(self, data: bytes) -> ApiAnswer:
        if self._transport is None or not self.is_open:
            raise ConnectionResetError("the connection is closed")
        self._coming = asyncio.StreamReader(_MOST_HEAD_BYTES)
        self._transport.write(data)
        try:
            answer, keeps_alive = await read_answer(self._coming)
        except EOFError:
            raise ConnectionResetError("the connection was closed") from None
        finally:
            self._coming = None
        if not keeps_alive:
            self.is_open = False
        return answer

    def close(self) -> None:
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not every loop's transports are instances of the class that they behave like.
        self._transport, self.is_open = cast(asyncio.Transport, transport), True
        keep_alive(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        if self._coming is None:
            # Nobody asked, or whoever did has gone.
            self.close()
        else:
            self._coming.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self.lost.set()
        if self._coming is None:
            return
        if exc is None:
            self._coming.feed_eof()
        else:
            self._coming.set_exception(exc)


class ConnectionPool:
    """The connections to one server, as many as there are requests at a time."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        address = urlsplit(credentials.server)
        self._host = address.hostname or ""
        self._port = address.port or _PORTS[address.scheme]
        # The one used last is used next: the others may grow old.
        self._idle: deque[ApiConnection] = deque()
        self._used: set[ApiConnection] = set()

    async def exchange(self, data: bytes) -> ApiAnswer:
        """Send a request, and wait for the whole answer."""
        trust = self._credentials.trust
        context = trust.context() if trust is not None else None
        connection = self._take(context) or await self._connect(context)
        self._used.add(connection)
        try:
            answer = await connection.exchange(data)
        except BaseException:
            connection.close()
            raise
        finally:
            self._used.discard(connection)
        self._keep(connection)
        return answer

    async def close(self) -> None:
        """Break off what is under way, and close all connections."""
        connections = [*self._idle, *self._used]
        self._idle.clear()
        for connection in connections:
            connection.close()
        for connection in connections:
            await connection.lost.wait()

    def _take(self, context: ssl.SSLContext | None) -> ApiConnection | None:
        since = asyncio.get_running_loop().time() - IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            # Other certificates, other connections.
            if connection.is_open and connection.context is context and connection.used_at > since:
                return connection
            connection.close()
        return None

    def _keep(self, connection: ApiConnection) -> None:
        if not connection.is_open:
            connection.close()
            return
        connection.used_at = asyncio.get_running_loop().time()
        self._idle.append(connection)
        oldest = self._idle[0]
        if not oldest.is_open or oldest.used_at < connection.used_at - IDLE_SECONDS:
            self._idle.popleft().close()

    async def _connect(self, context: ssl.SSLContext | None) -> ApiConnection:
        name = self._credentials.server_name or self._host
        dial = self._credentials.dial
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                where: dict[str, Any] = {"host": self._host, "port": self._port}
                if dial is not None:
                    where = {"sock": await dial()}
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: ApiConnection(context),
                    **where,
                    ssl=context,
                    server_hostname=name if context is not None else None,
                )
        except (OSError, ValueError) as fault:
            raise NotConnectedError(str(fault) or "no answer in time") from fault
        return connection


def keep_alive(made: socket.socket) -> None:
    """Have a peer that vanished noticed after about half a minute without an answer to probes."""
    if made.family == socket.AF_UNIX:
        # The end of a tunnel: whoever is at its other end has an eye on the peer.
        return
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEP_ALIVE:
        made.setsockopt(socket.IPPROTO_TCP, option, value)


class ApiAnswer(msgspec.Struct, frozen=True):
    """What the server said, whatever it was."""

    code: int
    reason: str
    headers: Mapping[str, str]
    body: bytes


class BrokenAnswerError(ValueError):
    """What came is no answer in HTTP."""


async def read_answer(coming: asyncio.StreamReader) -> tuple[ApiAnswer, bool]:
    """Read one answer, and say whether the connection can be used for the next request.

    Raise BrokenAnswerError, or EOFError if the answer breaks off.
    """
    code = 0
    while code < 200:
        first, *lines = (await _read_until(coming, _END_OF_HEAD)).decode("latin-1").split("\r\n")
        version, code, reason = _status(first)
    headers = CIMultiDict(_field(line) for line in lines)
    keeps_alive = version == "HTTP/1.1" and headers.get("Connection", "").lower() != "close"
    if code in _WITHOUT_BODY:
        body = b""
    elif headers.get("Transfer-Encoding", "").lower() == "chunked":
        body = await _read_chunks(coming)
    elif "Content-Length" in headers:
        body = await coming.readexactly(_number(headers["Content-Length"].encode("latin-1"), 10))
    else:
        body, keeps_alive = await coming.read(), False
    coming.feed_eof()
    # If there is more than was asked for, whatever it is, it does not answer the next request.
    has_more = bool(await coming.read())
    return ApiAnswer(code, reason, headers, body), keeps_alive and not has_more


async def _read_chunks(coming: asyncio.StreamReader) -> bytes:
    chunks = []
    while size := _number((await _read_until(coming, b"\r\n")).partition(b";")[0], 16):
        chunks.append((await coming.readexactly(size + 2))[:-2])
    # What may follow the last chunk ends with an empty line.
    while await _read_until(coming, b"\r\n"):
        pass
    return b"".join(chunks)


async def _read_until(coming: asyncio.StreamReader, end: bytes) -> bytes:
    try:
        return (await coming.readuntil(end)).removesuffix(end)
    except asyncio.LimitOverrunError:
        problem = f"the head of the answer, or of a chunk of it, does not end within {_MOST_HEAD_BYTES} bytes"
        raise BrokenAnswerError(problem) from None


def _status(line: str) -> tuple[str, int, str]:
    version, _, rest = line.partition(" ")
    code, _, reason = rest.partition(" ")
    if not version.startswith("HTTP/1.") or len(code) != 3:
        raise BrokenAnswerError(f"expected an answer in HTTP/1.1, got {line[:80]!r}")
    return version, _number(code.encode("latin-1"), 10), reason


def _field(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon:
        raise BrokenAnswerError(f"expected a header, got {line[:80]!r}")
    return name, value.strip()


def _number(text: bytes, base: int) -> int:
    stripped = text.strip()
    try:
        # int() takes signs, spaces and underscores too; only digits are meant.
        return int(stripped if stripped.isalnum() else b"", base)
    except ValueError:
        raise BrokenAnswerError(f"expected a number in the head of an answer or chunk, got {stripped[:20]!r}") from None

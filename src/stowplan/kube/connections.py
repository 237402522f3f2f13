"""Connections for short requests: one request at a time on each, kept for the next. For writes, which come in bursts.

A binding costs a third of the processor time here that it costs by way of the general HTTP client, which
`transport.py` uses for lists, watches and proxies. Answers are put together from pieces as they come: a head, then a
body by length, in chunks, or to the end.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Mapping
from typing import Final, cast
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
_MOST_CHUNK_HEAD_BYTES: Final = 2**12
_WITHOUT_BODY: Final = (204, 304)
_UNTIL_CLOSED: Final = -1
_IN_CHUNKS: Final = -2


class NotConnectedError(Exception):
    """There is no connection, so nothing was sent; the cause says why."""


class ApiConnection(asyncio.Protocol):
    """One connection."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self.context = context
        self.used_at = 0.0
        self.is_open = False
        self._transport: asyncio.Transport | None = None
        self._reader = AnswerReader()
        self._answer: asyncio.Future[ApiAnswer] | None = None
        self._lost = asyncio.Event()

    async def exchange(self, data: bytes) -> ApiAnswer:
        """Send a request and wait for its answer."""
        if self._transport is None or not self.is_open:
            raise ConnectionResetError("the connection is closed")
        self._reader = AnswerReader()
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        return await self._answer

    def close(self) -> None:
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    async def closed(self) -> None:
        """Wait until nothing is left of the connection."""
        await self._lost.wait()

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not every loop's transports are instances of the class that they behave like.
        self._transport, self.is_open = cast(asyncio.Transport, transport), True
        keep_alive(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            # Nobody asked, or whoever did has gone.
            self.close()
            return
        try:
            answer = self._reader.feed(data)
        except BrokenAnswerError as fault:
            self._answer.set_exception(fault)
            return
        if answer is not None:
            self.is_open = self._reader.keeps_alive
            self._answer.set_result(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._lost.set()
        if self._answer is None or self._answer.done():
            return
        answer = self._reader.end() if exc is None else None
        if answer is not None:
            self._answer.set_result(answer)
        else:
            self._answer.set_exception(exc or ConnectionResetError("the connection was closed"))


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
            await connection.closed()

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
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: ApiConnection(context),
                    self._host,
                    self._port,
                    ssl=context,
                    server_hostname=name if context is not None else None,
                )
        except (OSError, ValueError) as fault:
            raise NotConnectedError(str(fault) or "no answer in time") from fault
        return connection


def keep_alive(made: socket.socket) -> None:
    """Have a peer that vanished noticed after about half a minute without an answer to probes."""
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


class AnswerReader:
    """Reads one answer. `keeps_alive` tells whether the connection can be used for the next request."""

    def __init__(self) -> None:
        self.keeps_alive = False
        self._data = bytearray()
        self._head: ApiAnswer | None = None
        self._length = 0
        # Where in a body of chunks the next one begins, and those that are whole.
        self._next = 0
        self._chunks: list[bytes] = []

    def feed(self, piece: bytes) -> ApiAnswer | None:
        """Take in a piece; return the answer if that completes it."""
        self._data += piece
        while self._head is None or self._head.code < 200:
            if not self._take_head():
                return None
        if self._length == _IN_CHUNKS:
            return self._take_chunks(self._head)
        if self._length == _UNTIL_CLOSED or len(self._data) < self._length:
            return None
        return self._whole(self._head, self._length, bytes(self._data[: self._length]))

    def end(self) -> ApiAnswer | None:
        """The server has closed the connection; return the answer if that completes it."""
        if self._head is None or self._length != _UNTIL_CLOSED:
            return None
        return self._whole(self._head, len(self._data), bytes(self._data))

    def _take_head(self) -> bool:
        end = self._data.find(_END_OF_HEAD)
        if end < 0:
            if len(self._data) > _MOST_HEAD_BYTES:
                raise BrokenAnswerError(f"the head of the answer does not end within {_MOST_HEAD_BYTES} bytes")
            return False
        first, *lines = self._data[:end].decode("latin-1").split("\r\n")
        del self._data[: end + len(_END_OF_HEAD)]
        version, code, reason = _status(first)
        headers = CIMultiDict(_field(line) for line in lines)
        self._head = ApiAnswer(code, reason, headers, b"")
        self._length = _length(code, headers)
        is_kept = version == "HTTP/1.1" and headers.get("Connection", "").lower() != "close"
        self.keeps_alive = is_kept and self._length != _UNTIL_CLOSED
        return True

    def _take_chunks(self, head: ApiAnswer) -> ApiAnswer | None:
        while (end := self._data.find(b"\r\n", self._next)) >= 0:
            size = _number(self._data[self._next : end].partition(b";")[0], 16)
            start = end + 2
            if size == 0:
                return self._take_trailer(head, end)
            if len(self._data) < start + size + 2:
                return None
            self._chunks.append(bytes(self._data[start : start + size]))
            self._next = start + size + 2
        if len(self._data) - self._next > _MOST_CHUNK_HEAD_BYTES:
            raise BrokenAnswerError("a chunk of the answer does not say how long it is")
        return None

    def _take_trailer(self, head: ApiAnswer, start: int) -> ApiAnswer | None:
        """Skip what may follow the last chunk, up to an empty line."""
        end = self._data.find(_END_OF_HEAD, start)
        return self._whole(head, end + len(_END_OF_HEAD), b"".join(self._chunks)) if end >= 0 else None

    def _whole(self, head: ApiAnswer, length: int, body: bytes) -> ApiAnswer:
        if len(self._data) > length:
            # More than was asked for: whatever it is, it does not answer the next request.
            self.keeps_alive = False
        return ApiAnswer(head.code, head.reason, head.headers, body)


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


def _length(code: int, headers: Mapping[str, str]) -> int:
    if code in _WITHOUT_BODY:
        return 0
    if headers.get("Transfer-Encoding", "").lower() == "chunked":
        return _IN_CHUNKS
    length = headers.get("Content-Length")
    return _UNTIL_CLOSED if length is None else _number(length.encode("latin-1"), 10)


def _number(text: bytes | bytearray, base: int) -> int:
    # int() takes signs, spaces and underscores too; only digits are meant.
    stripped = bytes(text).strip()
    if not stripped.isalnum():
        raise BrokenAnswerError(f"expected a number in the head of an answer or chunk, got {stripped[:20]!r}")
    try:
        return int(stripped, base)
    except ValueError:
        raise BrokenAnswerError(f"expected a number in the head of an answer or chunk, got {stripped[:20]!r}") from None

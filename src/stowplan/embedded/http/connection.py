"""One connection of a client: requests in, answers out, in order.

A watch takes the connection until it ends, and so does an answer that comes later.

Written on transport and protocol instead of a web framework: almost all answers are there as soon as the request is,
and a task, a queue and a router for each cost more than the answer itself.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, cast

from stowplan.embedded.errors import StatusError
from stowplan.embedded.http.requests import Request, RequestReader
from stowplan.embedded.incoming import Answer, Later, refusal
from stowplan.embedded.media import JSON
from stowplan.embedded.precedence import Precedence
from stowplan.embedded.users import Certificate
from stowplan.embedded.watching import Watch

#: Answers a request of a client with this certificate.
Respond = Callable[[Request, Certificate], Answer | Later | Watch]

_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
#: Answers are for one reader, and what they say they are.
_EVERY_HEAD: Final = "Cache-Control: no-cache, private\r\nX-Content-Type-Options: nosniff\r\n"
_STREAM_HEAD: Final = (
    f"HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\n{_EVERY_HEAD}Transfer-Encoding: chunked\r\n\r\n"
).encode()
_STREAM_END: Final = b"0\r\n\r\n"
#: What a client may send while its connection is taken.
_LONGEST_AHEAD_BYTES: Final = 64 * 1024
#: How long a client that is refused in the middle of a body may take to notice.
_LINGER_SECONDS: Final = 2.0
_log = logging.getLogger(__name__)


def respond_safely(respond: Respond, request: Request, certificate: Certificate) -> Answer | Later | Watch:
    """Answer a request; whatever goes wrong is an answer, too."""
    try:
        return respond(request, certificate)
    except StatusError as error:
        return refusal(error)
    except Exception:
        return _failure(request)


async def wait_safely(later: Later, request: Request) -> Answer:
    """Wait for the answer to a request; whatever goes wrong is an answer, too."""
    try:
        return await later.work()
    except StatusError as error:
        return refusal(error)
    except Exception:
        return _failure(request)


def _failure(request: Request) -> Answer:
    _log.exception("%s %s failed", request.method, request.target)
    problem = f"{request.method} {request.target} failed: the log of the server says why"
    return refusal(StatusError(500, "InternalError", problem))


class Connection(asyncio.Protocol):
    """Talks to one client; `connections` is the set of those that are open."""

    def __init__(self, respond: Respond, connections: set[Connection], precedence: Precedence | None = None) -> None:
        self._respond = respond
        self._connections = connections
        self._precedence = precedence
        self._reader = RequestReader()
        self._transport: asyncio.Transport | None = None
        self._certificate: Certificate = {}
        self._busy: asyncio.Task[None] | None = None
        self._is_over = False
        self._may_write = asyncio.Event()
        self._may_write.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._certificate = transport.get_extra_info("peercert") or {}
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._connections.discard(self)
        self._may_write.set()
        if self._busy is not None:
            self._busy.cancel()

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        if self._precedence is None:
            self._serve(data)
            return
        since = asyncio.get_running_loop().time()
        try:
            self._serve(data)
        finally:
            self._precedence.served(since)

    def _serve(self, data: bytes) -> None:
        self._reader.feed(data)
        self._answer_all()
        if self._busy is not None and self._reader.held_bytes > _LONGEST_AHEAD_BYTES:
            self.close()

    def pause_writing(self) -> None:
        self._may_write.clear()
        if self._transport is not None and self._busy is None:
            # Who does not read answers is not asked for more requests.
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._may_write.set()
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
            self._answer_all()

    def close(self) -> None:
        """End the connection, and the watch on it."""
        if self._transport is not None:
            self._transport.close()

    def _answer_all(self) -> None:
        """Answer every request that has arrived in full."""
        while self._transport is not None and self._busy is None and self._may_write.is_set() and not self._is_over:
            try:
                request = self._reader.take()
            except StatusError as error:
                self._give_up(self._transport, error)
                return
            if request is None:
                if self._reader.take_permission():
                    self._transport.write(_CONTINUE)
                return
            self._answer(request)

    def _give_up(self, transport: asyncio.Transport, error: StatusError) -> None:
        """Refuse what cannot be read. A client that is still sending would not see the answer if it were cut off."""
        self._is_over = True
        answer = refusal(error)
        transport.write(_head(answer, is_last=True) + answer.body)
        asyncio.get_running_loop().call_later(_LINGER_SECONDS, self.close)

    def _answer(self, request: Request) -> None:
        answer = respond_safely(self._respond, request, self._certificate)
        if isinstance(answer, Watch):
            self._busy = asyncio.ensure_future(self._stream(answer, is_last=request.is_last))
        elif isinstance(answer, Later):
            self._busy = asyncio.ensure_future(self._send_later(answer, request))
        else:
            self._send(answer, request)

    async def _send_later(self, later: Later, request: Request) -> None:
        answer = await wait_safely(later, request)
        self._busy = None
        self._send(answer, request)
        self._answer_all()

    def _send(self, answer: Answer, request: Request) -> None:
        if self._transport is None:
            return
        # After an upgrade that was refused, what follows is not HTTP.
        is_last = request.is_last or "upgrade" in request.headers
        self._transport.write(_head(answer, is_last=is_last) + (b"" if request.method == "HEAD" else answer.body))
        if is_last:
            self._is_over = True
            self._transport.close()

    async def _stream(self, watch: Watch, *, is_last: bool) -> None:
        try:
            await self._send_pieces(watch)
        except Exception:
            _log.exception("a watch of %s failed", watch.rendering.resource.qualified)
            is_last = True
        self._busy = None
        if is_last:
            self.close()
        self._answer_all()

    async def _send_pieces(self, watch: Watch) -> None:
        self._write(_STREAM_HEAD)
        async for piece in watch.pieces():
            self._write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await self._may_write.wait()
        self._write(_STREAM_END)

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)


def _head(answer: Answer, *, is_last: bool) -> bytes:
    phrase = _PHRASES.get(answer.code, "")
    lines = f"HTTP/1.1 {answer.code} {phrase}\r\nContent-Type: {answer.content_type}\r\n{_EVERY_HEAD}"
    for warning in answer.warnings:
        lines += f"Warning: 299 - {json.dumps(warning)}\r\n"
    if answer.code == HTTPStatus.UNAUTHORIZED:
        lines += "WWW-Authenticate: Bearer\r\n"
    if is_last:
        lines += "Connection: close\r\n"
    return f"{lines}Content-Length: {len(answer.body)}\r\n\r\n".encode("latin-1")


_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}

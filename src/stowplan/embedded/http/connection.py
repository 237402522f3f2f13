"""One connection of a client: requests in, answers out, in order.

Who asks is looked at when the head of a request is there, and a body is read only of whom it may be read. A watch takes
the connection until it ends, and so does an answer that comes later.

Written on transport and protocol instead of a web framework: almost all answers are there as soon as the request is,
and a task, a queue and a router for each cost more than the answer itself.
"""

from __future__ import annotations

import asyncio
import logging
from enum import Enum, auto
from typing import Final, cast

from stowplan.embedded.http import answers
from stowplan.embedded.http.answers import Admission, Door, respond_safely, wait_safely
from stowplan.embedded.http.connections import Connections
from stowplan.embedded.http.requests import Request, RequestReader
from stowplan.embedded.identity.users import Certificate
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.registry.precedence import Precedence
from stowplan.embedded.requests.incoming import Answer, Later, refusal
from stowplan.embedded.requests.watching import Watch

#: What a client may send while its connection is taken.
_LONGEST_AHEAD_BYTES: Final = 64 * 1024
#: What waits in this process for a client that does not read; of a watch so much is written at a time.
_UNREAD_BYTES: Final = 16 * 1024
#: What is sent at once of an answer that comes later.
_LARGE_BYTES: Final = 64 * 1024
_log = logging.getLogger(__name__)


class _Phase(Enum):
    """What is waited for."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    END = auto()


class Connection(asyncio.BufferedProtocol):
    """Talks to one client."""

    def __init__(self, door: Door, connections: Connections, precedence: Precedence | None = None) -> None:
        self._door = door
        self._connections = connections
        self._precedence = precedence
        self._reader = RequestReader()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._certificate: Certificate = {}
        #: What was found out about the request whose body is on its way.
        self._admission: Admission | None = None
        self._is_holding = False
        self._is_waiting_for_room = False
        self._busy: asyncio.Task[None] | None = None
        self._is_watched = False
        self._ahead = bytearray()
        self._phase = _Phase.IDLE
        self.since = self._loop.time()
        self._may_write = asyncio.Event()
        self._may_write.set()
        #: Whether no request is answered for now: another one is, or the client does not read.
        self._is_taken = False
        #: What a client that does not read has left unread, and since when it is so much.
        self._unread = (0, 0.0)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_UNREAD_BYTES)
        self._certificate = transport.get_extra_info("peercert") or {}
        if self._connections.enter(self):
            return
        if self._connections.turn_away(self):
            limit = self._connections.limits.connections
            problem = f"{limit} connections are open, and no more are served at a time: try again later"
            self._give_up(refusal(StatusError(503, "ServiceUnavailable", problem)))
        else:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._reader.stop()
        self._connections.leave(self)
        self._may_write.set()
        if self._busy is not None:
            self._busy.cancel()
            # The task knows this connection: they would keep each other, and all that a watch has in hand.
            self._busy = None

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._connections.buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._phase is _Phase.END:
            return
        since = self._loop.time()
        try:
            self._serve(self._connections.buffer[:nbytes], since)
        finally:
            if self._precedence is not None:
                self._precedence.served(since)

    def pause_writing(self) -> None:
        self._may_write.clear()
        self._is_taken = True
        if self._transport is not None:
            self._unread = self._transport.get_write_buffer_size(), self._loop.time()
            if self._busy is None:
                # Who does not read answers is not asked for more requests.
                self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._may_write.set()
        self._is_taken = self._busy is not None
        # Whoever has read something is not idle.
        self.since = self._loop.time()
        if self._transport is not None and not self._transport.is_closing():
            self._read_on()
            self._answer_all()

    @property
    def is_replaceable(self) -> bool:
        return self._phase in (_Phase.IDLE, _Phase.HEAD, _Phase.END) and self._may_write.is_set()

    def look(self, now: float) -> None:
        """End the connection if its client takes longer than it may."""
        limits, took = self._connections.limits, now - self.since
        if not self._may_write.is_set():
            # It is the client that is waited for.
            self._look_at_unread(now)
            return
        match self._phase:
            case _Phase.IDLE if took > limits.idle_seconds:
                self.close()
            case _Phase.HEAD if took > limits.head_seconds:
                self._time_out("headers")
            case _Phase.BODY if took > self._body_seconds():
                self._time_out("body")
            case _Phase.END if took > limits.linger_seconds:
                self._end_for_good(took)

    def go_on(self) -> None:
        """Read the body: there is room for it now."""
        if self._phase is not _Phase.END:
            self._is_waiting_for_room, self._is_holding = False, True
            self._allow_body()
            self._read_on()

    def make_way(self) -> None:
        """End the connection for another one. Who has been refused already is not waited for any longer."""
        if self._phase is _Phase.END and self._transport is not None:
            self._transport.abort()
        else:
            self.close()

    def close(self) -> None:
        """End the connection, and the watch on it, as soon as what was written is sent."""
        self._enter(_Phase.END)
        if self._transport is not None:
            self._transport.close()

    def _serve(self, data: memoryview, now: float) -> None:
        if self._is_taken:
            self._ahead += data
            self._limit_ahead()
            return
        self._reader.feed(data)
        if self._answer_all() or self._phase is _Phase.IDLE:
            self.since = now

    def _limit_ahead(self) -> None:
        if len(self._ahead) <= _LONGEST_AHEAD_BYTES or self._transport is None:
            return
        if self._is_watched:
            # Who is not read from cannot be seen to leave.
            self.close()
        else:
            self._transport.pause_reading()

    def _read_on(self) -> None:
        """Ask for more, unless there is a reason not to."""
        is_full = len(self._ahead) > _LONGEST_AHEAD_BYTES
        if self._transport is not None and not (self._is_waiting_for_room or is_full or self._is_taken):
            self._transport.resume_reading()

    def _answer_all(self) -> int:
        """Answer what has arrived in full; say how many requests were answered now."""
        count = 0
        while self._is_open and not self._is_taken and self._phase is not _Phase.END:
            if count and not self._reader.is_idle:
                self._let_others_go_first()
                break
            try:
                request = self._reader.take()
            except StatusError as error:
                self._give_up(refusal(error))
                break
            if request is not None:
                count += 1
                self._answer(request)
                if self._phase is _Phase.IDLE and self._reader.is_idle and not self._ahead:
                    break
            elif self._ahead:
                data, self._ahead = bytes(self._ahead), bytearray()
                self._reader.feed(data)
            else:
                self._look_at_head()
                break
        return count

    def _let_others_go_first(self) -> None:
        """Answer the next request in the next turn: of many clients with many requests each, all have their turn."""
        self._enter(_Phase.ANSWER)
        self._is_taken = True
        self._loop.call_soon(self._take_turn)

    def _take_turn(self) -> None:
        if self._phase is not _Phase.ANSWER or self._busy is not None:
            return
        since = self._loop.time()
        self._is_taken = not self._may_write.is_set()
        self._answer_all()
        self._read_on()
        if self._precedence is not None:
            self._precedence.served(since)

    def _look_at_head(self) -> None:
        """Decide about the request whose body is still to come, if there is one."""
        head = self._reader.head
        if head is None:
            self._enter(_Phase.IDLE if self._reader.is_idle else _Phase.HEAD)
            return
        self._enter(_Phase.BODY)
        if self._admission is not None:
            return
        asked = Request(head.method, head.target, head.headers, is_last=True)
        try:
            self._admission = self._door.admit(head, self._certificate)
        except Exception:
            self._give_up(answers.failure(asked))
            return
        if self._admission.problem is not None:
            answer = respond_safely(self._door.respond, asked, self._certificate, self._admission)
            self._give_up(answer if isinstance(answer, Answer) else refusal(self._admission.problem))
        elif self._connections.hold(self, head.announced_bytes):
            self._is_holding = True
            self._allow_body()
        elif self._transport is not None:
            self._is_waiting_for_room = True
            self._transport.pause_reading()

    def _allow_body(self) -> None:
        if self._reader.head is not None and self._reader.head.awaits_permission:
            self._write(answers.CONTINUE)

    def _answer(self, request: Request) -> None:
        admission, self._admission = self._admission, None
        answer = respond_safely(self._door.respond, request, self._certificate, admission)
        if isinstance(answer, Answer):
            self._send(answer, request)
            return
        self._enter(_Phase.ANSWER)
        self._is_watched = isinstance(answer, Watch)
        work = self._stream(answer, request) if isinstance(answer, Watch) else self._send_later(answer, request)
        self._busy = self._loop.create_task(work)
        self._is_taken = True

    async def _send_later(self, later: Later, request: Request) -> None:
        answer = await wait_safely(later, request)
        if len(answer.body) <= _LARGE_BYTES or request.method == "HEAD":
            self._send(answer, request)
        else:
            await self._send_large(answer, request)
        self._free()

    async def _send_large(self, answer: Answer, request: Request) -> None:
        """Send as the client reads; copied at once, it would be there twice, and others would wait for that."""
        self._release()
        self._write(answers.head_of(answer, is_last=request.is_last))
        body = memoryview(answer.body)
        for start in range(0, len(body), _LARGE_BYTES):
            self._write(body[start : start + _LARGE_BYTES])
            await asyncio.sleep(0)
            if not self._may_write.is_set():
                await self._may_write.wait()
        if request.is_last:
            self.close()

    def _send(self, answer: Answer, request: Request) -> None:
        self._release()
        head = answers.head_of(answer, is_last=request.is_last)
        self._write(head + (b"" if request.method == "HEAD" else answer.body))
        if request.is_last:
            self.close()

    def _release(self) -> None:
        if self._is_holding:
            self._is_holding = False
            self._connections.release(self)

    async def _stream(self, watch: Watch, request: Request) -> None:
        self._release()
        watch.feed.is_outside = True
        in_chunks = request.takes_chunks
        is_last = request.is_last or not in_chunks
        self._write(answers.stream_head(in_chunks=in_chunks))
        try:
            async for piece in watch.pieces():
                await self._send_piece(piece, in_chunks=in_chunks)
            if in_chunks:
                self._write(answers.LAST_CHUNK)
        except Exception:
            _log.exception("a watch of %s failed", watch.rendering.resource.qualified)
            is_last = True
        if is_last:
            self.close()
        self._free()

    async def _send_piece(self, piece: bytes, *, in_chunks: bool) -> None:
        """Send a piece, a part at a time, so that little waits here for whoever does not read."""
        for start in range(0, len(piece), _UNREAD_BYTES):
            part = piece if len(piece) <= _UNREAD_BYTES else piece[start : start + _UNREAD_BYTES]
            self._write(b"%x\r\n%b\r\n" % (len(part), part) if in_chunks else part)
            if not self._may_write.is_set():
                await self._may_write.wait()

    @property
    def _is_open(self) -> bool:
        """Whether there is somebody to write to: a write that fails closes the transport before we are told."""
        return self._transport is not None and not self._transport.is_closing()

    def _write(self, data: bytes | memoryview) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _free(self) -> None:
        """Go on with what has arrived while the connection was taken."""
        self._busy, self._is_watched = None, False
        self._is_taken = not self._may_write.is_set()
        self.since = self._loop.time()
        self._answer_all()
        self._read_on()

    def _enter(self, phase: _Phase) -> None:
        if phase is not self._phase:
            self._phase, self.since = phase, self._loop.time()

    def _give_up(self, answer: Answer) -> None:
        """Give a last answer. A client that is still sending would not see it if it were cut off, so it is read on."""
        self._enter(_Phase.END)
        self._reader.stop()
        self._connections.release(self)
        self._write(answers.head_of(answer, is_last=True) + answer.body)
        if self._transport is not None:
            self._transport.resume_reading()

    def _time_out(self, what: str) -> None:
        problem = f"the {what} of the request did not come in time"
        self._give_up(refusal(StatusError(408, "RequestTimeout", problem)))

    def _body_seconds(self) -> float:
        limits = self._connections.limits
        is_in_the_way = self._is_holding and self._connections.is_pressed
        return limits.pressed_body_seconds if is_in_the_way else limits.body_seconds

    def _look_at_unread(self, now: float) -> None:
        """Cut off a client that reads nothing of what is there for it."""
        if self._transport is None:
            return
        size, since = self._unread
        left = self._transport.get_write_buffer_size()
        if left < size:
            self._unread = left, now
        elif now - since > self._connections.limits.write_seconds:
            self._transport.abort()

    def _end_for_good(self, took: float) -> None:
        limits = self._connections.limits
        if self._transport is None:
            return
        if not self._transport.is_closing():
            self._transport.close()
        elif took > limits.linger_seconds + limits.write_seconds:
            self._transport.abort()

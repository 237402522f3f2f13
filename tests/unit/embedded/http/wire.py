"""A client, a wire and a door without sockets: what a connection is tested between, under virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from stowplan.embedded.http.answers import Admission
from stowplan.embedded.http.connection import Connection
from stowplan.embedded.http.connections import Connections, Limits
from stowplan.embedded.http.requests import Head, Request
from stowplan.embedded.identity.users import ADMIN, ANONYMOUS, Certificate
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.requests.incoming import Answer, Later, refusal
from stowplan.embedded.requests.watching import Watch

UNAUTHORIZED = StatusError(401, "Unauthorized", "Unauthorized")


class FakeDoor:
    """Answers with the body of a request, or its target; lets in everybody but who shows a wrong token."""

    def __init__(self, error: Exception | None = None) -> None:
        self.admitted: list[str] = []
        self.responded: list[str] = []
        self.cancelled: list[str] = []
        self._error = error

    def admit(self, head: Head, certificate: Certificate) -> Admission:
        self.admitted.append(head.target)
        return Admission(ANONYMOUS, UNAUTHORIZED) if "authorization" in head.headers else Admission(ADMIN)

    def respond(
        self, request: Request, certificate: Certificate, admission: Admission | None = None
    ) -> Answer | Later | Watch:
        admission = admission or self.admit(request, certificate)
        self.responded.append(request.target)
        if admission.problem is not None:
            return refusal(admission.problem)
        if request.target == "/slow":
            return Later(self._work)
        size = int(request.headers.get("x-size", "0"))
        return Answer(200, b"x" * size or request.body or request.target.encode(), "text/plain")

    async def _work(self) -> Answer:
        """Answer after a minute."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled.append("/slow")
            raise
        if self._error is not None:
            raise self._error
        return Answer(200, b"/slow", "text/plain")


class Client(asyncio.Transport):
    """Sends to a connection, and keeps what comes back; what it does not read stays with the server."""

    def __init__(self, door: FakeDoor, connections: Connections) -> None:
        super().__init__()
        self.received = b""
        self.unread = 0
        self.reads = True
        self.is_asked = True
        self.is_cut_off = False
        #: Whether the client has gone, which the server finds out by writing to it; and what it writes after that.
        self.has_gone = False
        self.wasted_writes = 0
        self._is_closing = False
        self._most_unread = 64 * 1024
        self._connection = Connection(door, connections)
        self._connection.connection_made(self)

    @property
    def is_open(self) -> bool:
        return not self._is_closing

    @property
    def codes(self) -> list[int]:
        """The codes of the answers so far."""
        parts = self.received.split(b"HTTP/1.1 ")[1:]
        return [int(part.partition(b" ")[0]) for part in parts]

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of the answers so far, which have no line ends in them."""
        return [part.partition(b"HTTP/1.1")[0] for part in self.received.split(b"\r\n\r\n")[1:]]

    def send(self, data: bytes) -> None:
        """Send as much as the server asks for."""
        while data and self.is_asked and self.is_open:
            buffer = memoryview(self._connection.get_buffer(-1))
            size = min(len(buffer), len(data))
            buffer[:size] = data[:size]
            self._connection.buffer_updated(size)
            data = data[size:]

    def read(self) -> None:
        """Read what has been left unread."""
        self.reads, self.unread = True, 0
        self._connection.resume_writing()

    def leave(self) -> None:
        self._is_closing = True
        self._connection.connection_lost(None)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._most_unread = high or self._most_unread

    def get_write_buffer_size(self) -> int:
        return self.unread

    def write(self, data: Any) -> None:
        if self.has_gone:
            self.wasted_writes += self._is_closing
            self.abort()
            return
        self.received += bytes(data)
        if not self.reads:
            was_less, self.unread = self.unread <= self._most_unread, self.unread + len(data)
            if was_less and self.unread > self._most_unread:
                self._connection.pause_writing()

    def pause_reading(self) -> None:
        self.is_asked = False

    def resume_reading(self) -> None:
        self.is_asked = True

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            if not self.unread:
                asyncio.get_running_loop().call_soon(self._connection.connection_lost, None)

    def abort(self) -> None:
        self._is_closing = self.is_cut_off = True
        asyncio.get_running_loop().call_soon(self._connection.connection_lost, None)


@dataclass(slots=True)
class Wire:
    """Where clients of one server connect."""

    door: FakeDoor = field(default_factory=FakeDoor)
    connections: Connections = field(default_factory=lambda: Connections(Limits()))

    def connect(self) -> Client:
        return Client(self.door, self.connections)


def limited(**limits: Any) -> Wire:
    return Wire(connections=Connections(replace(Limits(), **limits)))

"""What one client sends is answered in order, however long an answer takes; what it does not send is not waited for."""

from __future__ import annotations

import asyncio

import pytest

from stowplan.embedded.errors import bad_request
from stowplan.embedded.http.connection import Connection
from stowplan.embedded.http.requests import Request
from stowplan.embedded.incoming import Answer, Later
from stowplan.embedded.users import Certificate
from stowplan.simulate import virtual_time
from tests.unit.embedded.http.fake_transport import FakeTransport

SLOW = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
QUICK = b"GET /quick HTTP/1.1\r\nHost: x\r\n\r\n"


class Server:
    """Answers with the target of the request; what is slow, after a minute."""

    def __init__(self, error: Exception | None = None) -> None:
        self.cancelled: list[str] = []
        self._error = error

    def respond(self, request: Request, _: Certificate) -> Answer | Later:
        answer = Answer(200, request.target.encode(), "text/plain")
        if request.target != "/slow":
            return answer

        async def work() -> Answer:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.cancelled.append(request.target)
                raise
            if self._error is not None:
                raise self._error
            return answer

        return Later(work)

    def connect(self) -> tuple[Connection, FakeTransport]:
        connection = Connection(self.respond, set())
        transport = FakeTransport(connection)
        connection.connection_made(transport)
        return connection, transport


def bodies(written: bytes) -> list[bytes]:
    """The bodies of answers, which have no line ends in them."""
    return [part.partition(b"HTTP/1.1")[0] for part in written.split(b"\r\n\r\n")[1:]]


def test_an_answer_that_comes_later_keeps_its_place() -> None:
    async def story() -> list[bytes]:
        connection, transport = Server().connect()
        connection.data_received(SLOW + QUICK)
        await asyncio.sleep(59)
        assert transport.written == b""
        await asyncio.sleep(2)
        return bodies(transport.written)

    assert virtual_time.run(story()) == [b"/slow", b"/quick"]


def test_other_connections_do_not_wait_for_it() -> None:
    async def story() -> list[bytes]:
        server = Server()
        server.connect()[0].data_received(SLOW)
        other, transport = server.connect()
        other.data_received(QUICK)
        return bodies(transport.written)

    assert virtual_time.run(story()) == [b"/quick"]


def test_nobody_works_for_a_client_that_has_left() -> None:
    async def story() -> list[str]:
        server = Server()
        connection, _ = server.connect()
        connection.data_received(SLOW)
        await asyncio.sleep(1)
        connection.connection_lost(None)
        await asyncio.sleep(1)
        return server.cancelled

    assert virtual_time.run(story()) == ["/slow"]


@pytest.mark.parametrize(
    ("error", "first"),
    [
        pytest.param(bad_request("no"), b"HTTP/1.1 400 Bad Request", id="a refusal"),
        pytest.param(KeyError("x"), b"HTTP/1.1 500 Internal Server Error", id="a fault of the server"),
    ],
)
def test_what_goes_wrong_later_is_an_answer_and_the_connection_goes_on(error: Exception, first: bytes) -> None:
    async def story() -> bytes:
        connection, transport = Server(error).connect()
        connection.data_received(SLOW + QUICK)
        await asyncio.sleep(61)
        return transport.written

    written = virtual_time.run(story())
    assert written.partition(b"\r\n")[0] == first
    assert written.endswith(b"/quick")

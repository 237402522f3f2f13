"""Connections are kept for the next request, but never one that something is wrong with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from stowplan.kube.connections import BrokenAnswerError, ConnectionPool, NotConnectedError
from stowplan.kube.identity import Credentials, Fixed
from tests.integration.kube import hurry

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

ASK = b"GET / HTTP/1.1\r\n\r\n"


def answer(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


@asynccontextmanager
async def lanes_to(serve: Serve) -> AsyncIterator[ConnectionPool]:
    """Open lanes to a server that treats each connection so; it closes a connection when it has treated it."""

    async def treat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(treat, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    lanes = ConnectionPool(Credentials(f"http://127.0.0.1:{port}", Fixed("")))
    try:
        yield lanes
    finally:
        await lanes.close()
        server.close()
        await server.wait_closed()


class Counting:
    """A server that answers each request with the numbers of its connection and request."""

    def __init__(self, requests_a_connection: int = 1000) -> None:
        self.connections = 0
        self._most = requests_a_connection

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        for request in range(1, self._most + 1):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer(b"%d.%d" % (number, request)))


def asked(serve: Serve, work: Callable[[ConnectionPool], Awaitable[Any]]) -> Any:
    async def inside() -> Any:
        async with lanes_to(serve) as lanes:
            return await work(lanes)

    return hurry.run(inside())


async def ask(lanes: ConnectionPool) -> str:
    return (await lanes.exchange(ASK)).body.decode()


def test_a_connection_is_used_again_and_each_request_at_a_time_has_its_own() -> None:
    async def work(lanes: ConnectionPool) -> list[str]:
        alone = [await ask(lanes), await ask(lanes)]
        together = await asyncio.gather(ask(lanes), ask(lanes))
        return [*alone, *sorted(together)]

    assert asked(Counting(), work) == ["1.1", "1.2", "1.3", "2.1"]


def test_a_connection_that_the_server_closed_meanwhile_is_not_used_again() -> None:
    server = Counting(requests_a_connection=1)

    async def work(lanes: ConnectionPool) -> list[str]:
        first = await ask(lanes)
        await asyncio.sleep(1)
        return [first, await ask(lanes)]

    assert asked(server, work) == ["1.1", "2.1"]


def test_a_connection_that_was_idle_for_long_is_not_used_again() -> None:
    async def work(lanes: ConnectionPool) -> list[str]:
        first = await ask(lanes)
        await asyncio.sleep(61)
        return [first, await ask(lanes)]

    assert asked(Counting(), work) == ["1.1", "2.1"]


def test_the_late_answer_to_a_request_that_was_given_up_is_nobody_elses() -> None:
    server = Counting()
    may_answer = asyncio.Event()

    async def slow_first(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if server.connections == 0:
            server.connections = 1
            await reader.readuntil(b"\r\n\r\n")
            await may_answer.wait()
            writer.write(answer(b"late"))
        else:
            await server(reader, writer)

    async def work(lanes: ConnectionPool) -> str:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ask(lanes), 1)
        may_answer.set()
        return await ask(lanes)

    assert asked(slow_first, work) == "2.1"


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        pytest.param(b"", ConnectionResetError, id="no answer"),
        pytest.param(answer(b"whole")[:-1], ConnectionResetError, id="half an answer"),
        pytest.param(b"220 mail.test ESMTP\r\n\r\n", BrokenAnswerError, id="no answer in HTTP"),
    ],
)
def test_an_answer_that_is_none_is_a_fault(said: bytes, fault: type[Exception]) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)

    async def work(lanes: ConnectionPool) -> None:
        with pytest.raises(fault):
            await ask(lanes)

    asked(serve, work)


def test_closing_breaks_off_what_is_under_way() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def work(lanes: ConnectionPool) -> None:
        underway = asyncio.create_task(ask(lanes))
        await asyncio.sleep(1)
        await lanes.close()
        with pytest.raises(ConnectionResetError):
            await underway

    asked(serve, work)


def test_nothing_was_sent_if_there_is_no_connection() -> None:
    async def inside() -> None:
        async with lanes_to(Counting()) as lanes:
            pass
        with pytest.raises(NotConnectedError) as caught:
            await lanes.exchange(ASK)
        assert isinstance(caught.value.__cause__, ConnectionRefusedError)

    hurry.run(inside())

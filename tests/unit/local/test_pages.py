"""Who keeps a connection to the scheduler's pages without asking anything loses it, and others are served."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from stowplan.embedded.http.connections import Limits
from stowplan.embedded.http.server import ServerOptions
from stowplan.local.pages import serve_pages
from tests.unit.serving.test_server import make_pages

HEALTHY = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
LARGE = b"GET /configz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
#: Far more than any limit here; only a server without deadlines takes so long.
PATIENCE_SECONDS = 20
SHORT = Limits(
    head_seconds=0.05, body_seconds=0.05, idle_seconds=0.05, write_seconds=0.05, linger_seconds=0.05, look_seconds=0.02
)
LONG = Limits(look_seconds=0.02)

Talk = Callable[[int], Awaitable[bytes]]


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def served(limits: Limits, talk: Talk) -> bytes:
    async def run() -> bytes:
        server = await serve_pages(
            make_pages({}, configuration=lambda: {"x": "y" * 2_000_000}),
            ServerOptions(limits=limits),
        )
        try:
            return await asyncio.wait_for(talk(server.port), PATIENCE_SECONDS)
        finally:
            await server.close()

    return asyncio.run(run())


def sent(data: bytes) -> Talk:
    async def talk(port: int) -> bytes:
        async with connected(port) as (reader, writer):
            writer.write(data)
            return await reader.read()

    return talk


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ", id="part of a head"),
        pytest.param(
            b"PUT /debug/flags/v HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n4", id="part of a body"
        ),
    ],
)
def test_who_sends_no_whole_request_is_cut_off(data: bytes) -> None:
    assert b" 200 " not in served(SHORT, sent(data))


def test_who_has_been_answered_and_asks_no_more_is_cut_off() -> None:
    assert served(SHORT, sent(HEALTHY)).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_head_that_comes_byte_by_byte_has_no_more_time() -> None:
    async def talk(port: int) -> bytes:
        async with connected(port) as (reader, writer):
            writer.write(b"GET /healthz HTTP/1.1\r\nX-A: ")
            end = asyncio.ensure_future(reader.read())
            while not end.done():
                writer.write(b"a")
                await asyncio.wait([end], timeout=0.005)
            with suppress(ConnectionError):
                return end.result()
            return b""

    assert served(Limits(head_seconds=0.1, look_seconds=0.02), talk) == b""


def test_who_reads_nothing_is_cut_off() -> None:
    async def talk(port: int) -> bytes:
        async with connected(port) as (_, writer):
            try:
                while True:
                    writer.write(LARGE)
                    await writer.drain()
            except ConnectionError:
                return b"cut off"

    assert served(SHORT, talk) == b"cut off"


def test_one_more_than_there_may_be_takes_the_place_of_the_one_that_is_idle_longest() -> None:
    async def talk(port: int) -> bytes:
        async with connected(port) as (first, _), connected(port) as second, connected(port) as third:
            assert await first.read() == b""
            for _, writer in (second, third):
                writer.write(HEALTHY)
            return await second[0].readline() + await third[0].readline()

    assert served(Limits(connections=2), talk) == b"HTTP/1.1 200 OK\r\n" * 2


def test_a_request_without_a_version_is_refused() -> None:
    assert b" 400 Bad Request\r\n" in served(LONG, sent(b"GET /healthz\r\n\r\n"))

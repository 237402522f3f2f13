"""Who watches is sent what changes, and who does not read is not buffered for."""

import asyncio
from typing import cast

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from stowplan.testing import make_node
from stowplan.web.questions import Asked
from stowplan.web.stream import COMMENT_TICKS, MOST_MISSED_TICKS, MOST_WATCHERS, EventsQuery, EventStream, Watcher
from tests.unit.web.sources import world

NODES = [make_node(f"n{number}").capacity(cpu="4").build() for number in range(2)]


class Transport:
    """A connection that can be cut."""

    def __init__(self) -> None:
        self.is_cut = False

    def abort(self) -> None:
        self.is_cut = True


class Request:
    """As much of a request as a watcher is known by."""

    def __init__(self) -> None:
        self.transport = Transport()


def enter(stream: EventStream) -> tuple[Watcher, Request]:
    request = Request()
    watcher = stream._enter(Asked(cast(web.Request, request), EventsQuery()))
    return watcher, request


def test_a_watcher_begins_with_a_full_picture_and_hears_of_changes() -> None:
    async def story() -> None:
        async with world(*NODES) as found:
            stream = EventStream(found.source)
            watcher, _ = enter(stream)
            assert b"event: nodes" in (await watcher.take() or b"")
            watcher.is_sending = False
            found.api.create(make_node("n9").capacity(cpu="4").build())
            await found.rest()
            stream.tick()
            assert b'"n9"' in (await watcher.take() or b"")
            stream.end()
            assert await watcher.take() is None

    asyncio.run(story())


def test_who_does_not_read_misses_ticks_and_is_told_everything_when_it_reads_again() -> None:
    async def story() -> None:
        async with world(*NODES) as found:
            stream = EventStream(found.source)
            watcher, _ = enter(stream)
            await watcher.take()
            for name in ("n8", "n9"):
                found.api.create(make_node(name).capacity(cpu="4").build())
                await found.rest()
                stream.tick()
                assert watcher.lot is None
            watcher.is_sending = False
            stream.tick()
            lot = await watcher.take() or b""
            assert lot.count(b"event: nodes") == 1
            assert b"event: scheduling" in lot
            stream.end()

    asyncio.run(story())


def test_who_never_reads_is_cut_off() -> None:
    async def story() -> None:
        async with world(*NODES) as found:
            stream = EventStream(found.source)
            watcher, request = enter(stream)
            await watcher.take()
            for _ in range(MOST_MISSED_TICKS):
                assert not request.transport.is_cut
                stream.tick()
            assert request.transport.is_cut
            stream.end()

    asyncio.run(story())


def test_now_and_then_there_is_a_comment_so_that_nobody_takes_the_connection_for_dead() -> None:
    async def story() -> None:
        async with world(*NODES) as found:
            stream = EventStream(found.source)
            watcher, _ = enter(stream)
            await watcher.take()
            watcher.is_sending = False
            for _ in range(COMMENT_TICKS):
                assert watcher.lot is None
                stream.tick()
            assert watcher.lot == b": still here\n\n"
            stream.end()

    asyncio.run(story())


@pytest.mark.parametrize("is_over", [pytest.param(False, id="too many"), pytest.param(True, id="it is over")])
def test_nobody_is_let_in_any_more(is_over: bool) -> None:
    async def story() -> None:
        async with world(*NODES) as found:
            stream = EventStream(found.source)
            if is_over:
                stream.end()
            else:
                for _ in range(MOST_WATCHERS):
                    enter(stream)
            asked = Asked(make_mocked_request("GET", "/events"), EventsQuery())
            assert (await stream.watch(asked)).status == 503
            stream.end()

    asyncio.run(story())

"""Whatever aiohttp's own server refuses to read as a request is refused here, too; what both read, both read alike."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from aiohttp import web

from stowplan.embedded.http.requests import RequestReader
from stowplan.embedded.objects.errors import StatusError
from tests.examples import PROFILE
from tests.integration.embedded.mutated_requests import SOUND, mutated

COUNT: Final = 10_000
#: How many turns of its loop aiohttp has to read what there is.
TURNS: Final = 20
#: So long that neither reader refuses for length, in which they differ on purpose.
LONGEST: Final = 60_000


@dataclass(slots=True)
class Outcome:
    """What a server made of some bytes: requests (method, target and body), and whether it refused the rest."""

    requests: list[tuple[str, str, bytes]] = field(default_factory=list)
    is_refused: bool = False
    #: Whether the client has said that nothing more is coming.
    is_over: bool = False


def ours(data: bytes, step: int) -> Outcome:
    outcome, reader = Outcome(), RequestReader()
    for start in range(0, len(data), step):
        reader.feed(data[start : start + step])
    try:
        while (request := reader.take()) is not None:
            outcome.requests.append((request.method, request.target, request.body))
            outcome.is_over = request.is_last
    except StatusError:
        outcome.is_refused = True
    return outcome


class InMemory(asyncio.Transport):
    """Takes what aiohttp writes."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self._is_closing = False

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        self._is_closing = True

    def abort(self) -> None:
        self.close()

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def theirs(data: bytes, step: int) -> Outcome:
    outcome = Outcome()

    async def handle(request: web.BaseRequest) -> web.Response:
        outcome.requests.append((request.method, request.raw_path, await request.read()))
        return web.Response()

    quiet = logging.Logger("aiohttp", level=logging.CRITICAL + 1)
    server = web.Server(handle, access_log=None, logger=quiet, max_line_size=LONGEST, max_field_size=LONGEST)
    protocol, transport = server(), InMemory()
    protocol.connection_made(transport)
    for start in range(0, len(data), step):
        if not transport.is_closing():
            protocol.data_received(data[start : start + step])
    for _ in range(TURNS):
        await asyncio.sleep(0)
    protocol.connection_lost(None)
    await asyncio.sleep(0)
    outcome.is_refused = b" 400 Bad Request\r\n" in transport.written
    return outcome


def origin_form(target: str) -> str:
    """A target without the name of the server."""
    if target == "*":
        return "/*"
    _, separator, rest = target.partition("://")
    return target if target.startswith("/") or not separator else f"/{rest.partition('/')[2]}"


async def differences(seeds: range) -> list[tuple[bytes, Outcome, Outcome]]:
    found = []
    for seed in seeds:
        data = mutated(seed)
        own, other = ours(data, len(data)), await theirs(data, len(data))
        if other.is_refused and own.requests:
            # If it gets more than one request at a time, it forgets the first if the second is wrong.
            other = await theirs(data, 1)
        assert own == ours(data, 3), data
        other.requests = [(method, origin_form(target), body) for method, target, body in other.requests]
        if not is_sound(own, other):
            found.append((data, own, other))
    return found


def is_sound(own: Outcome, other: Outcome) -> bool:
    """Whether we are no more lenient: we may refuse more, and earlier, but read nothing else."""
    if own.is_refused or own.is_over:
        # What follows the last request is not read at all, where aiohttp reads and refuses it.
        return own.requests == other.requests[: len(own.requests)]
    return not other.is_refused and own.requests == other.requests


def test_both_read_what_is_sound() -> None:
    for data in SOUND:
        assert ours(data, len(data)).requests, data
        assert not ours(data, len(data)).is_refused, data


@pytest.mark.at_length
def test_nothing_is_read_that_aiohttp_refuses_and_nothing_otherwise() -> None:
    first = int.from_bytes(random_bytes(), "big") if PROFILE == "new" else 0
    assert asyncio.run(differences(range(first, first + COUNT))) == []


def random_bytes() -> bytes:
    with open("/dev/urandom", "rb") as source:
        return source.read(6)

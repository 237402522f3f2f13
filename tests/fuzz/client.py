"""Carries out attacks: one connection each, and notes what came back."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Final

from tests.fuzz.attack import HOST, TOKEN, Attack, Ending

_STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
#: How long an attacker listens who does not know whether an answer comes.
_LISTENING_SECONDS: Final = 0.5
_UNREAD_SECONDS: Final = 1.5
_KEPT_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, and what it wants to be shown."""

    port: int
    pages_port: int
    token: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attack."""

    codes: tuple[int, ...]
    #: The beginning of what the server said.
    said: bytes
    seconds: float
    #: Whether an answer that had to come did not, within the time that there was.
    is_overdue: bool = False
    #: Whether the connection ended before the answer that had to come.
    is_cut_off: bool = False


async def carry_out(attack: Attack, address: Address, limit_seconds: float) -> Outcome:
    """Carry out an attack. Raise OSError if the server cannot be reached."""
    loop = asyncio.get_running_loop()
    port = address.pages_port if attack.is_to_pages else address.port
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    began = loop.time()
    said, is_overdue = b"", False
    try:
        try:
            async with asyncio.timeout(limit_seconds):
                await _send(attack, address, port, writer)
                said = await _listen(attack, reader)
        except TimeoutError:
            is_overdue = attack.ending is not Ending.UNREAD
        except OSError:
            # Refused while still sending: what the server said is gone with the connection.
            return Outcome((), b"", loop.time() - began)
    finally:
        writer.transport.abort()
    codes = statuses(said)
    is_cut_off = attack.ending is Ending.ANSWERED and not codes and not is_overdue
    return Outcome(codes, said, loop.time() - began, is_overdue, is_cut_off)


def statuses(said: bytes) -> tuple[int, ...]:
    """Return the codes of the answers in what a server said; what follows a stream is not looked at."""
    codes: list[int] = []
    place = 0
    while found := _STATUS_LINE.match(said, place):
        codes.append(int(found[1]))
        end = said.find(b"\r\n\r\n", place)
        if end < 0:
            break
        length = _LENGTH.search(said, place, end)
        place = end + 4 + (int(length[1]) if length else 0)
    return tuple(code for code in codes if code != 100)


async def _send(attack: Attack, address: Address, port: int, writer: asyncio.StreamWriter) -> None:
    for index, piece in enumerate(attack.pieces):
        if index and attack.pause_seconds:
            await asyncio.sleep(attack.pause_seconds)
        writer.write(piece.replace(HOST, b"127.0.0.1:%d" % port).replace(TOKEN, address.token.encode() or b"x"))
        await writer.drain()


async def _listen(attack: Attack, reader: asyncio.StreamReader) -> bytes:
    match attack.ending:
        case Ending.ANSWERED:
            return await _read(reader)
        case Ending.CUT:
            return b""
        case Ending.UNREAD:
            await asyncio.sleep(_UNREAD_SECONDS)
            return b""
    said = bytearray()
    try:
        async with asyncio.timeout(_LISTENING_SECONDS):
            while piece := await reader.read(65536):
                said += piece[: _KEPT_BYTES - len(said)]
    except TimeoutError:
        pass
    return bytes(said)


async def _read(reader: asyncio.StreamReader) -> bytes:
    said = bytearray()
    while piece := await reader.read(2**20):
        said += piece[: max(0, _KEPT_BYTES - len(said))]
    return bytes(said)

"""One attack: the bytes that go over one connection, and what the attacker does then."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

#: Stand for what is only known when the server runs.
HOST: Final = b"@HOST@"
TOKEN: Final = b"@TOKEN@"


class Ending(Enum):
    """What the attacker does after sending."""

    #: Waits for the answer, which has to come: the last request is complete and asks for the connection to be closed.
    ANSWERED = "answered"
    #: Reads what comes for a while; perhaps nothing does, because the server waits for more.
    LISTENS = "listens"
    #: Never reads, and closes after a while.
    UNREAD = "unread"
    #: Closes at once.
    CUT = "cut"


@dataclass(frozen=True, slots=True)
class Attack:
    """Pieces are sent one after the other, with a pause in between."""

    family: str
    pieces: tuple[bytes, ...]
    ending: Ending = Ending.ANSWERED
    pause_seconds: float = 0.0
    #: To the scheduler's pages instead of the API.
    is_to_pages: bool = False

    @property
    def first_line(self) -> str:
        return b"".join(self.pieces).partition(b"\r\n")[0].decode("latin-1")[:200]


def as_json(attack: Attack) -> dict[str, Any]:
    """Write an attack down."""
    return {
        "family": attack.family,
        "firstLine": attack.first_line,
        "pieces": [base64.b64encode(piece).decode() for piece in attack.pieces],
        "ending": attack.ending.value,
        "pauseSeconds": attack.pause_seconds,
        "toPages": attack.is_to_pages,
    }


def from_json(written: dict[str, Any]) -> Attack:
    """Read an attack that was written down."""
    return Attack(
        written["family"],
        tuple(base64.b64decode(piece) for piece in written["pieces"]),
        Ending(written["ending"]),
        written["pauseSeconds"],
        written["toPages"],
    )


def request(
    method: str, target: str, body: bytes | None = None, content_type: str = "", headers: tuple[str, ...] = ()
) -> bytes:
    """Return one complete request, after which the connection is to be closed."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {HOST.decode()}", "Connection: close"]
    if not any(header.lower().startswith("authorization:") for header in headers):
        lines.append(f"Authorization: Bearer {TOKEN.decode()}")
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join([*lines, *headers]) + "\r\n\r\n"
    return head.encode("latin-1", "replace") + (body or b"")

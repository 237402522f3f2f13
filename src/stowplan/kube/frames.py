"""The text of lists and watches: cut into events and items, without reading the objects in them.

Objects stay raw here, so that one that cannot be read spoils nothing but itself.
"""

from __future__ import annotations

import msgspec

from stowplan.kube.errors import Status

_FAULTS = (msgspec.DecodeError, UnicodeError, RecursionError)
_SHOWN_BYTES = 120
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class BrokenText(Exception):  # noqa: N818 - it reads as what it is: "except BrokenText"
    """What came is no list and no event: a proxy's page, or a line that was cut. Ask again."""


class Metadata(msgspec.Struct, rename="camel"):
    """As much of an object as is needed to go on without it."""

    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class Outline(msgspec.Struct):
    metadata: Metadata = msgspec.field(default_factory=Metadata)


class WatchEvent(msgspec.Struct):
    """`type` is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""

    type: str
    object: msgspec.Raw


class ListMetadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    next_page: str = msgspec.field(name="continue", default="")


class Page(msgspec.Struct):
    metadata: ListMetadata
    items: list[msgspec.Raw] | None = None


class Lines:
    """Puts pieces together to lines, however they were cut."""

    def __init__(self) -> None:
        self._start: list[bytes] = []

    def feed(self, piece: bytes) -> list[bytes]:
        """Take in a piece and return the lines that it completes."""
        first, *rest = piece.split(b"\n")
        if not rest:
            self._start.append(first)
            return []
        *whole, tail = rest
        lines = [b"".join((*self._start, first)), *whole]
        self._start = [tail] if tail else []
        return [line for line in lines if line.strip()]


def read_event(line: bytes) -> WatchEvent:
    try:
        return msgspec.json.decode(line, type=WatchEvent)
    except _FAULTS as fault:
        raise BrokenText(f"no watch event but {_shown(line)} ({fault})") from None


def read_page(body: bytes) -> Page:
    try:
        return msgspec.json.decode(body, type=Page)
    except _FAULTS as fault:
        raise BrokenText(f"no list but {_shown(body)} ({fault})") from None


def read_outline(data: bytes) -> Metadata:
    try:
        return msgspec.json.decode(data, type=Outline).metadata
    except _FAULTS as fault:
        raise BrokenText(f"no object but {_shown(data)} ({fault})") from None


def read_status(data: bytes) -> Status:
    try:
        return msgspec.json.decode(data, type=Status)
    except _FAULTS as fault:
        raise BrokenText(f"no status but {_shown(data)} ({fault})") from None


def _shown(data: bytes) -> str:
    return repr(data[:_SHOWN_BYTES].decode(errors="replace"))

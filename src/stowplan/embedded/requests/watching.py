"""Watches: what a request wants to follow, and the lines that are sent for what happens.

Changes that came while a line was on its way are sent together with the next one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from stowplan.embedded.objects.errors import StatusError, expired
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.requests import listing
from stowplan.embedded.requests.incoming import Form, Incoming
from stowplan.embedded.requests.listing import NOT_OLDER, Selection, invalid_option
from stowplan.embedded.requests.rendering import Rendering
from stowplan.embedded.requests.request import Target
from stowplan.embedded.storage.collection import FIRST
from stowplan.embedded.storage.store import Feed, Store, Stored, StoredChange, renumbered
from stowplan.embedded.storage.stored import ADDED, DELETED, MODIFIED, Kind

BOOKMARK_EVERY_SECONDS: Final = 60.0
_DEFAULT_TIMEOUT_SECONDS: Final = 3600
_LONGEST_TIMEOUT_SECONDS: Final = 24 * 3600
#: Of what changed meanwhile so many are looked at until others get their turn.
_CHANGES_PER_TURN: Final = 50
#: What is sent is sent in pieces of so much, so that little is held for whoever does not read.
_PIECE_BYTES: Final = 16 * 1024
_INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class Watch:
    """One watch, ready to be sent."""

    feed: Feed
    selection: Selection
    rendering: Rendering
    current: Callable[[], int]
    #: The version at which the watch was opened.
    opened_at: int
    #: What is there already, where the request wants to be told.
    initial: tuple[Stored, ...]
    has_bookmarks: bool
    marks_initial_end: bool
    timeout_seconds: float

    async def pieces(self) -> AsyncIterator[bytes]:
        """What to send, piece by piece, until the time is up or the watch has fallen behind."""
        lines = _Lines(self.rendering)
        for piece in in_pieces(lines.added(self.initial)):
            yield piece
            await self.feed.give_way()
        if self.marks_initial_end:
            yield lines.bookmark(self.opened_at, {_INITIAL_EVENTS_END: "true"})
        try:
            async for piece in self._changes(lines):
                yield piece
        except StatusError as error:
            yield error_line(error)

    async def _changes(self, lines: _Lines) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        end, bookmark_at = loop.time() + self.timeout_seconds, loop.time() + BOOKMARK_EVERY_SECONDS
        while True:
            changes = self.feed.drain(_CHANGES_PER_TURN)
            version, is_behind = self.current(), self.feed.is_behind
            for piece in in_pieces(lines.changed(self.selection, changes)):
                yield piece
            if is_behind and loop.time() < end:
                await self.feed.give_way()
                continue
            if loop.time() >= min(bookmark_at, end):
                if self.has_bookmarks and not is_behind:
                    yield lines.bookmark(version)
                bookmark_at = loop.time() + BOOKMARK_EVERY_SECONDS
            if loop.time() >= end:
                return
            await _wait(self.feed, min(bookmark_at, end) - loop.time())


def open_watch(store: Store, target: Target, request: Incoming, rendering: Rendering) -> Watch:
    """Begin a watch as a request asks. Raise StatusError if it cannot be done so."""
    sends_initial, version = _check(request), listing.read_version(request)
    selection = listing.select(target, request)
    namespace = target.namespace or None
    has_start = bool(version) and not sends_initial
    initial: tuple[Stored, ...] = ()
    if sends_initial or (sends_initial is None and not has_start):
        found = store.collection(target.resource).after(FIRST, namespace)
        initial = tuple(stored for stored in found if selection.matches(stored))
    if version and version > store.version:
        # The server has lost its data since; whoever watches has to list again.
        raise expired(f"too large resource version: {version}, current: {store.version}")
    since = version if version and has_start else store.version
    seconds = request.number("timeoutSeconds")
    return Watch(
        store.feed(target.resource, since, namespace),
        selection,
        rendering,
        lambda: store.version,
        store.version,
        initial,
        bool(request.flag("allowWatchBookmarks")),
        bool(sends_initial) and bool(request.flag("allowWatchBookmarks")),
        _DEFAULT_TIMEOUT_SECONDS if not seconds or seconds < 0 else min(seconds, _LONGEST_TIMEOUT_SECONDS),
    )


def error_line(error: StatusError) -> bytes:
    return msgspec.json.encode({"type": "ERROR", "object": error.status()}) + b"\n"


def in_pieces(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Join what is small; what is large stays as it is, because others may send it, too."""
    joined: list[bytes] = []
    size = 0
    for part in parts:
        if size and size + len(part) > _PIECE_BYTES:
            yield b"".join(joined)
            joined, size = [], 0
        joined.append(part)
        size += len(part)
    if joined:
        yield b"".join(joined) if len(joined) > 1 else joined[0]


class _Lines:
    """Writes the lines of one watch; a table names its columns only once."""

    def __init__(self, rendering: Rendering) -> None:
        self._rendering = rendering
        self._has_columns = False

    def added(self, objects: Iterable[Stored]) -> Iterator[bytes]:
        for stored in objects:
            yield from self._line(ADDED, stored)

    def changed(self, selection: Selection, changes: Iterable[StoredChange]) -> list[bytes]:
        parts: list[bytes] = []
        sees_all = selection.is_everything
        for change in changes:
            seen = (change.kind, change.stored) if sees_all else _seen(selection, change)
            if seen is not None:
                parts += self._line(*seen)
        return parts

    def bookmark(self, version: int, annotations: dict[str, str] | None = None) -> bytes:
        resource, is_table = self._rendering.resource, self._rendering.form is Form.TABLE
        metadata: Object = {"resourceVersion": str(version), "creationTimestamp": None}
        obj: Object = {
            "kind": "Table" if is_table else resource.kind,
            "apiVersion": "meta.k8s.io/v1" if is_table else resource.api_version,
            "metadata": metadata | ({"annotations": annotations} if annotations else {}),
        }
        if is_table:
            obj["columnDefinitions"], obj["rows"] = None, []
        return msgspec.json.encode({"type": "BOOKMARK", "object": obj}) + b"\n"

    def _line(self, kind: Kind, stored: Stored) -> tuple[bytes, ...]:
        if self._rendering.form is Form.TABLE:
            body = self._rendering.row(stored, with_columns=not self._has_columns)
            self._has_columns = True
        else:
            body = self._rendering.stored(stored)
        if len(body) > _PIECE_BYTES:
            return b'{"type":"%b","object":' % kind.encode(), body, b"}\n"
        return (b'{"type":"%b","object":%b}\n' % (kind.encode(), body),)


def _seen(selection: Selection, change: StoredChange) -> tuple[Kind, Stored] | None:
    """What a change is to one who sees only the selected objects."""
    did_match = change.before is not None and selection.matches(change.before)
    if change.kind == DELETED:
        return (DELETED, change.stored) if did_match else None
    if selection.matches(change.stored):
        return (MODIFIED if did_match else ADDED), change.stored
    if did_match and change.before is not None:
        # Shown as it was when it was last seen, under the version of the change.
        return DELETED, renumbered(change.before, change.version)
    return None


async def _wait(feed: Feed, seconds: float) -> None:
    """Wait for a change, but not longer than so many seconds."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(max(0, seconds)):
            await feed.wait()


def _check(request: Incoming) -> bool | None:
    """Whether what is there already is to be sent first; None if the request does not say."""
    sends_initial, match = request.flag("sendInitialEvents"), request.text("resourceVersionMatch")
    name = "resourceVersionMatch"
    if sends_initial is None:
        if match:
            problem = f"Forbidden: {name} is forbidden for watch unless sendInitialEvents is provided"
            raise invalid_option(name, problem)
        return None
    if match != NOT_OLDER:
        raise invalid_option(name, f"Forbidden: sendInitialEvents requires setting {name} to {NOT_OLDER}")
    return sends_initial

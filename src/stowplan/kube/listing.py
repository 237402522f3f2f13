"""Whole lists of a resource: in pages, or as the first part of a watch. And reading the objects, one by one.

An object that cannot be read is reported and left as it was last seen: one bad object must not hide all others.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from stowplan.kube import frames
from stowplan.kube.client import Client
from stowplan.kube.errors import ApiError
from stowplan.kube.frames import INITIAL_EVENTS_END, BrokenText, WatchEvent
from stowplan.kube.pool import Request
from stowplan.kube.resources import Resource
from stowplan.kube.store import Store, key_of
from stowplan.model.json_values import MalformedObject

_PAGE_SIZE = 500
_SILENCE_SECONDS = 60.0


@dataclass(slots=True)
class Found:
    """A whole list, and the version to watch from."""

    objects: dict[str, Any]
    version: str = ""
    pages: int = 0


class Reader:
    """Reads the objects of one resource into its store."""

    def __init__(self, resource: Resource, store: Store, report: Callable[[str], None]) -> None:
        self.resource = resource
        self._store, self._report = store, report

    def apply(self, event: WatchEvent) -> str:
        """Carry out a watch event and return the version it brings."""
        data = bytes(event.object)
        if event.type == "BOOKMARK":
            return frames.read_outline(data).resource_version
        read = self.read(data)
        if read is None:
            return frames.read_outline(data).resource_version
        if event.type in ("ADDED", "MODIFIED"):
            self._store.put(read)
        elif event.type == "DELETED":
            self._store.remove(read)
        else:
            raise BrokenText(f"no watch event of a known type but {event.type!r}")
        version: str = read.metadata.resource_version
        return version

    def read(self, data: bytes) -> Any | None:
        """Read an object; one that cannot be read is reported, and None."""
        try:
            return self.resource.decode(data)
        except MalformedObject as fault:
            self._report(f"{self.resource.name}: {fault}; until then its last readable version counts")
            return None

    def collect(self, objects: dict[str, Any], data: bytes) -> None:
        """Add an object to a list; one that cannot be read stands there as it was last seen."""
        read = self.read(data)
        key = key_of(read.metadata if read is not None else frames.read_outline(data))
        read = read if read is not None else self._store.objects.get(key)
        if read is not None:
            objects[key] = read


async def in_pages(client: Client, reader: Reader, version: str, *, is_paged: bool) -> Found:
    """List by pages; `version` "0" takes what the server has at hand, "" insists on the newest."""
    # With a limit, a version in between would be served from etcd; without one, the server's cache answers.
    size = _PAGE_SIZE if version in ("", "0") or is_paged else 0
    found = Found({})
    parameters = _parameters(reader, size, version=version)
    while True:
        try:
            body = await client.send(Request("GET", reader.resource.path, parameters, silence_seconds=_SILENCE_SECONDS))
        except ApiError as error:
            if not error.is_expired or "continue" not in parameters:
                raise
            # The pages were read too slowly: take it all at once.
            found, parameters = Found({}), _parameters(reader, 0, version=version)
            continue
        next_page = await _take_page(reader, found, body)
        if not next_page:
            return found
        parameters = _parameters(reader, size, next_page=next_page)


async def _take_page(reader: Reader, found: Found, body: bytes) -> str:
    page = frames.read_page(body)
    found.version, found.pages = page.metadata.resource_version, found.pages + 1
    for number, item in enumerate(page.items or ()):
        if number % _PAGE_SIZE == _PAGE_SIZE - 1:
            # A server may send everything in one page: others get their turn in between.
            await asyncio.sleep(0)
        reader.collect(found.objects, bytes(item))
    return page.metadata.next_page


def _parameters(reader: Reader, size: int, *, version: str = "", next_page: str = "") -> dict[str, str]:
    given = {
        "fieldSelector": reader.resource.field_selector,
        "limit": str(size) if size else "",
        "resourceVersion": version,
        "continue": next_page,
    }
    return {name: value for name, value in given.items() if value}


async def from_stream(reader: Reader, events: AsyncIterator[WatchEvent]) -> Found:
    """Collect the first events of a streamed list, up to the bookmark that ends it."""
    found = Found({})
    async for event in events:
        data = bytes(event.object)
        match event.type:
            case "ADDED" | "MODIFIED":
                reader.collect(found.objects, data)
            case "DELETED":
                found.objects.pop(key_of(frames.read_outline(data)), None)
            case "BOOKMARK":
                bookmark = frames.read_outline(data)
                if (bookmark.annotations or {}).get(INITIAL_EVENTS_END) == "true":
                    found.version = bookmark.resource_version
                    return found
            case "ERROR":
                raise ApiError("WATCH", reader.resource.path, frames.read_status(data))
            case _:
                raise BrokenText(f"no watch event of a known type but {event.type!r}")
    raise BrokenText("the streamed list ended before its last bookmark")

"""Lists and watches, read object by object into the store, which tells of each change.

A whole list comes in pages, or as the first part of a watch. Objects stay raw until each is read by itself: one that
cannot be read is reported and left as it was last seen, and hides no other. `informer.py` decides what is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec

from stowplan.kube.client import Client
from stowplan.kube.errors import ApiError, ApiStatus
from stowplan.kube.resources import ApiResource
from stowplan.kube.transport import ApiRequest
from stowplan.model import decode
from stowplan.model.json_values import MalformedObject
from stowplan.model.pod import Pod
from stowplan.model.shared_parts import SharedPodParts

T = TypeVar("T")

_PAGE_SIZE = 500
_SILENCE_SECONDS = 60.0

#: Told (None, new) for an object that appeared, (old, new) for one that changed, (old, None) for one that is gone.
Handler = Callable[[Any | None, Any | None], None]
_SHOWN_BYTES = 120
_CHANGES: Final = ("ADDED", "MODIFIED", "DELETED")
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(slots=True)
class Listed:
    """A whole list, and the version to watch from."""

    objects: dict[str, Any]
    version: str = ""
    pages: int = 0


@dataclass(slots=True)
class WatchedChange:
    """What a watch event brings: the object, None for a bookmark and for one that cannot be read; and its metadata."""

    type: str
    found: Any | None
    metadata: Any


class ResourceReader:
    """Reads the objects of one resource into its store."""

    def __init__(self, resource: ApiResource, store: WatchedObjects, report: Callable[[str], None]) -> None:
        self.resource = resource
        self._store, self._report = store, report
        self._parts = SharedPodParts()
        # Event and object at one go, where the object is of a known type: text is looked at once, not twice.
        known = resource.model
        self._whole = decode.decoder(EventOf[known]) if known is not None else None  # type: ignore[valid-type]

    def event(self, line: bytes) -> WatchedChange:
        """Read a watch event; raise ApiError if it tells of an error."""
        # An object whose text is kept is read by itself, for that text is the object's alone.
        if self._whole is not None and self.resource.keeps_text is None:
            try:
                whole = self._whole.decode(line)
            except decode.FAULTS:
                # It is read part by part, to say what is wrong with it.
                whole = None
            if whole is not None and whole.type in _CHANGES:
                return WatchedChange(whole.type, self._shared(whole.object), whole.object.metadata)
        event = read_as(WatchEvent, line, "watch event")
        data = bytes(event.object)
        if event.type == "ERROR":
            raise ApiError("WATCH", self.resource.path, read_as(ApiStatus, data, "status"))
        if event.type not in (*_CHANGES, "BOOKMARK"):
            raise BrokenText(f"no watch event of a known type but {event.type!r}")
        read = self.read(data) if event.type in _CHANGES else None
        return WatchedChange(event.type, read, read.metadata if read is not None else read_outline(data))

    def apply(self, change: WatchedChange) -> str:
        """Carry out what a watch event brings, and return the version it has."""
        if change.found is not None and change.type == "DELETED":
            self._store.remove(change.found)
        elif change.found is not None:
            self._store.put(change.found)
        version: str = change.metadata.resource_version
        return version

    def read(self, data: bytes) -> Any | None:
        """Read an object; one that cannot be read is reported, and None."""
        try:
            read = self.resource.decode(data)
        except MalformedObject as fault:
            self._report(f"{self.resource.name}: {fault}; until then its last readable version counts")
            return None
        return self._shared(read)

    def _shared(self, read: Any) -> Any:
        return self._parts.share(read) if isinstance(read, Pod) else read

    def collect(self, objects: dict[str, Any], data: bytes) -> None:
        """Add an object to a list, as `put_into` does."""
        read = self.read(data)
        self.put_into(objects, read, read.metadata if read is not None else read_outline(data))

    def put_into(self, objects: dict[str, Any], read: Any | None, metadata: Any) -> None:
        """Put an object into a list; one that cannot be read stands there as it was last seen."""
        key = key_of(metadata)
        read = read if read is not None else self._store.objects.get(key)
        if read is not None:
            objects[key] = read


async def in_pages(client: Client, reader: ResourceReader, version: str, *, is_paged: bool) -> Listed:
    """List by pages; `version` "0" takes what the server has at hand, "" insists on the newest."""
    # With a limit, a version in between would be served from etcd; without one, the server's cache answers.
    size = _PAGE_SIZE if version in ("", "0") or is_paged else 0
    found = Listed({})
    parameters = _parameters(reader, size, version=version)
    while True:
        try:
            body = await client.send(
                ApiRequest("GET", reader.resource.path, parameters, silence_seconds=_SILENCE_SECONDS)
            )
        except ApiError as error:
            if not error.is_expired or "continue" not in parameters:
                raise
            # The pages were read too slowly: take it all at once.
            found, parameters = Listed({}), _parameters(reader, 0, version=version)
            continue
        next_page = await _take_page(reader, found, body)
        if not next_page:
            return found
        parameters = _parameters(reader, size, next_page=next_page)


async def _take_page(reader: ResourceReader, found: Listed, body: bytes) -> str:
    page = read_as(ListPage, body, "list")
    found.version, found.pages = page.metadata.resource_version, found.pages + 1
    for number, item in enumerate(page.items or ()):
        if number % _PAGE_SIZE == _PAGE_SIZE - 1:
            # A server may send everything in one page: others get their turn in between.
            await asyncio.sleep(0)
        reader.collect(found.objects, bytes(item))
    return page.metadata.next_page


def _parameters(reader: ResourceReader, size: int, *, version: str = "", next_page: str = "") -> dict[str, str]:
    given = {
        "fieldSelector": reader.resource.field_selector,
        "limit": str(size) if size else "",
        "resourceVersion": version,
        "continue": next_page,
    }
    return {name: value for name, value in given.items() if value}


async def from_stream(reader: ResourceReader, changes: AsyncIterator[WatchedChange]) -> Listed:
    """Collect the first events of a streamed list, up to the bookmark that ends it."""
    found = Listed({})
    async for change in changes:
        if change.type == "DELETED":
            found.objects.pop(key_of(change.metadata), None)
        elif change.type != "BOOKMARK":
            reader.put_into(found.objects, change.found, change.metadata)
        elif (change.metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true":
            found.version = change.metadata.resource_version
            return found
    raise BrokenText("the streamed list ended before its last bookmark")


def key_of(metadata: Any) -> str:
    """`namespace/name`, or the name alone where there is no namespace."""
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else str(metadata.name)


class WatchedObjects:
    """The objects of one resource as they were last seen, by key.

    Only `put`, `remove` and `replace` change it, and each tells the handler. Every way to learn something ends here, so
    that no change is told twice and none out of order: what was seen before is the `old` of what is seen next.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        #: Read by others, changed here.
        self.objects: dict[str, Any] = {}

    def put(self, new: Any) -> None:
        """Take in an object that was added or changed; the same version again is nothing new."""
        key = key_of(new.metadata)
        old = self.objects.get(key)
        version = new.metadata.resource_version
        if old is not None and version and old.metadata.resource_version == version:
            return
        self.objects[key] = new
        self._handler(old, new)

    def remove(self, gone: Any) -> None:
        """Drop an object; nothing happens if it is not known."""
        old = self.objects.pop(key_of(gone.metadata), None)
        if old is not None:
            self._handler(old, None)

    def replace(self, found: Mapping[str, Any]) -> None:
        """Take over a whole list: what is new or changed first, then what is not there any more."""
        for new in found.values():
            self.put(new)
        for key in [key for key in self.objects if key not in found]:
            self._handler(self.objects.pop(key), None)


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


class EventOf(msgspec.Struct, Generic[T]):
    """A watch event together with its object."""

    type: str
    object: T


class ListMetadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    next_page: str = msgspec.field(name="continue", default="")


class ListPage(msgspec.Struct):
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


def read_as(kind: type[T], data: bytes, what: str) -> T:
    """Read what the server sent; raise BrokenText that names `what` it should have been."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as fault:
        shown = data[:_SHOWN_BYTES].decode(errors="replace")
        raise BrokenText(f"no {what} but {shown!r} ({fault})") from None


def read_outline(data: bytes) -> Metadata:
    return read_as(Outline, data, "object").metadata

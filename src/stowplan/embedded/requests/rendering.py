"""Objects and lists as they are sent: themselves, as a table, or only their metadata."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

import msgspec

from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.requests.incoming import Form
from stowplan.embedded.requests.listing import Page
from stowplan.embedded.storage import conversion
from stowplan.embedded.storage.stored import Stored
from stowplan.embedded.tables import table as tables

_ENCODER: Final = msgspec.json.Encoder()
#: How many objects are rendered while others wait.
_AT_A_TIME: Final = 200
_META: Final = "meta.k8s.io/v1"


class Rendering(msgspec.Struct, frozen=True):
    """How one request wants to see the objects of a resource."""

    resource: Resource
    form: Form
    now: Callable[[], datetime]
    #: How much of each object goes into a row of a table.
    include_object: str = ""

    def __post_init__(self) -> None:
        # Said before the first row: a watch that has begun can no longer be refused.
        if self.form is Form.TABLE:
            tables.check_included(self.include_object)

    def stored(self, stored: Stored) -> bytes:
        if self.form is Form.OBJECT:
            return conversion.bytes_to_serve(self.resource, stored)
        return self.obj(conversion.to_serve(self.resource, stored))

    def obj(self, obj: Object) -> bytes:
        if self.form is Form.TABLE and obj.get("kind") == self.resource.kind:
            return _ENCODER.encode(self._table([obj], {"resourceVersion": _version(obj)}))
        if self.form is Form.METADATA:
            return _ENCODER.encode(_partial(obj))
        return _ENCODER.encode(obj)

    def page(self, page: Page) -> bytes:
        return b"".join(self.parts(page))

    async def long_page(self, page: Page) -> bytes:
        """The same, while others get their turn."""
        parts = []
        for part in self.parts(page):
            parts.append(part)
            await asyncio.sleep(0)
        return b"".join(parts)

    def parts(self, page: Page) -> Iterator[bytes]:
        """A list, some objects at a time."""
        yield self._opening(page)
        for start in range(0, len(page.items), _AT_A_TIME):
            items = self._items(page.items[start : start + _AT_A_TIME])
            yield b"," + items if start else items
        yield b"]}"

    def row(self, stored: Stored, *, with_columns: bool) -> bytes:
        """An object as a table of its own, as watches send it; only the first has to name the columns."""
        obj = conversion.to_serve(self.resource, stored)
        table = self._table([obj], {"resourceVersion": _version(obj)})
        if not with_columns:
            table["columnDefinitions"] = None
        return _ENCODER.encode(table)

    def _opening(self, page: Page) -> bytes:
        if self.form is Form.TABLE:
            head, items = self._table([], page.metadata()), b"rows"
            del head["rows"]
        else:
            is_whole, items = self.form is Form.OBJECT, b"items"
            head = {
                "kind": self.resource.list_kind if is_whole else Form.METADATA_LIST.value,
                "apiVersion": self.resource.api_version if is_whole else _META,
                "metadata": page.metadata(),
            }
        return b'%b,"%b":[' % (_ENCODER.encode(head)[:-1], items)

    def _items(self, items: list[Stored]) -> bytes:
        if self.form is Form.OBJECT:
            return b",".join([conversion.bytes_to_serve(self.resource, stored) for stored in items])
        objects = [conversion.to_serve(self.resource, stored) for stored in items]
        shown = self._table(objects, {})["rows"] if self.form is Form.TABLE else [_partial(obj) for obj in objects]
        return _ENCODER.encode(shown)[1:-1]

    def _table(self, objects: list[Object], metadata: Object) -> Object:
        table = tables.as_table(self.resource, objects, self.now(), self.include_object)
        table["metadata"] = metadata
        return table


def _partial(obj: Object) -> Object:
    return {"kind": Form.METADATA.value, "apiVersion": _META, "metadata": obj.get("metadata", {})}


def _version(obj: Object) -> str:
    return str(obj.get("metadata", {}).get("resourceVersion", ""))

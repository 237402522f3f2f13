"""Objects and lists as they are sent: themselves, as a table, or only their metadata."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from stowplan.embedded import forms, tables
from stowplan.embedded.listing import Page
from stowplan.embedded.media import Form
from stowplan.embedded.resource import Object, Resource
from stowplan.embedded.stored import Stored

_ENCODER: Final = msgspec.json.Encoder()
_META: Final = "meta.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Rendering:
    """How one request wants to see the objects of a resource."""

    resource: Resource
    form: Form
    now: datetime
    #: How much of each object goes into a row of a table.
    include_object: str = ""

    def __post_init__(self) -> None:
        # Said before the first row: a watch that has begun can no longer be refused.
        if self.form is Form.TABLE:
            tables.check_included(self.include_object)

    def stored(self, stored: Stored) -> bytes:
        if self.form is Form.OBJECT:
            return forms.bytes_to_serve(self.resource, stored)
        return self.obj(forms.to_serve(self.resource, stored))

    def obj(self, obj: Object) -> bytes:
        if self.form is Form.TABLE and obj.get("kind") == self.resource.kind:
            return _ENCODER.encode(self._table([obj], {"resourceVersion": _version(obj)}))
        if self.form is Form.METADATA:
            return _ENCODER.encode(_partial(obj))
        return _ENCODER.encode(obj)

    def page(self, page: Page) -> bytes:
        if self.form is Form.OBJECT:
            return self._joined(page, self.resource.list_kind, self.resource.api_version)
        if self.form is Form.TABLE:
            objects = [forms.to_serve(self.resource, stored) for stored in page.items]
            return _ENCODER.encode(self._table(objects, page.metadata()))
        partial = Rendering(self.resource, Form.METADATA, self.now)
        return partial._joined(page, Form.METADATA_LIST.value, _META)

    def row(self, stored: Stored, *, with_columns: bool) -> bytes:
        """An object as a table of its own, as watches send it; only the first has to name the columns."""
        obj = forms.to_serve(self.resource, stored)
        table = self._table([obj], {"resourceVersion": _version(obj)})
        if not with_columns:
            table["columnDefinitions"] = None
        return _ENCODER.encode(table)

    def _joined(self, page: Page, kind: str, api_version: str) -> bytes:
        head = {"kind": kind, "apiVersion": api_version, "metadata": page.metadata()}
        items = b",".join([self.stored(stored) for stored in page.items])
        return b'%b,"items":[%b]}' % (_ENCODER.encode(head)[:-1], items)

    def _table(self, objects: list[Object], metadata: Object) -> Object:
        table = tables.as_table(self.resource, objects, self.now, self.include_object)
        table["metadata"] = metadata
        return table


def _partial(obj: Object) -> Object:
    return {"kind": Form.METADATA.value, "apiVersion": _META, "metadata": obj.get("metadata", {})}


def _version(obj: Object) -> str:
    return str(obj.get("metadata", {}).get("resourceVersion", ""))

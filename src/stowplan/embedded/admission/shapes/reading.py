"""Walks an object that does not fit at once: brings it into its usual form, or says in Go's words what is wrong.

The first mistake in the order of the document decides, as it does upstream.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from stowplan.embedded.objects.errors import bad_request
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.types.schema import JsonForm, Schema
from stowplan.model import base64_text
from stowplan.model.label_syntax import quoted
from stowplan.model.quantity import Quantity, QuantityError
from stowplan.model.quantity_text import WRONG_FORMAT

_SECONDS_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
_IS_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_BITS: Final = {JsonForm.INT32: 31, JsonForm.INT64: 63, JsonForm.INT_OR_TEXT: 31}
#: What a null in a list or a map stands for.
_ZERO: Final[dict[JsonForm, Callable[[], Any]]] = {
    JsonForm.STRUCT: dict,
    JsonForm.MAP: dict,
    JsonForm.LIST: list,
    JsonForm.TEXT: str,
    JsonForm.BYTES: str,
    JsonForm.FLAG: bool,
    JsonForm.QUANTITY: lambda: "0",
}


class _ValueError(ValueError):
    """The text is the whole complaint about one value."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value is: the field as Go's messages call it, and the path that a person would write."""

    #: The struct that the value is in.
    struct: str
    #: The way there, from the object on: `.spec.volumes.VolumeSource.emptyDir`.
    field: str = ""
    path: str = ""
    #: Shared by all places of one walk.
    unknown: list[str] = dataclasses.field(default_factory=list)

    def member(self, struct: str, name: str, embedded_in: str) -> _Place:
        path = f"{self.path}.{name}" if self.path else name
        return _Place(struct, f"{self.field}.{embedded_in}{name}", path, self.unknown)

    def item(self, index: object) -> _Place:
        return _Place(self.struct, self.field, f"{self.path}[{index}]", self.unknown)


def heading(resource: Resource) -> str:
    """How upstream begins a complaint about an object that it cannot decode."""
    return f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'


def read(resource: Resource, obj: Object, schema: Schema) -> list[str]:
    """Bring an object into its usual form, in place; return the paths of the fields that it should not have."""
    place = _Place(schema.struct_name)
    try:
        _read(obj, schema, place)
    except _ValueError as problem:
        raise bad_request(f"{heading(resource)}: {problem}") from None
    return place.unknown


def _read(value: Any, schema: Schema, place: _Place) -> Any:
    """The value in its usual form."""
    if value is None:
        return _ZERO.get(schema.form, int)()
    match schema.form:
        case JsonForm.STRUCT:
            return _read_struct(value, schema, place)
        case JsonForm.MAP | JsonForm.LIST:
            return _read_many(value, schema, place)
        case JsonForm.QUANTITY:
            return _read_quantity(value)
        case JsonForm.TIME | JsonForm.MICRO_TIME:
            return _read_time(value, schema, place)
        case JsonForm.INT32 | JsonForm.INT64 | JsonForm.INT_OR_TEXT | JsonForm.NUMBER:
            return _read_number(value, schema, place)
        case JsonForm.TEXT | JsonForm.BYTES:
            return _read_text(value, schema, place)
        case JsonForm.FLAG if not isinstance(value, bool):
            raise _cannot_unmarshal(value, schema, place)
    return value


def _read_struct(value: Any, schema: Schema, place: _Place) -> Any:
    if not isinstance(value, dict):
        raise _cannot_unmarshal(value, schema, place)
    for name, member in list(value.items()):
        known = schema.fields.get(name)
        where = place.member(schema.struct_name, name, known.embedded_in if known else "")
        if known is None:
            place.unknown.append(where.path)
        if known is None or member is None:
            del value[name]
            continue
        value[name] = _read(member, known, where)
        if known.is_omitted_empty and not value[name]:
            del value[name]
    return value


def _read_many(value: Any, schema: Schema, place: _Place) -> Any:
    items = schema.items
    if items is None or not isinstance(value, list if schema.form is JsonForm.LIST else dict):
        raise _cannot_unmarshal(value, schema, place)
    members = enumerate(value) if isinstance(value, list) else list(value.items())
    for key, member in members:
        value[key] = _read(member, items, place.item(key))
    return value


def _read_quantity(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _ValueError(WRONG_FORMAT)
    if isinstance(value, int) and value.bit_length() > 4096:
        raise _ValueError(WRONG_FORMAT)
    try:
        return str(Quantity.parse(str(value)))
    except QuantityError as error:
        raise _ValueError(str(error)) from None


def _read_time(value: Any, schema: Schema, place: _Place) -> str:
    if not isinstance(value, str):
        raise _cannot_unmarshal(value, schema, place)
    is_micro = schema.form is JsonForm.MICRO_TIME
    layout = _MICRO_LAYOUT if is_micro else _SECONDS_LAYOUT
    found = _IS_TIME.fullmatch(value)
    if found is None or (is_micro and len(found[1] or "") != 7):
        raise _ValueError(f'parsing time {quoted(value)} as "{layout}": cannot parse {quoted(value)} as "2006"')
    try:
        # More digits than Python keeps are cut.
        text = value.replace(found[1], found[1][:7], 1) if found[1] else value
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _ValueError(f"parsing time {quoted(value)}: out of range") from None
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds" if is_micro else "seconds") + "Z"


def _read_number(value: Any, schema: Schema, place: _Place) -> Any:
    if schema.form is JsonForm.INT_OR_TEXT and isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _cannot_unmarshal(value, schema, place)
    if schema.form is JsonForm.NUMBER:
        return value
    bound = 1 << _BITS[schema.form]
    if isinstance(value, float) or not -bound <= value < bound:
        raise _cannot_unmarshal(value, schema, place, f"number {_number_text(value)}")
    return value


def _read_text(value: Any, schema: Schema, place: _Place) -> str:
    if not isinstance(value, str):
        raise _cannot_unmarshal(value, schema, place)
    return _read_base64(value) if schema.form is JsonForm.BYTES else value


def _read_base64(text: str) -> str:
    try:
        return base64.b64encode(base64_text.decoded(text)).decode()
    except ValueError as error:
        raise _ValueError(str(error)) from None


def _number_text(value: float) -> str:
    if isinstance(value, int) and value.bit_length() > 4096:
        return "of more than a thousand digits"
    return json.dumps(value)


def _cannot_unmarshal(value: Any, schema: Schema, place: _Place, found: str = "") -> _ValueError:
    target = f"Go struct field {place.struct}{place.field}" if place.field else "Go value"
    return _ValueError(f"json: cannot unmarshal {found or _json_type(value)} into {target} of type {schema.go_name}")


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "number"

"""From a binary request body to the object that it stands for."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import msgspec

from stowplan.embedded.objects.releases import VERSIONS
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.types import release
from stowplan.embedded.types.schema import JsonForm, Schema, Wire
from stowplan.model import json_values
from stowplan.model.timestamps import format_micro_time, format_time

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
_TYPE, _CONTENT = 1, 2
_API_VERSION, _KIND = 1, 2
_KEY, _VALUE = 1, 2
_DEEPEST: Final = 100
#: Many times what an object of a megabyte has that anybody would write, and read in half a second.
MOST_FIELDS: Final = 200_000
#: What is around an object, and says of which kind it is, has four fields, and two.
_MOST_AROUND: Final = 100
_EMPTY: Final[tuple[Any, ...]] = ("", 0, False, None, {}, [])
#: What contains schemas of custom resources, whose messages contain each other; clients send those as JSON.
_JSON_ONLY: Final = "io.k8s.apiextensions-apiserver."
# Looked up once: each field of each message is asked for them.
_STRUCT, _MAP, _LIST = JsonForm.STRUCT, JsonForm.MAP, JsonForm.LIST
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_BYTES: Final = {_FIXED64: 8, _FIXED32: 4}
_LONGEST_VARINT: Final = 10


class MalformedMessageError(ValueError):
    """The bytes are not a message."""


class Walk:
    """Goes through the messages of one body, and counts what it sees: the smallest field takes two bytes to send."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen = 0

    def fields(self, message: bytes) -> Iterator[tuple[int, int | bytes]]:
        """Each field's number and value; fixed-size numbers come as their bytes. Raise MalformedMessageError."""
        position = 0
        while position < len(message):
            self._seen += 1
            if self._seen > self._most:
                raise MalformedMessageError(f"it has more than {self._most} fields: send less, or send it as JSON")
            tag, position = _varint(message, position)
            number, kind = tag >> 3, tag & 7
            if kind == _VARINT:
                value, position = _varint(message, position)
                yield number, value
                continue
            if kind == _BYTES:
                size, position = _varint(message, position)
            elif kind in _FIXED_BYTES:
                size = _FIXED_BYTES[kind]
            else:
                raise MalformedMessageError(f"field {number} has the unknown wire type {kind}")
            if position + size > len(message):
                raise MalformedMessageError(f"field {number} ends after the message does")
            yield number, message[position : position + size]
            position += size


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = 0
    for index in range(_LONGEST_VARINT):
        if position + index >= len(message):
            break
        byte = message[position + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position + index + 1
    raise MalformedMessageError("a number does not end")


def is_binary(body: bytes) -> bool:
    """Whether a body begins like an object in protobuf."""
    return body.startswith(_MAGIC)


def read(body: bytes) -> Object:
    """Read an object. Raise MalformedMessageError if it cannot be read, or is of a kind that is not known."""
    if not is_binary(body):
        raise MalformedMessageError("the body does not begin like a Kubernetes object in protobuf")
    around = Walk(_MOST_AROUND)
    parts = dict(around.fields(body[len(_MAGIC) :]))
    header = dict(around.fields(_bytes(parts.get(_TYPE, b""))))
    api_version, kind = _text(header.get(_API_VERSION, b"")), _text(header.get(_KIND, b""))
    schema = _known(api_version, kind)
    if schema is None or schema.name.startswith(_JSON_ONLY):
        raise MalformedMessageError(f'{kind} of "{api_version}" cannot be read from protobuf: send it as JSON')
    content = _message(schema, schema.wire, _bytes(parts.get(_CONTENT, b"")), 0, Walk(MOST_FIELDS))
    return {"apiVersion": api_version, "kind": kind, **content}


def _known(api_version: str, kind: str) -> Schema | None:
    """The type of a kind in the newest release that has it: a field keeps its number for good."""
    for number in reversed(VERSIONS):
        name = release.name_of(api_version, kind, number)
        if name is not None:
            return release.type_named(name, number)
    return None


def _message(schema: Schema, wire: Wire, data: bytes, depth: int, walk: Walk) -> Object:
    if depth > _DEEPEST:
        raise MalformedMessageError("the object is nested too deeply")
    fields = schema.fields
    result: Object = {}
    for number, raw in walk.fields(data):
        name = wire.get(number)
        if name is None:
            continue
        if not isinstance(name, str):
            # A message that has no name of its own in JSON.
            result.update(_message(schema, name, _bytes(raw), depth + 1, walk))
            continue
        field = fields[name]
        form = field.form
        if form is _MAP:
            key, value = _entry(field.of_items, raw, depth, walk)
            result.setdefault(name, {})[key] = value
        elif form is _LIST:
            result.setdefault(name, []).append(_value(field.of_items, raw, depth, walk))
        else:
            value = _value(field, raw, depth, walk)
            if field.is_pointer or value not in _EMPTY:
                result[name] = value
    return result


def _entry(items: Schema, raw: int | bytes, depth: int, walk: Walk) -> tuple[str, Any]:
    parts = dict(walk.fields(_bytes(raw)))
    return _text(parts.get(_KEY, b"")), _value(items, parts.get(_VALUE, b""), depth, walk)


def _value(schema: Schema, raw: int | bytes, depth: int, walk: Walk) -> Any:
    form = schema.form
    read_simple = _SIMPLE.get(form)
    if read_simple is not None:
        return read_simple(raw)
    if form is _STRUCT:
        return _message(schema, schema.wire, _bytes(raw), depth + 1, walk)
    return _SMALL[form](raw, walk)


def _bytes(raw: int | bytes) -> bytes:
    if isinstance(raw, int):
        raise MalformedMessageError("a number is where a message or text should be")
    return raw


def _number(raw: int | bytes) -> int:
    if isinstance(raw, bytes):
        raise MalformedMessageError("a message or text is where a number should be")
    # Negative ones are sent as if 64 bits had no sign.
    return raw - (1 << 64) if raw >= 1 << 63 else raw


def _text(raw: int | bytes) -> str:
    try:
        return _bytes(raw).decode()
    except UnicodeDecodeError as error:
        raise MalformedMessageError(f"text that is not UTF-8: {error}") from None


def _double(raw: int | bytes) -> float:
    data = _bytes(raw)
    if len(data) != 8:
        raise MalformedMessageError("a floating-point number does not have eight bytes")
    return float(struct.unpack("<d", data)[0])


def _time(written: Callable[[datetime], str], raw: int | bytes, walk: Walk) -> str | None:
    parts = dict(walk.fields(_bytes(raw)))
    if not parts:
        return None
    seconds, nanoseconds = _number(parts.get(1, 0)), _number(parts.get(2, 0))
    try:
        return written(_EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1000))
    except OverflowError:
        raise MalformedMessageError("a time is too far from now to be written") from None


def _int_or_text(raw: int | bytes, walk: Walk) -> int | str:
    parts = dict(walk.fields(_bytes(raw)))
    return _text(parts.get(3, b"")) if _number(parts.get(1, 0)) else _number(parts.get(2, 0))


def _only_text(raw: int | bytes, walk: Walk) -> str:
    """A message whose one field is text, such as a quantity."""
    return _text(dict(walk.fields(_bytes(raw))).get(1, b""))


def _items(raw: int | bytes, walk: Walk) -> list[str]:
    return [_text(value) for number, value in walk.fields(_bytes(raw)) if number == 1]


def _json(raw: int | bytes, walk: Walk) -> Any:
    """JSON inside a message."""
    try:
        return json_values.read(_bytes(dict(walk.fields(_bytes(raw))).get(1, b"null")))
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedMessageError(f"JSON inside the message cannot be read: {error}") from None


_SIMPLE: Final[dict[JsonForm, Callable[[int | bytes], Any]]] = {
    JsonForm.BYTES: lambda raw: base64.b64encode(_bytes(raw)).decode(),
    JsonForm.FLAG: lambda raw: bool(_number(raw)),
    JsonForm.INT32: _number,
    JsonForm.INT64: _number,
    JsonForm.NUMBER: _double,
    JsonForm.TEXT: _text,
}
#: Messages that are something simpler in JSON; a list is one where it is a member of a map.
_SMALL: Final[dict[JsonForm, Callable[[int | bytes, Walk], Any]]] = {
    JsonForm.ANY: _json,
    JsonForm.INT_OR_TEXT: _int_or_text,
    JsonForm.LIST: _items,
    JsonForm.MICRO_TIME: partial(_time, format_micro_time),
    JsonForm.QUANTITY: _only_text,
    JsonForm.TIME: partial(_time, format_time),
}

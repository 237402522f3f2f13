"""From a binary request body to the object that it stands for."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from stowplan.embedded.objects.resource import Object
from stowplan.embedded.protobuf import wire
from stowplan.embedded.protobuf.table import Field, message_of, messages
from stowplan.embedded.protobuf.wire import MalformedMessageError, Walk
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
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


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
    message = message_of(api_version, kind) or _common(kind)
    if message is None:
        raise MalformedMessageError(f'{kind} of "{api_version}" cannot be read from protobuf: send it as JSON')
    content = _message(message, _bytes(parts.get(_CONTENT, b"")), 0, Walk(MOST_FIELDS))
    return {"apiVersion": api_version, "kind": kind, **content}


def _common(kind: str) -> str | None:
    """The message of a kind that every group has, such as the options of a deletion."""
    return message_of("meta/v1", kind)


def _message(name: str, data: bytes, depth: int, walk: Walk) -> Object:
    if depth > _DEEPEST:
        raise MalformedMessageError("the object is nested too deeply")
    known = messages()[name]
    result: Object = {}
    for number, raw in walk.fields(data):
        field = known.get(number)
        if field is None:
            continue
        if field.is_map:
            key, value = _entry(field, raw, depth, walk)
            result.setdefault(field.name, {})[key] = value
        elif field.is_list:
            result.setdefault(field.name, []).append(_value(field.type, raw, depth, walk))
        else:
            _set(result, field, _value(field.type, raw, depth, walk))
    return result


def _set(result: Object, field: Field, value: Any) -> None:
    if not field.name:
        result.update(value)
    elif field.is_optional or value not in ("", 0, False, None, {}, []):
        result[field.name] = value


def _entry(field: Field, raw: int | bytes, depth: int, walk: Walk) -> tuple[str, Any]:
    parts = dict(walk.fields(_bytes(raw)))
    return _text(parts.get(_KEY, b"")), _value(field.type, parts.get(_VALUE, b""), depth, walk)


def _value(type_name: str, raw: int | bytes, depth: int, walk: Walk) -> Any:
    read_simple = _SIMPLE.get(type_name)
    if read_simple is not None:
        return read_simple(raw)
    read_small = _SMALL.get(type_name)
    if read_small is not None:
        return read_small(raw, walk)
    return _message(type_name, _bytes(raw), depth + 1, walk)


def _bytes(raw: int | bytes) -> bytes:
    if isinstance(raw, int):
        raise MalformedMessageError("a number is where a message or text should be")
    return raw


def _number(raw: int | bytes) -> int:
    if isinstance(raw, bytes):
        raise MalformedMessageError("a message or text is where a number should be")
    return wire.signed(raw)


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


def _moment(raw: int | bytes, walk: Walk) -> datetime | None:
    parts = dict(walk.fields(_bytes(raw)))
    if not parts:
        return None
    seconds, nanoseconds = _number(parts.get(1, 0)), _number(parts.get(2, 0))
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1000)
    except OverflowError:
        raise MalformedMessageError("a time is too far from now to be written") from None


def _time(raw: int | bytes, walk: Walk) -> str | None:
    moment = _moment(raw, walk)
    return None if moment is None else format_time(moment)


def _micro_time(raw: int | bytes, walk: Walk) -> str | None:
    moment = _moment(raw, walk)
    return None if moment is None else format_micro_time(moment)


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


_SIMPLE: Final[dict[str, Callable[[int | bytes], Any]]] = {
    "bool": lambda raw: bool(_number(raw)),
    "bytes": lambda raw: base64.b64encode(_bytes(raw)).decode(),
    "double": _double,
    "int": _number,
    "string": _text,
}
#: Messages that are something simpler in JSON.
_SMALL: Final[dict[str, Callable[[int | bytes, Walk], Any]]] = {
    "Duration": lambda raw, walk: _number(dict(walk.fields(_bytes(raw))).get(1, 0)),
    "Fields": _json,
    "IntOrString": _int_or_text,
    "Items": _items,
    "MicroTime": _micro_time,
    "Quantity": _only_text,
    "Raw": _json,
    "Time": _time,
}

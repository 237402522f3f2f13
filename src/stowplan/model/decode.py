"""From JSON to objects and back.

An object that cannot be read is a `MalformedObject` error naming it, the field and the remedy; a kind that scheduling
does not know is an `UnknownObject` value, for the caller to skip. `kinds.py` lists the known ones, `manifests.py` reads
YAML, and `json_values.py` what has no type yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from stowplan.model import json_values, manifests
from stowplan.model.json_values import MalformedObject as MalformedObject
from stowplan.model.kinds import KINDS
from stowplan.model.meta import ApiObject, Part
from stowplan.model.quantity import Quantity

T = TypeVar("T", bound=Part)

#: What a decoder raises about text that it cannot read.
FAULTS = (msgspec.DecodeError, UnicodeError, RecursionError)


class UnknownObject(msgspec.Struct, frozen=True):
    """An object of a kind that scheduling does not read: skip it, or use `content` as it is."""

    api_version: str
    kind: str
    name: str
    content: Mapping[str, Any]


def decode_as(kind: type[T], data: bytes | str) -> T:
    """Decode one JSON object known to be of that kind, whatever it calls itself: the items of a list say nothing."""
    try:
        decoded: T = decoder(kind).decode(data)
        return decoded
    except FAULTS as fault:
        problem = json_values.problem_of(fault)
    # Without a type, to say whose field is wrong; text that cannot even be read so is refused here.
    try:
        content = json_values.read(data)
    except FAULTS:
        raise MalformedObject(f"{kind.__name__}: {problem}; check what wrote it") from None
    return convert(kind, content)


def decode_yaml(text: str | bytes) -> list[ApiObject | UnknownObject]:
    """Decode every object of every YAML document; lists are expanded."""
    return [decode_object(content) for content in manifests.read(text)]


def decode_object(content: Any) -> ApiObject | UnknownObject:
    """Make an object of decoded JSON or YAML."""
    if not isinstance(content, Mapping):
        raise MalformedObject(f"expected an object, got {_type_name(content)}; write one with apiVersion and kind")
    heading = []
    for field in ("apiVersion", "kind"):
        value = content.get(field)
        if not isinstance(value, str) or not value:
            problem = f"{field}: expected a non-empty text, got {_type_name(value)}"
            raise MalformedObject(f"{json_values.title(content)}: {problem}; say what the object is")
        heading.append(value)
    version, kind_name = heading
    kind = KINDS.get((version, kind_name))
    if kind is None:
        return UnknownObject(version, kind_name, json_values.metadata_text(content, "name"), content)
    return convert(kind, content)


def convert(kind: type[T], content: Any) -> T:
    """Make an object of that kind of decoded JSON or YAML."""
    try:
        return msgspec.convert(content, kind, dec_hook=_read_custom)
    except FAULTS:
        # Slow, and only for objects with a null or a mistake in them.
        pass
    try:
        return msgspec.convert(_without_nulls(content, inspect.type_info(kind)), kind, dec_hook=_read_custom)
    except FAULTS as fault:
        title = json_values.title(content, kind.__name__)
        raise MalformedObject(f"{title}: {json_values.problem_of(fault)}; correct this field") from None


def encode(value: ApiObject | UnknownObject) -> bytes:
    return _encoder().encode(value.content if isinstance(value, UnknownObject) else value)


def to_builtins(value: ApiObject | UnknownObject) -> Any:
    """Write an object as dicts, lists, texts and numbers."""
    content = value.content if isinstance(value, UnknownObject) else value
    return msgspec.to_builtins(content, enc_hook=_write_custom)


def patched(found: Any, patch: Mapping[str, Any]) -> Any:
    """Lay a JSON merge patch over an object; raise MalformedObject if what comes out is none."""
    return convert(type(found), json_values.merge_patch(to_builtins(found), patch))


def _without_nulls(value: Any, shape: inspect.Type) -> Any:
    """Leave out the null fields of structs, which Go writes for empty lists, maps and pointers.

    A null inside a map or a list stays, and is refused on decoding: dropping a null entry of a node selector, say,
    would silently widen it.
    """
    if isinstance(shape, inspect.UnionType):
        # No union here has more than one member with nulls of its own to look for.
        shape = next((member for member in shape.types if isinstance(member, inspect.StructType)), shape)
    match shape, value:
        case inspect.StructType(), Mapping():
            fields = {field.encode_name: field.type for field in shape.fields}
            present = {name: member for name, member in value.items() if member is not None}
            return {
                name: _without_nulls(member, fields.get(name, inspect.AnyType())) for name, member in present.items()
            }
        case inspect.DictType(), Mapping():
            return {name: _without_nulls(member, shape.value_type) for name, member in value.items()}
        case inspect.VarTupleType(), list() | tuple():
            return [_without_nulls(member, shape.item_type) for member in value]
    return value


def _type_name(value: Any) -> str:
    return "null" if value is None else type(value).__name__


def _read_custom(kind: type, value: Any) -> Any:
    """Read a quantity from what people write: text or a number."""
    if kind is not Quantity:
        raise NotImplementedError(f"no way to read {kind.__name__} is defined in decode.py")
    text = value if type(value) is str else _number_text(value)
    try:
        return Quantity.parse(text)
    except ValueError as error:
        raise ValueError(f"Invalid quantity `{text[:80]}`: {error}") from None


def _number_text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"Expected a quantity such as `500m` or `2Gi`, got `{_type_name(value)}`")
    # Python refuses to write out integers far beyond this.
    if isinstance(value, int) and value.bit_length() > 4096:
        raise ValueError("Invalid quantity: a number of more than a thousand digits")
    return str(value)


def _write_custom(value: Any) -> Any:
    if isinstance(value, Quantity):
        return str(value)
    raise NotImplementedError(f"no way to write {type(value).__name__} is defined in decode.py")


@cache
def decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Return what reads JSON of a kind, or of something that objects are in; it raises one of FAULTS."""
    return msgspec.json.Decoder(kind, dec_hook=_read_custom, float_hook=json_values.number)


@cache
def _encoder() -> msgspec.json.Encoder:
    return msgspec.json.Encoder(enc_hook=_write_custom)

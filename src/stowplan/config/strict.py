"""Read JSON values against a schema, strictly: wrong types end the reading, unknown and repeated fields are noted.

Null counts as absent, and so does a field that is not there: the result has no entry for either.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Any, NamedTuple, assert_never

from stowplan.config import schema
from stowplan.config.document import Json, Number, Object, name_of, sound
from stowplan.model import duration

_INTEGER = re.compile(r"-?[0-9]{1,25}")
_FLOAT32_LARGEST = 3.4028235677973366e38
_MOST_FAULTS = 100


class MismatchError(Exception):
    """A value is of the wrong type or cannot be read; `field` is its path where the text does not name it."""

    #: The message says it all.
    remedy = ""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class Place(NamedTuple):
    """Where a value stands: the struct it is in, its field names (for mismatches), its full path (for faults)."""

    struct: str = ""
    fields: str = ""
    path: str = ""

    def field(self, struct: str, name: str) -> Place:
        dot = "." if self.fields else ""
        return Place(struct, f"{self.fields}{dot}{name}", f"{self.path}{'.' if self.path else ''}{name}")

    def item(self, index: int) -> Place:
        return self._replace(path=f"{self.path}[{index}]")


def read(record: schema.Record, value: Json) -> tuple[dict[str, Any], list[str]]:
    """Read a whole object; give its fields and the strict faults, or raise MismatchError at the first wrong type."""
    faults: list[str] = []
    found = _read(record, value, Place(), faults)
    return found or {}, list(dict.fromkeys(faults))[:_MOST_FAULTS]


def _read(kind: schema.Kind, value: Json, place: Place, faults: list[str]) -> Any:
    if value is None and not (isinstance(kind, schema.Span) and not kind.may_be_null):
        return None
    match kind:
        case schema.Record():
            return _record(kind, value, place, faults)
        case schema.Items():
            if not isinstance(value, list):
                raise _mismatch(kind, value, place)
            # A null among the items is a zero value, which an absent entry cannot be.
            return [_zero(kind.of, _read(kind.of, each, place.item(i), faults)) for i, each in enumerate(value)]
        case schema.TextMap():
            return _text_map(kind, value, place, faults)
        case schema.Opaque():
            return value
        case _:
            return _scalar(kind, value, place)


def _record(kind: schema.Record, value: Json, place: Place, faults: list[str]) -> dict[str, Any]:
    if not isinstance(value, Object):
        raise _mismatch(kind, value, place)
    found: dict[str, Any] = {}
    seen: set[str] = set()
    for name, each in value.members:
        at = place.field(kind.short_name, name)
        if name not in kind.fields:
            faults.append(f'unknown field "{at.path}"')
            continue
        if name in seen:
            faults.append(f'duplicate field "{at.path}"')
        seen.add(name)
        result = _read(kind.fields[name], each, at, faults)
        if result is not None:
            found[name] = result
    return found


def _text_map(kind: schema.TextMap, value: Json, place: Place, faults: list[str]) -> dict[str, str]:
    if not isinstance(value, Object):
        raise _mismatch(kind, value, place)
    found: dict[str, str] = {}
    for name, each in value.members:
        if name in found:
            faults.append(f'duplicate field "{place.path}.{name}"')
        found[name] = _read(schema.Text(), each, place, faults) or ""
    return found


def _zero(kind: schema.Kind, found: Any) -> Any:
    """Stand in for a null item."""
    if found is not None:
        return found
    return "" if isinstance(kind, schema.Text) else {}


_Scalar = schema.Text | schema.Flag | schema.Whole | schema.Real | schema.Span | schema.Bytes


def _scalar(kind: _Scalar, value: Json, place: Place) -> Any:
    match kind:
        case schema.Text() if isinstance(value, str):
            return sound(value)
        case schema.Flag() if isinstance(value, bool):
            return value
        case schema.Whole() if isinstance(value, Number):
            return _whole(kind, value, place)
        case schema.Real() if isinstance(value, Number):
            return _real(kind, value, place)
        case schema.Span() if value is None or isinstance(value, str):
            return _span(value or "", place)
        case schema.Bytes() if isinstance(value, str):
            return _base64(value, place)
        case schema.Text() | schema.Flag() | schema.Whole() | schema.Real() | schema.Span() | schema.Bytes():
            raise _mismatch(kind, value, place)
        case _:
            assert_never(kind)


def _whole(kind: schema.Whole, value: Number, place: Place) -> int:
    if _INTEGER.fullmatch(value.text):
        number = int(value.text)
        if -(2 ** (kind.bits - 1)) <= number < 2 ** (kind.bits - 1):
            return number
    raise _mismatch(kind, value, place, f"number {value.text}")


def _real(kind: schema.Real, value: Number, place: Place) -> float:
    number = float(value.text)
    if not math.isfinite(number) or abs(number) >= _FLOAT32_LARGEST:
        raise _mismatch(kind, value, place, f"number {value.text}")
    return number


def _span(text: str, place: Place) -> duration.Duration:
    try:
        return duration.parse(text)
    except ValueError as error:
        raise MismatchError(str(error), place.path) from None


def _base64(text: str, place: Place) -> str:
    try:
        base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError) as error:
        raise MismatchError(f"illegal base64 data: {error}", place.path) from None
    return text


def _mismatch(kind: schema.Kind, value: Json, place: Place, shown: str = "") -> MismatchError:
    target = f"struct field {place.struct}.{place.fields}" if place.struct else "value"
    return MismatchError(f"json: cannot unmarshal {shown or name_of(value)} into Go {target} of type {kind.type_name}")

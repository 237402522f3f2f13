"""Values of custom resources as rules see them: typed by their schema, with names that CEL can spell."""

from __future__ import annotations

import base64
import binascii
import re
import sys
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from stowplan.embedded.custom import formats
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.model import duration
from stowplan.model.remembering import remember
from stowplan.model.timestamps import parse_time

_RESERVED: Final = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if"),
        *("import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_STRING: Final = {"type": "string"}
#: What rules may read of any object, whatever its schema says.
_OBJECT: Final = {
    "apiVersion": _STRING,
    "kind": _STRING,
    "metadata": {"type": "object", "properties": {"name": _STRING, "generateName": _STRING}},
}
_CHARACTERS_A_NODE: Final = 64


@remember(2**20)
def escaped(name: str) -> str | None:
    """Return how rules spell the name of a property; None for one that they cannot spell."""
    if name in _RESERVED:
        return f"__{name}__"
    if re.fullmatch(r"[A-Za-z_./-][A-Za-z0-9_./-]*", name) is None:
        return None
    return re.sub(r"__|[./-]", lambda found: _ESCAPES[found.group()], name)


def properties_of(schema: Object, *, is_root: bool) -> Object:
    """Return the properties of a schema that rules can read, by the names that they spell."""
    found = reading.mapping(schema, "properties")
    if is_root or schema.get("x-kubernetes-embedded-resource") is True:
        found = {**found, **_OBJECT}
    return {name: below for key, below in found.items() if (name := escaped(key)) is not None and is_typed(below)}


def is_typed(schema: Any) -> bool:
    """Say whether the type of a schema is known; what has none is out of the reach of rules."""
    if not isinstance(schema, dict):
        return False
    if schema.get("type") == "array":
        return is_typed(schema.get("items"))
    if isinstance(schema.get("additionalProperties"), dict):
        return is_typed(schema["additionalProperties"])
    return bool(schema.get("type")) or schema.get("x-kubernetes-int-or-string") is True


def converted(schema: Object, value: Any, *, is_root: bool = False) -> Any:
    """Return a value as rules see it."""
    if isinstance(value, str):
        return _text(schema, value)
    return _part(schema, value, is_root=is_root)


def size(value: Any) -> tuple[int, int]:
    """Return how many parts a value has, more for long strings, and how long the longest string is."""
    parts, longest, pending = 0, 0, [value]
    while pending:
        each = pending.pop()
        parts += 1
        if isinstance(each, str):
            parts += len(each) // _CHARACTERS_A_NODE
            longest = max(longest, len(each))
        elif isinstance(each, dict):
            pending.extend(each.values())
        elif isinstance(each, list):
            pending.extend(each)
    return parts, longest


def _part(schema: Object, value: Any, *, is_root: bool = False) -> Any:
    if isinstance(value, dict):
        return _mapping(schema, value, is_root)
    if isinstance(value, list):
        items = reading.mapping(schema, "items")
        return [_part(items, each) for each in value]
    if isinstance(value, str):
        found = _text(schema, value)
        # The library takes times as variables alone. Rules can hold these against each other, but not read them.
        return str(found) if isinstance(found, datetime | timedelta) else found
    if isinstance(value, int) and not isinstance(value, bool) and schema.get("type") == "number":
        # One that no float holds was stored before its definition said that it is a number.
        return float(max(-sys.float_info.max, min(value, sys.float_info.max)))
    if isinstance(value, float) and schema.get("type") == "integer":
        return int(value)
    return value


def _mapping(schema: Object, value: Object, is_root: bool) -> Object:
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        return {key: _part(additional, each) for key, each in value.items()}
    properties = reading.mapping(schema, "properties")
    if is_root or schema.get("x-kubernetes-embedded-resource") is True:
        properties = {**properties, **_OBJECT}
    found = {}
    for key, each in value.items():
        name, below = escaped(key), properties.get(key)
        if name is None or not isinstance(below, dict) or not is_typed(below):
            continue
        if each is None and below.get("nullable") is not True:
            continue
        found[name] = _part(below, each)
    return found


def _text(schema: Object, value: str) -> Any:
    try:
        match schema.get("format"):
            case "date-time":
                return parse_time(value.upper())
            case "date":
                return datetime.fromisoformat(value).replace(tzinfo=UTC)
            case "duration":
                return timedelta(microseconds=duration.parse(value).nanoseconds / 1000)
            case "byte" if formats.fits("byte", value):
                return base64.b64decode(value)
    except (ValueError, OverflowError, binascii.Error):
        return value
    return value

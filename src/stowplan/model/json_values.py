"""JSON without a type: read in a time that goes by its length alone, patched, and named where it is malformed.

msgspec itself takes a hundred times as long for a number near the ends of what a float can hold, such as 1e308, and
lets no other thread have a turn meanwhile: three megabytes of them would keep everybody waiting for eight seconds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

_WHERE = re.compile(r" - at (?:`key` in )?`\$\.?(.*)`$")


class MalformedObject(ValueError):  # noqa: N818 - it reads as what it is: "except MalformedObject"
    """An object with a field of the wrong type or form. The text names kind, object and field, and what to do."""


def number(text: str) -> float:
    """Read a number with a fraction or an exponent; the `float_hook` of every decoder that has values of any type."""
    value = float(text)
    if math.isinf(value):
        raise ValueError("Number out of range")
    return value


def read(data: bytes | bytearray | memoryview | str) -> Any:
    """Decode JSON. Raise ValueError or RecursionError."""
    return _ANY.decode(data)


def read_object(data: bytes | bytearray | memoryview | str) -> dict[str, Any]:
    """Decode JSON that is an object. Raise ValueError or RecursionError."""
    return _OBJECT.decode(data)


_ANY: Final = msgspec.json.Decoder(float_hook=number)
_OBJECT: Final = msgspec.json.Decoder(dict[str, Any], float_hook=number)


def merge_patch(target: Any, patch: Any) -> Any:
    """Lay a JSON merge patch (RFC 7386) over a value: objects are merged, null removes, everything else is replaced."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


def title(content: Any, kind: str = "") -> str:
    """Kind, namespace and name, as far as they can be read."""
    if not isinstance(content, Mapping):
        return kind or "object"
    declared = content.get("kind")
    kind = kind or (declared if isinstance(declared, str) else "") or "object"
    name, namespace = metadata_text(content, "name"), metadata_text(content, "namespace")
    return f"{kind} {namespace + '/' if namespace else ''}{name or '(unnamed)'}"


def metadata_text(content: Mapping[Any, Any], field: str) -> str:
    """A text of the metadata, "" if it is missing or no text."""
    metadata = content.get("metadata")
    value = metadata.get(field) if isinstance(metadata, Mapping) else None
    return value if isinstance(value, str) else ""


def problem_of(fault: Exception) -> str:
    """The fault as `path: what is wrong`."""
    if isinstance(fault, RecursionError):
        return "nested too deeply"
    text = str(fault)
    where = _WHERE.search(text)
    if where is None:
        return text
    return f"{where[1]}: {text[: where.start()]}" if where[1] else text[: where.start()]

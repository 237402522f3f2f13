"""JSON without a type: read in a time that goes by its length alone, patched, and named where it is malformed.

msgspec itself takes a hundred times as long for a number near the ends of what a float can hold, such as 1e308, and
lets no other thread have a turn meanwhile: three megabytes of them would keep everybody waiting for eight seconds.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

#: Of the paths of what is repeated.
_MOST_CHARACTERS: Final = 64 * 1024
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


def repeated(data: bytes) -> list[str]:
    """Where JSON gives a field of one object again, in the order of the text; the last one is what counts.

    What is not JSON repeats nothing. Of very much that is repeated, the first of it is told.
    """
    if _repeats_nothing(data):
        return []
    repeating: list[_Repeating] = []

    def noted(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            repeating.append(content := _Repeating(pairs))
        return content

    try:
        # What the numbers are is of no interest, and for some that takes long to work out.
        content = json.loads(data, object_pairs_hook=noted, parse_int=len, parse_float=len)
    except (ValueError, RecursionError):
        return []
    return _told(_given_again(content)) if repeating else []


def _repeats_nothing(data: bytes) -> bool:
    """Whether JSON gives no field twice for sure, in a third of the time: of every field there is one colon left.

    A colon that is spelled `\\u003a` would be one more.
    """
    try:
        return data.count(b":") == _ENCODER.encode(_ANY.decode(data)).count(b":") and b"\\u" not in data
    except (ValueError, OverflowError, RecursionError):
        # Among them numbers that are read, and cannot be written.
        return False


class _Repeating(dict[str, Any]):
    """An object that gives fields again."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


#: A place in a value: the place that it is in, and what it is called there. A name may be as long as the whole text.
_Place = tuple["_Place | None", str]


def _told(places: Iterator[_Place]) -> list[str]:
    paths: list[str] = []
    left = _MOST_CHARACTERS
    for place in places:
        paths.append(_path(place))
        left -= len(paths[-1])
        if left < 0:
            break
    return paths


def _path(place: _Place | None) -> str:
    names: list[str] = []
    while place is not None:
        place, name = place
        names.append(name)
    return "".join(reversed(names)).removeprefix(".")


def _given_again(content: Any) -> Iterator[_Place]:
    rest: list[tuple[_Place | None, Any, bool]] = [(None, content, False)]
    while rest:
        place, value, is_again = rest.pop()
        if is_again and place is not None:
            yield place
        if isinstance(value, dict):
            rest += reversed(list(_fields(place, value)))
        elif isinstance(value, list):
            rest += reversed([((place, f"[{index}]"), item, False) for index, item in enumerate(value)])


def _fields(above: _Place | None, value: dict[str, Any]) -> Iterator[tuple[_Place, Any, bool]]:
    """Where each field is, what is there, and whether it was there before; a third time is not told."""
    times: Counter[str] = Counter()
    for name, inside in value.pairs if isinstance(value, _Repeating) else value.items():
        times[name] += 1
        yield (above, f".{name}"), inside, times[name] == 2


_ANY: Final = msgspec.json.Decoder(float_hook=number)
_OBJECT: Final = msgspec.json.Decoder(dict[str, Any], float_hook=number)
_ENCODER: Final = msgspec.json.Encoder()


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

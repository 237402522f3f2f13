"""Lists that are sets have each entry once, lists that are maps each key once; found in linear time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from stowplan.embedded.custom.causes import duplicate, invalid_value
from stowplan.embedded.objects.errors import Cause
from stowplan.embedded.objects.resource import Object

_LIST_TYPE: Final = "x-kubernetes-list-type"
_TWICE: Final = 2
_SORTED: Final = msgspec.json.Encoder(order="sorted")


def problems(schema: Any, value: Any, field: str = "") -> Iterator[Cause]:
    """Complain of everything that a set or a map has more than once; of the second time alone, as upstream does."""
    if not isinstance(schema, dict):
        return
    if isinstance(value, dict):
        properties, additional = schema.get("properties"), schema.get("additionalProperties")
        for name, each in value.items():
            if isinstance(each, dict | list):
                if isinstance(properties, dict) and name in properties:
                    yield from problems(properties[name], each, f"{field}.{name}" if field else name)
                else:
                    yield from problems(additional, each, f"{field}[{name}]")
    elif isinstance(value, list):
        yield from _of_list(schema, value, field)
        for index, each in enumerate(value):
            if isinstance(each, dict | list):
                yield from problems(schema.get("items"), each, f"{field}[{index}]")


def keys_of(schema: Object, item: Any) -> Object:
    """Return the keys by which an item of a list that is a map goes."""
    names = schema.get("x-kubernetes-list-map-keys")
    listed = names if isinstance(names, list) else []
    return {name: item[name] for name in listed if name in item} if isinstance(item, dict) else {}


def identity(value: Any) -> bytes:
    """Return what is the same for values that are equal, and for no others."""
    return _SORTED.encode(value)


def _of_list(schema: Object, value: list[Any], field: str) -> Iterator[Cause]:
    match schema.get(_LIST_TYPE):
        case "set":
            yield from _repeated(value, field)
        case "map":
            for index, each in enumerate(value):
                if each is not None and not isinstance(each, dict):
                    problem = "must be an object for an array of list-type map"
                    yield invalid_value(f"{field}[{index}]", each, problem)
                    return
            yield from _repeated([keys_of(schema, each) for each in value], field)


def _repeated(entries: Sequence[Any], field: str) -> Iterator[Cause]:
    seen: dict[bytes, int] = {}
    for index, entry in enumerate(entries):
        found = identity(entry)
        seen[found] = seen.get(found, 0) + 1
        if seen[found] == _TWICE:
            yield duplicate(f"{field}[{index}]", entry)

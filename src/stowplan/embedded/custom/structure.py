"""Brings the objects of a custom resource into the form of its schema: unknown fields go, defaults come.

What is still wrong with them afterwards is for `object_validation` to say.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object

RULES: Final = "x-kubernetes-validations"
#: Every object has these, whatever its schema says.
_ALWAYS: Final = frozenset(("apiVersion", "kind", "metadata"))
#: How many levels of objects and lists an object or a definition may have.
MOST_LEVELS: Final = 200
#: How much defaults may add to an object, which may not take more than this as a whole.
MOST_FILLED_BYTES: Final = 1536 * 1024
_COSTLY: Final = ("default", "allOf", "anyOf", "oneOf", "not")
_PRESERVES: Final = "x-kubernetes-preserve-unknown-fields"
_IS_OBJECT: Final = "x-kubernetes-embedded-resource"


def is_too_deep(obj: Object, most: int = MOST_LEVELS) -> bool:
    """Say whether an object is nested deeper than it can be worked on."""
    level: list[Any] = [obj]
    for _ in range(most):
        level = [below for each in level for below in _below(each) if isinstance(below, dict | list)]
        if not level:
            return False
    return True


def unknown_fields(schema: Object, obj: Object) -> list[str]:
    """List the fields that the schema does not know, such as `spec.replicaz`."""
    return [field for field, _, _ in _unknown(schema, obj, "", is_object=True)]


def unknown_fields_below(schema: Object, value: Any) -> list[str]:
    """List the fields of a value within an object that its schema does not know."""
    return [field for field, _, _ in _unknown(schema, value, "", is_object=schema.get(_IS_OBJECT) is True)]


def prune(schema: Object, obj: Object) -> None:
    """Take the fields out that the schema does not know."""
    for _, parent, key in list(_unknown(schema, obj, "", is_object=True)):
        del parent[key]


def fill_in(schema: Object, obj: Object, most_bytes: int = MOST_FILLED_BYTES) -> bool:
    """Set the defaults of the schema wherever a value is missing, or is null where it must not be.

    Say whether that is done: each of a hundred thousand items may lack a hundred kilobytes, and it ends before that.
    """
    filling = _Filling(most_bytes)
    filling.fill(schema, obj)
    return filling.bytes_left >= 0


def levels(schema: Any) -> Iterator[Object]:
    """Yield a schema and all below it: of properties, of entries of maps, of items."""
    if isinstance(schema, dict):
        yield schema
        for below in (*_properties(schema).values(), schema.get("additionalProperties"), schema.get("items")):
            yield from levels(below)


def has_rules(schema: Any) -> bool:
    """Say whether a schema has rules on any level."""
    return any(each.get(RULES) for each in levels(schema))


def costly_bytes(schema: Any) -> int:
    """Say how much JSON of a schema is defaults and choices, on all levels, which few values may cost much by."""
    return sum(len(msgspec.json.encode(each[key])) for each in levels(schema) for key in _COSTLY if key in each)


class _Filling:
    """One object being filled in, and how much that may still be."""

    def __init__(self, most_bytes: int) -> None:
        self.bytes_left = most_bytes
        #: The fields with defaults of each schema that was met, and what they add to an object.
        self._known: dict[int, list[tuple[str, Object, int]]] = {}

    def fill(self, schema: Object, value: Any) -> None:
        if isinstance(value, dict):
            for key, below, size in self._defaults(schema):
                if key not in value or (value[key] is None and not below.get("nullable")):
                    self.bytes_left -= size
                    if self.bytes_left < 0:
                        return
                    value[key] = copy.deepcopy(below["default"])
            for key, each in value.items():
                self.fill(_property(schema, key) or {}, each)
        elif isinstance(value, list):
            for each in value:
                self.fill(reading.mapping(schema, "items"), each)

    def _defaults(self, schema: Object) -> list[tuple[str, Object, int]]:
        if id(schema) not in self._known:
            self._known[id(schema)] = [
                (key, below, len(msgspec.json.encode({key: below["default"]})))
                for key, below in _properties(schema).items()
                if "default" in below
            ]
        return self._known[id(schema)]


def _unknown(schema: Object, value: Any, path: str, *, is_object: bool) -> Iterator[tuple[str, Object, str]]:
    if isinstance(value, dict):
        for key, each in value.items():
            if is_object and key in _ALWAYS:
                continue
            field = f"{path}.{key}" if path else key
            below = _property(schema, key)
            if below is None and not _keeps_unknown(schema):
                yield field, value, key
                continue
            nested = schema if below is None else below
            yield from _unknown(nested, each, field, is_object=nested.get(_IS_OBJECT) is True)
    elif isinstance(value, list):
        # Below a field that keeps everything and says no more, everything is kept as well.
        items = schema if "items" not in schema and _keeps_unknown(schema) else reading.mapping(schema, "items")
        for index, each in enumerate(value):
            yield from _unknown(items, each, f"{path}[{index}]", is_object=items.get(_IS_OBJECT) is True)


def _below(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value


def _keeps_unknown(schema: Object) -> bool:
    return schema.get(_PRESERVES) is True or schema.get("additionalProperties") is True


def _properties(schema: Object) -> dict[str, Object]:
    return {key: each for key, each in reading.mapping(schema, "properties").items() if isinstance(each, dict)}


def _property(schema: Object, key: str) -> Object | None:
    """The schema of one property, and of one that only an entry of a map can be."""
    found = reading.mapping(schema, "properties").get(key)
    if not isinstance(found, dict):
        found = schema.get("additionalProperties")
    return found if isinstance(found, dict) else None

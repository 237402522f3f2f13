"""Lists of a status whose items are told apart by a key, as conditions are by their type: no item is without it.

Whoever looks for a condition, and whoever lays one list over another, goes by the key. `admission` refuses items that
lack it; what an older release has kept is mended when it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.types import release
from stowplan.embedded.types.schema import FREE, Schema

_STATUS: Final = "status"
#: A device that is shared has it, any other has not.
_OPTIONAL: Final = frozenset(("shareID",))


def keyless(resource: Resource, obj: Object) -> list[str]:
    """The keys that are missing in a status, by their paths, such as `status.conditions[0].type`."""
    status = obj.get(_STATUS)
    if resource.is_custom or not isinstance(status, dict):
        return []
    # Few say anything of the kind when they are new.
    if _names_with_keys(release.of_kind(resource) or FREE).isdisjoint(status):
        return []
    return [path for _, _, path in _walk(status, _status_of(resource), _STATUS)]


def drop_keyless(resource: Resource, obj: Object) -> list[str]:
    """Take items without their key out of a status; return the paths of what they lacked."""
    if resource.is_custom or _STATUS not in obj:
        return []
    found = list(_walk(obj[_STATUS], _status_of(resource), _STATUS))
    for values, item, _ in found:
        values[:] = [other for other in values if other is not item]
    return [path for _, _, path in found]


def _status_of(resource: Resource) -> Schema:
    return (release.of_kind(resource) or FREE).at(_STATUS)


def _walk(value: Any, schema: Schema, path: str) -> Iterator[tuple[list[Any], Any, str]]:
    """Each list with an item that lacks a key, and the path of that key."""
    if isinstance(value, dict):
        for name, below in _fields_with_keys(schema):
            if name in value:
                yield from _walk(value[name], below, f"{path}.{name}")
    elif isinstance(value, list) and (keys := _keys(schema)):
        for position, item in enumerate(value):
            missing = next((key for key in keys if not (isinstance(item, dict) and item.get(key))), None)
            if missing is not None:
                yield value, item, f"{path}[{position}].{missing}"
            else:
                yield from _walk(item, schema.of_items, f"{path}[{position}]")


@cache
def _fields_with_keys(schema: Schema) -> tuple[tuple[str, Schema], ...]:
    """The fields of a struct that are such lists, or contain them."""
    return tuple((name, each) for name, each in schema.fields.items() if _keys(each) or _fields_with_keys(each))


@cache
def _names_with_keys(kind: Schema) -> frozenset[str]:
    """The fields of the status of a kind that are such lists, or contain them."""
    return frozenset(name for name, _ in _fields_with_keys(kind.at(_STATUS)))


def _keys(schema: Schema) -> list[str]:
    """What an item of a list has to say of itself; what is filled in for it need not be said."""
    keys = schema.keys or ((schema.merge_key,) if schema.merge_key else ())
    return [key for key in keys if key not in schema.key_defaults and key not in _OPTIONAL]

"""Lists of a status whose items are told apart by a key, as conditions are by their type: no item is without it.

Whoever looks for a condition, and whoever lays one list over another, goes by the key. `admission` refuses items that
lack it; what an older release has kept is mended when it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching import merge_keys
from stowplan.embedded.patching.shapes import Shape

_STATUS: Final = "status"
_NESTED: Final = frozenset((dict, list)).__contains__
#: A device that is shared has it, any other has not.
_OPTIONAL: Final = frozenset(("shareID",))


def keyless(resource: Resource, obj: Object) -> list[str]:
    """The keys that are missing in a status, by their paths, such as `status.conditions[0].type`."""
    status = obj.get(_STATUS)
    if resource.is_custom or not (isinstance(status, dict) and any(map(_NESTED, map(type, status.values())))):
        return []
    return [path for _, _, path in _walk(status, merge_keys.shape_of(resource).at(_STATUS), _STATUS)]


def drop_keyless(resource: Resource, obj: Object) -> list[str]:
    """Take items without their key out of a status; return the paths of what they lacked."""
    if resource.is_custom or _STATUS not in obj:
        return []
    found = list(_walk(obj[_STATUS], merge_keys.shape_of(resource).at(_STATUS), _STATUS))
    for values, item, _ in found:
        values[:] = [other for other in values if other is not item]
    return [path for _, _, path in found]


def _walk(value: Any, shape: Shape, path: str) -> Iterator[tuple[list[Any], Any, str]]:
    """Each list with an item that lacks a key, and the path of that key."""
    if isinstance(value, dict):
        for name, below in shape.fields.items():
            if name in value:
                yield from _walk(value[name], below, f"{path}.{name}")
    elif isinstance(value, list) and (keys := _keys(shape)):
        for position, item in enumerate(value):
            missing = next((key for key in keys if not (isinstance(item, dict) and item.get(key))), None)
            if missing is not None:
                yield value, item, f"{path}[{position}].{missing}"
            else:
                yield from _walk(item, shape.of_items, f"{path}[{position}]")


def _keys(shape: Shape) -> list[str]:
    """What an item of a list has to say of itself; what is filled in for it need not be said."""
    keys = shape.keys or ((shape.merge_key,) if shape.merge_key else ())
    return [key for key in keys if key not in shape.key_defaults and key not in _OPTIONAL]

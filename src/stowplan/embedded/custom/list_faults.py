"""What is wrong with the lists of a schema that are sets or maps, in upstream's words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stowplan.embedded.custom.causes import forbidden, invalid_value, required, unsupported
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import Cause
from stowplan.embedded.objects.resource import Object

_LIST_TYPE: Final = "x-kubernetes-list-type"
_KEYS: Final = "x-kubernetes-list-map-keys"
_LIST_TYPES: Final = ("atomic", "set", "map")


def list_faults(schema: Object, path: str) -> Iterator[Cause]:
    """Yield what is wrong with a schema as one of a list."""
    kind = schema.get(_LIST_TYPE)
    if kind not in (None, *_LIST_TYPES):
        yield unsupported(f"{path}.{_LIST_TYPE}", kind, _LIST_TYPES)
    if schema.get(_KEYS) and kind != "map":
        what = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield invalid_value(f"{path}.{_LIST_TYPE}", kind, what) if kind else required(f"{path}.{_LIST_TYPE}", what)
    if kind in ("set", "map") and reading.mapping(schema, "items").get("nullable") is True:
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {kind}")
    if kind == "set":
        yield from _set_faults(reading.mapping(schema, "items"), path)
    if kind == "map":
        yield from _map_faults(schema, reading.mapping(schema, "items"), path)


def _set_faults(items: Object, path: str) -> Iterator[Cause]:
    problem = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and items.get(_LIST_TYPE) not in (None, "atomic"):
        yield invalid_value(f"{path}.items.{_LIST_TYPE}", items.get(_LIST_TYPE), problem)
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        # Upstream shows the type of the list here.
        yield invalid_value(f"{path}.items.x-kubernetes-map-type", items.get(_LIST_TYPE), problem)


def _map_faults(schema: Object, items: Object, path: str) -> Iterator[Cause]:
    keys = reading.texts(schema, _KEYS)
    if not keys:
        yield required(f"{path}.{_KEYS}", "must not be empty if x-kubernetes-list-type is map")
    if items.get("type") != "object":
        problem = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid_value(f"{path}.items.type", items.get("type", ""), problem)
        return
    properties, needed = reading.mapping(items, "properties"), reading.texts(items, "required")
    for index, key in enumerate(keys):
        if key not in properties:
            yield invalid_value(f"{path}.{_KEYS}", keys, "entries must all be names of item properties")
        if key in keys[:index]:
            yield invalid_value(f"{path}.{_KEYS}", keys, "must not contain duplicate entries")
    for key in keys:
        if key in properties:
            yield from _key_faults(reading.mapping(properties, key), f"{path}.items.properties[{key}]", key in needed)


def _key_faults(schema: Object, path: str, is_required: bool) -> Iterator[Cause]:
    if schema.get("type") in ("array", "object"):
        problem = "must be a scalar type if parent array's x-kubernetes-list-type is map"
        yield invalid_value(f"{path}.type", "object", problem)
    if not is_required and schema.get("default") is None:
        problem = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
        yield required(f"{path}.default", problem)
    if schema.get("nullable") is True:
        yield forbidden(f"{path}.nullable", "this property is in x-kubernetes-list-map-keys, so it cannot be nullable")

"""How custom resources are merged: their OpenAPI schema says it with `x-kubernetes-list-type` and its kin."""

from __future__ import annotations

from typing import Any

from stowplan.embedded.objects.resource import Object
from stowplan.embedded.patching.merge_keys import OBJECT_META
from stowplan.embedded.patching.shapes import FREE, PLAIN, ListKind, Shape


def shape_of(schema: Object | None) -> Shape:
    """Read the shape of a whole object from its schema; without one, lists are atomic."""
    whole = FREE if schema is None else _shape(schema)
    return Shape(fields={**whole.fields, "metadata": OBJECT_META}, is_free=whole.is_free)


def _shape(schema: Any) -> Shape:
    if not isinstance(schema, dict):
        return FREE
    match schema.get("type"):
        case "object":
            return _of_map(schema)
        case "array":
            return _of_list(schema)
        case None:
            return FREE
        case _:
            return PLAIN


def _of_map(schema: Object) -> Shape:
    properties = schema.get("properties")
    declared = properties if isinstance(properties, dict) else {}
    return Shape(
        fields={str(name): _shape(member) for name, member in declared.items()},
        is_atomic=schema.get("x-kubernetes-map-type") == "atomic",
        is_free=not declared,
    )


def _of_list(schema: Object) -> Shape:
    items = schema.get("items")
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return Shape(list_kind=ListKind.SET)
        case "map":
            keys = schema.get("x-kubernetes-list-map-keys")
            names = tuple(str(key) for key in keys) if isinstance(keys, list) else ()
            return Shape(items=_shape(items), list_kind=ListKind.MAP, keys=names, key_defaults=_defaults(items, names))
        case _:
            return PLAIN


def _defaults(items: Any, keys: tuple[str, ...]) -> Object:
    properties = items.get("properties") if isinstance(items, dict) else None
    declared = properties if isinstance(properties, dict) else {}
    members = {key: declared.get(key) for key in keys}
    return {
        key: member["default"] for key, member in members.items() if isinstance(member, dict) and "default" in member
    }

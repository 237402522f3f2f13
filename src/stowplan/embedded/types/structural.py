"""Reads a type from its schema in OpenAPI, which says with `x-kubernetes-list-type` and its kin how it is merged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from stowplan.embedded.objects.resource import Object
from stowplan.embedded.types.schema import FREE, JsonForm, ListType, PatchStrategy, Schema

REFERENCE: Final = "#/components/schemas/"
_LIST: Final = "[]"

Resolve = Callable[[str], Schema]


def read(schema: Any, resolve: Resolve, go_type: str = "") -> Schema:
    """Read a type: references lead to what `resolve` finds, and `go_type` is Go's name for it if that is known.

    Of what cannot be read as a type, nothing is known.
    """
    if not isinstance(schema, dict):
        return FREE
    name = referenced(schema)
    if name:
        found = resolve(name)
        is_atomic = found.is_atomic or schema.get("x-kubernetes-map-type") == "atomic"
        return replace(found, is_atomic=is_atomic, strategy=_strategy(schema))
    match schema.get("type"):
        case "array":
            return _read_list(schema, resolve, go_type)
        case "object":
            return _read_map(schema, resolve, go_type)
        case other:
            # What custom resources say may be no text.
            kind = str(other)
            plain = _PLAIN.get((kind, str(schema.get("format")))) or _PLAIN.get((kind, ""), FREE)
            return replace(plain, go_name=go_type) if go_type else plain


def referenced(schema: Object) -> str:
    """The name of the type that a schema refers to, or "" if it is one itself."""
    every = schema.get("allOf")
    inner = every[0] if isinstance(every, list) and len(every) == 1 and isinstance(every[0], dict) else schema
    return str(inner.get("$ref", "")).removeprefix(REFERENCE)


def _read_list(schema: Object, resolve: Resolve, go_type: str) -> Schema:
    # Go may have a name for the whole list.
    inner = go_type.removeprefix(_LIST)
    items = read(schema.get("items"), resolve, inner if inner != go_type else "")
    list_type = _LIST_TYPES.get(str(schema.get("x-kubernetes-list-type")), ListType.ATOMIC)
    listed = schema.get("x-kubernetes-list-map-keys") if list_type is ListType.MAP else None
    keys = tuple(str(key) for key in listed) if isinstance(listed, list) else ()
    defaults = {key: items.at(key).default for key in keys}
    return Schema(
        JsonForm.LIST,
        go_name=go_type or f"{_LIST}{items.go_name}",
        items=items,
        list_type=list_type,
        keys=keys,
        key_defaults={key: default for key, default in defaults.items() if default is not None},
        strategy=_strategy(schema),
        merge_key=schema.get("x-kubernetes-patch-merge-key", ""),
    )


def _read_map(schema: Object, resolve: Resolve, go_type: str) -> Schema:
    """Read a struct, or a map if the schema does not list its fields."""
    is_atomic = schema.get("x-kubernetes-map-type") == "atomic"
    declared = schema.get("properties")
    if isinstance(declared, dict) and declared:
        fields = {str(name): _read_field(member, resolve) for name, member in declared.items()}
        return Schema(JsonForm.STRUCT, fields=fields, is_atomic=is_atomic)
    if not isinstance(members := schema.get("additionalProperties"), dict):
        return replace(FREE, is_atomic=is_atomic)
    items = read(members, resolve, go_type.partition("]")[2])
    name = go_type or f"map[string]{items.go_name}"
    return Schema(JsonForm.MAP, go_name=name, items=items, is_atomic=is_atomic, is_free=True)


def _read_field(schema: Any, resolve: Resolve) -> Schema:
    found = read(schema, resolve)
    is_told = isinstance(schema, dict) and "default" in schema
    return replace(found, default=schema["default"]) if is_told else found


def _strategy(schema: Object) -> PatchStrategy:
    told = str(schema.get("x-kubernetes-patch-strategy", "")).split(",")
    return next(
        (each for each in (PatchStrategy.MERGE, PatchStrategy.REPLACE) if each.value in told), PatchStrategy.USUAL
    )


_LIST_TYPES: Final = {each.value: each for each in ListType}
#: By type and format.
_PLAIN: Final[dict[tuple[str, str], Schema]] = {
    ("string", ""): Schema(JsonForm.TEXT, go_name="string"),
    ("string", "byte"): Schema(JsonForm.BYTES, go_name="[]uint8"),
    ("integer", ""): Schema(JsonForm.INT64, go_name="int64"),
    ("integer", "int32"): Schema(JsonForm.INT32, go_name="int32"),
    ("number", ""): Schema(JsonForm.NUMBER, go_name="float64"),
    ("boolean", ""): Schema(JsonForm.FLAG, go_name="bool"),
}

"""Which nulls mean "absent": those of struct fields, which Go writes for empty lists, maps and pointers.

A null inside a map or a list stays, and is refused on decoding: dropping a null entry of a node selector, say, would
silently widen it. Walked only after decoding has failed, so that ordinary objects pay nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import inspect


def without_absent(content: Any, kind: type) -> Any:
    """Leave out the null fields of structs, wherever `kind` says that there are structs."""
    return _walk(content, inspect.type_info(kind))


def _walk(value: Any, shape: inspect.Type) -> Any:
    if isinstance(shape, inspect.UnionType):
        # No union here has more than one member with nulls of its own to look for.
        shape = next((member for member in shape.types if isinstance(member, inspect.StructType)), shape)
    match shape, value:
        case inspect.StructType(), Mapping():
            fields = {field.encode_name: field.type for field in shape.fields}
            present = {name: member for name, member in value.items() if member is not None}
            return {name: _walk(member, fields.get(name, inspect.AnyType())) for name, member in present.items()}
        case inspect.DictType(), Mapping():
            return {name: _walk(member, shape.value_type) for name, member in value.items()}
        case inspect.VarTupleType(), list() | tuple():
            return [_walk(member, shape.item_type) for member in value]
    return value

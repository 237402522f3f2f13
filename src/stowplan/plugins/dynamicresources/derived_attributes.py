"""What an expression that derives an attribute of a device comes to: an attribute, or upstream's words why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from stowplan.cel import values
from stowplan.model.device_pool import DeviceAttribute

# What CEL calls the types that attributes may have, and what upstream calls them.
_WORDS: Final = {"bool": "bool", "int": "int", "string": "string", values.VERSION: "semver"}
# What the types of values are called in upstream's language.
_GO_TYPES: Final = {
    "bool": "bool",
    "int": "int64",
    "UINT": "uint64",
    "double": "float64",
    "string": "string",
    "bytes": "[]uint8",
    "list": "[]ref.Val",
    "map": "map[ref.Val]ref.Val",
    "NULL": "structpb.NullValue",
    "DURATION": "time.Duration",
    "TIMESTAMP": "time.Time",
    values.VERSION: "semver.Version",
    values.QUANTITY: "*resource.Quantity",
}


def of(value: Any, kind: str) -> DeviceAttribute | str:
    """Return the attribute with a value, or why there cannot be one; `kind` is what the CEL library calls its type."""
    if isinstance(value, list):
        return _of_list(value)
    called = values.kind_of(value)
    if called not in _WORDS or kind == "UINT":
        return f"unsupported CEL return type: {_GO_TYPES.get(kind, _GO_TYPES.get(called, called))}"
    match called:
        case "bool":
            return DeviceAttribute(bool_value=value)
        case "int":
            return DeviceAttribute(int_value=value)
        case "string":
            return DeviceAttribute(string_value=value)
    return DeviceAttribute(version_value=value[values.VERSION])


def _of_list(listed: Sequence[Any]) -> DeviceAttribute | str:
    if not listed:
        return DeviceAttribute()
    kinds = [values.kind_of(each) for each in listed]
    if kinds[0] not in _WORDS:
        return f"unsupported list element type: {_GO_TYPES.get(kinds[0], kinds[0])}"
    for index, kind in enumerate(kinds):
        if kind != kinds[0]:
            return f"expected list element at index {index} to be {_WORDS[kinds[0]]}, got {_GO_TYPES.get(kind, kind)}"
    match kinds[0]:
        case "bool":
            return DeviceAttribute(bool_values=tuple(listed))
        case "int":
            return DeviceAttribute(int_values=tuple(listed))
        case "string":
            return DeviceAttribute(string_values=tuple(listed))
    return DeviceAttribute(version_values=tuple(each[values.VERSION] for each in listed))

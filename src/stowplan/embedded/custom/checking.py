"""What is wrong with an object by the schema of its definition, in upstream's words.

Rules in CEL (`x-kubernetes-validations`) are not evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from stowplan.embedded import reading
from stowplan.embedded.custom.causes import (
    duplicate,
    invalid_value,
    required,
    too_long,
    too_many,
    unsupported,
    wrong_type,
)
from stowplan.embedded.errors import Cause
from stowplan.embedded.resource import Object
from stowplan.model.timestamps import parse_time

_INT_OR_STRING: Final = "x-kubernetes-int-or-string"


def problems(schema: Object, obj: Object) -> list[Cause]:
    """List everything that is wrong with an object."""
    return list(_check(schema, obj, ""))


def _check(schema: Any, value: Any, field: str) -> Iterator[Cause]:
    if not isinstance(schema, dict) or (value is None and schema.get("nullable") is True):
        return
    wanted = "integer,string" if schema.get(_INT_OR_STRING) is True else schema.get("type")
    found = _type_name(value)
    if isinstance(wanted, str) and wanted and not _is_of_type(found, value, wanted):
        yield wrong_type(field, found, wanted)
        return
    choices = schema.get("enum")
    if isinstance(choices, list) and not any(_is_same(value, each) for each in choices):
        yield unsupported(field, value, choices)
    checker = _BY_TYPE.get(found)
    if checker is not None:
        yield from checker(schema, value, field)
    yield from _combined(schema, value, field)


def _check_object(schema: Object, value: Object, field: str) -> Iterator[Cause]:
    for name in _strings(schema.get("required")):
        if name not in value:
            yield required(_below(field, name))
    least, most = _number(schema, "minProperties"), _number(schema, "maxProperties")
    if least is not None and len(value) < least:
        yield invalid_value(field, len(value), f"{field} in body should have at least {least} properties")
    if most is not None and len(value) > most:
        yield too_many(field, len(value), int(most))
    properties = reading.mapping(schema, "properties")
    for name, each in value.items():
        # The server itself looks after the metadata of objects.
        if field or name != "metadata":
            yield from _check(properties.get(name, schema.get("additionalProperties")), each, _below(field, name))


def _check_array(schema: Object, value: list[Any], field: str) -> Iterator[Cause]:
    least, most = _number(schema, "minItems"), _number(schema, "maxItems")
    if least is not None and len(value) < least:
        yield invalid_value(field, len(value), f"{field} in body should have at least {least} items")
    if most is not None and len(value) > most:
        yield too_many(field, len(value), int(most))
    for index, each in enumerate(value):
        yield from _check(schema.get("items"), each, f"{field}[{index}]")
    yield from _check_unique(schema, value, field)


def _check_unique(schema: Object, value: list[Any], field: str) -> Iterator[Cause]:
    """Lists that are sets have each entry once; lists that are maps have each key once."""
    match schema.get("x-kubernetes-list-type"):
        case "set":
            identities = list(value)
        case "map":
            names = _strings(schema.get("x-kubernetes-list-map-keys"))
            identities = [{name: each.get(name) for name in names} for each in value if isinstance(each, dict)]
        case _:
            return
    for index, identity in enumerate(identities):
        if identity in identities[:index]:
            yield duplicate(f"{field}[{index}]", identity)


def _check_string(schema: Object, value: str, field: str) -> Iterator[Cause]:
    least, most, pattern = _number(schema, "minLength"), _number(schema, "maxLength"), schema.get("pattern")
    if least is not None and len(value) < least:
        yield invalid_value(field, value, f"{field} in body should be at least {least} chars long")
    if most is not None and len(value) > most:
        yield too_long(field, int(most))
    if isinstance(pattern, str) and re.search(pattern, value) is None:
        yield invalid_value(field, value, f"{field} in body should match '{pattern}'")
    if schema.get("format") == "date-time" and not _is_time(value):
        yield wrong_type(field, value, "date-time")


def _check_number(schema: Object, value: float, field: str) -> Iterator[Cause]:
    least, most, step = _number(schema, "minimum"), _number(schema, "maximum"), _number(schema, "multipleOf")
    if least is not None and schema.get("exclusiveMinimum") is True and value <= least:
        yield invalid_value(field, value, f"{field} in body should be greater than {least}")
    elif least is not None and value < least:
        yield invalid_value(field, value, f"{field} in body should be greater than or equal to {least}")
    if most is not None and schema.get("exclusiveMaximum") is True and value >= most:
        yield invalid_value(field, value, f"{field} in body should be less than {most}")
    elif most is not None and value > most:
        yield invalid_value(field, value, f"{field} in body should be less than or equal to {most}")
    if step and value % step:
        yield invalid_value(field, value, f"{field} in body should be a multiple of {step}")


def _combined(schema: Object, value: Any, field: str) -> Iterator[Cause]:
    for each in _schemas(schema, "allOf"):
        yield from _check(each, value, field)
    any_of, one_of, shown = _schemas(schema, "anyOf"), _schemas(schema, "oneOf"), field or "<nil>"
    if any_of and not any(_holds(each, value, field) for each in any_of):
        yield invalid_value(field, "", f'"{shown}" must validate at least one schema (anyOf)')
    if one_of and sum(_holds(each, value, field) for each in one_of) != 1:
        yield invalid_value(field, "", f'"{shown}" must validate one and only one schema (oneOf)')
    if isinstance(schema.get("not"), dict) and _holds(schema["not"], value, field):
        yield invalid_value(field, "", f'"{shown}" must not validate the schema (not)')


def _holds(schema: Object, value: Any, field: str) -> bool:
    return next(_check(schema, value, field), None) is None


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return next(name for kind, name in _TYPE_NAMES if isinstance(value, kind))


def _is_of_type(found: str, value: Any, wanted: str) -> bool:
    if found == "number" and wanted == "integer":
        return bool(value == int(value))
    return found in wanted.split(",") or (found == "integer" and wanted == "number")


def _is_same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and bool(value == other)


def _is_time(value: str) -> bool:
    try:
        return "T" in value.upper() and parse_time(value) is not None
    except ValueError:
        return False


def _below(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name


def _number(schema: Object, name: str) -> int | float | None:
    found = schema.get(name)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None


def _strings(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _schemas(schema: Object, name: str) -> list[Object]:
    found = schema.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


_TYPE_NAMES: Final[tuple[tuple[type, str], ...]] = (
    (dict, "object"),
    (list, "array"),
    (str, "string"),
    (int, "integer"),
    (float, "number"),
)
_BY_TYPE: Final[dict[str, Callable[[Object, Any, str], Iterator[Cause]]]] = {
    "object": _check_object,
    "array": _check_array,
    "string": _check_string,
    "integer": _check_number,
    "number": _check_number,
}

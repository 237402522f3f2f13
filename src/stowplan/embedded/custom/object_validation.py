"""What is wrong with an object by the schema of its definition, in upstream's words.

`problems` walks the schema; `repetitions` finds in linear time what a list that is a set, or a map, has twice.
`rule_check` asks what definitions say in CEL.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from stowplan.embedded.custom import formats
from stowplan.embedded.custom.causes import (
    bounded,
    duplicate,
    invalid,
    invalid_value,
    required,
    too_long,
    too_many,
    unsupported,
    wrong_type,
)
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import Cause
from stowplan.embedded.objects.resource import Object

_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
#: The largest and the smallest number of a format; a float's are those of single precision.
_RANGES: Final[dict[Any, tuple[float, float]]] = {
    "int32": (2**31 - 1, -(2**31)),
    "float": (3.4028234663852886e38, -3.4028234663852886e38),
}
#: What checking one object may cost: one for each schema that a value is held against, for a pattern its weight,
#: and more where a text is long.
MOST_COST: Final = 250_000
#: Choices and required names that cost one together, and characters of a value or a message that do.
_CHEAP: Final = 10
_CHARACTERS: Final = 100
#: Choices that are looked through one by one.
_FEW: Final = 16
_UNKNOWN: Final = object()
_TYPE_NAMES: Final[tuple[tuple[type, str], ...]] = (
    (dict, "object"),
    (list, "array"),
    (str, "string"),
    (int, "integer"),
    (float, "number"),
)
_LIST_TYPE: Final = "x-kubernetes-list-type"
_TWICE: Final = 2
_SORTED: Final = msgspec.json.Encoder(order="sorted")


def problems(schema: Object, obj: Object, before: Object | None = None, most_cost: int = MOST_COST) -> list[Cause]:
    """List everything that is wrong with an object; what was wrong with it `before` already may stay as it is."""
    walk = _Walk(most_cost)
    found = bounded(walk.check(schema, obj, "", _UNKNOWN if before is None else before))
    if walk.cost_left < 0:
        what = "validation stopped: the object has too many values for the schema and patterns of its definition"
        return [*found, invalid_value("", "", what)]
    return found


class _Walk:
    """One object being checked, and what that may still cost."""

    def __init__(self, most_cost: int) -> None:
        self.cost_left = most_cost
        self._choices: dict[int, frozenset[bytes]] = {}

    def check(self, schema: Any, value: Any, field: str, before: Any = _UNKNOWN) -> Iterator[Cause]:
        self.cost_left -= 1
        if not isinstance(schema, dict) or (value is None and schema.get("nullable") is True) or self.cost_left < 0:
            return
        # What does not change is not refused for what it has been all along.
        if before is not _UNKNOWN and value == before and identity(value) == identity(before):
            return
        wanted = "integer,string" if schema.get(_INT_OR_STRING) is True else schema.get("type")
        found = _type_name(value)
        if isinstance(wanted, str) and wanted and not _is_of_type(found, value, wanted):
            yield wrong_type(field, found, wanted)
            return
        choices = schema.get("enum")
        if isinstance(choices, list) and not self._is_choice(choices, value):
            yield unsupported(field, value, choices)
        checker = _BY_TYPE.get(found)
        if checker is not None:
            yield from checker(self, schema, value, field, before)
        yield from _combined(self, schema, value, field)

    def _is_choice(self, choices: list[Any], value: Any) -> bool:
        if len(choices) <= _FEW:
            return any(type(value) is type(each) and value == each for each in choices)
        if id(choices) not in self._choices:
            self.cost_left -= len(choices) // _CHEAP
            self._choices[id(choices)] = frozenset(map(identity, choices))
        found = identity(value)
        self.cost_left -= len(found) // _CHARACTERS
        return found in self._choices[id(choices)]


def _check_object(walk: _Walk, schema: Object, value: Object, field: str, before: Any) -> Iterator[Cause]:
    needed = schema.get("required")
    if isinstance(needed, list):
        walk.cost_left -= len(needed) // _CHEAP
        for name in needed:
            if isinstance(name, str) and name not in value:
                yield required(_below(field, name))
    yield from _check_count(schema, "Properties", len(value), field)
    if schema.get(_EMBEDDED) is True:
        yield from _check_embedded(value, field)
    properties = reading.mapping(schema, "properties")
    for name, each in value.items():
        # The server itself looks after the metadata of objects.
        if field or name != "metadata":
            below = properties.get(name, schema.get("additionalProperties"))
            yield from walk.check(below, each, _below(field, name), _property(before, name, field))


def _check_embedded(value: Object, field: str) -> Iterator[Cause]:
    """Check what makes an object of the API out of any other; of its metadata only that they are an object."""
    for name in ("apiVersion", "kind"):
        found, where = value.get(name), _below(field, name)
        if name not in value:
            yield required(where)
        elif not isinstance(found, str):
            yield invalid_value(where, found, "must be a string")
        elif not found:
            yield invalid_value(where, found, "must not be empty")
        elif name == "apiVersion" and found.count("/") > 1:
            yield invalid_value(where, found, f"unexpected GroupVersion string: {found}")
    metadata = value.get("metadata", {})
    if not isinstance(metadata, dict):
        problem = f"json: cannot unmarshal {_type_name(metadata)} into Go value of type v1.ObjectMeta"
        yield invalid_value(_below(field, "metadata"), metadata, problem)


def _check_array(walk: _Walk, schema: Object, value: list[Any], field: str, before: Any) -> Iterator[Cause]:
    yield from _check_count(schema, "Items", len(value), field)
    past = past_items(schema, before, _UNKNOWN)
    for index, each in enumerate(value):
        yield from walk.check(schema.get("items"), each, f"{field}[{index}]", past(each))


def _check_count(schema: Object, what: str, count: int, field: str) -> Iterator[Cause]:
    least, most = _number(schema, f"min{what}"), _number(schema, f"max{what}")
    if least is not None and count < least:
        yield invalid_value(field, count, f"{field} in body should have at least {least} {what.lower()}")
    if most is not None and count > most:
        yield too_many(field, count, int(most))


def _check_string(walk: _Walk, schema: Object, value: str, field: str, before: Any) -> Iterator[Cause]:
    least, most, pattern = _number(schema, "minLength"), _number(schema, "maxLength"), schema.get("pattern")
    if least is not None and len(value) < least:
        yield invalid_value(field, value, f"{field} in body should be at least {least} chars long")
    if most is not None and len(value) > most:
        yield too_long(field, int(most))
    if isinstance(pattern, str) and pattern and not _matches(walk, pattern, value):
        yield invalid_value(field, value, f"{field} in body should match '{pattern}'")
    name = schema.get("format")
    if isinstance(name, str) and not formats.fits(name, value):
        yield wrong_type(field, value, name)


def _check_number(walk: _Walk, schema: Object, value: float, field: str, before: Any) -> Iterator[Cause]:
    if abs(value) > sys.float_info.max:
        # Upstream, which reads a whole number that is too long for an integer as a float, cannot even read it.
        yield wrong_type(field, "number out of range", "number")
        return
    largest, smallest = _RANGES.get(schema.get("format"), (sys.float_info.max, -sys.float_info.max))
    if not smallest <= value <= largest:
        of = f"{schema.get('type')} with format {schema['format']}"
        yield invalid("", "", f"Checked value must be of type {of} in {field}")
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


def _combined(walk: _Walk, schema: Object, value: Any, field: str) -> Iterator[Cause]:
    for each in reading.entries(schema, "allOf"):
        yield from walk.check(each, value, field)
    any_of, one_of, shown = reading.entries(schema, "anyOf"), reading.entries(schema, "oneOf"), field or "<nil>"
    if any_of and not any(_holds(walk, each, value, field) for each in any_of):
        yield invalid_value(field, "", f'"{shown}" must validate at least one schema (anyOf)')
    if one_of and sum(_holds(walk, each, value, field) for each in one_of) != 1:
        yield invalid_value(field, "", f'"{shown}" must validate one and only one schema (oneOf)')
    if isinstance(schema.get("not"), dict) and _holds(walk, schema["not"], value, field):
        yield invalid_value(field, "", f'"{shown}" must not validate the schema (not)')


def _holds(walk: _Walk, schema: Object, value: Any, field: str) -> bool:
    found = next(walk.check(schema, value, field), None)
    if found is not None:
        # Nobody reads it, but it had to be written.
        walk.cost_left -= len(found.message) // _CHARACTERS
    return found is None


def _matches(walk: _Walk, pattern: str, value: str) -> bool:
    # The engine comes with the CEL library, which is imported when the first pattern is met.
    from stowplan.cel import patterns

    walk.cost_left -= patterns.cost(pattern, value)
    return walk.cost_left < 0 or patterns.matches(pattern, value)


def _property(before: Any, name: str, field: str) -> Any:
    """What a property was before, if that is known; what the object is was no other before."""
    if not isinstance(before, dict) or (not field and name in ("apiVersion", "kind")):
        return _UNKNOWN
    return before.get(name, _UNKNOWN)


def past_items(schema: Object, before: Any, unknown: Any) -> Callable[[Any], Any]:
    """Return how to find an item as it was before, by its keys; only those of lists that are maps are known again."""
    if schema.get(_LIST_TYPE) != "map" or not isinstance(before, list):
        return lambda item: unknown
    earlier = {identity(keys_of(schema, each)): each for each in before}
    return lambda item: earlier.get(identity(keys_of(schema, item)), unknown)


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


def _below(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name


def _number(schema: Object, name: str) -> int | float | None:
    found = schema.get(name)
    if not isinstance(found, int | float) or isinstance(found, bool):
        return None
    return found if abs(found) <= sys.float_info.max else None


_BY_TYPE: Final[dict[str, Callable[[_Walk, Object, Any, str, Any], Iterator[Cause]]]] = {
    "object": _check_object,
    "array": _check_array,
    "string": _check_string,
    "integer": _check_number,
    "number": _check_number,
}


def repetitions(schema: Any, value: Any, field: str = "") -> Iterator[Cause]:
    """Complain of everything that a set or a map has more than once; of the second time alone, as upstream does."""
    if isinstance(schema, dict) and isinstance(value, dict | list):
        if isinstance(value, list):
            yield from _of_list(schema, value, field)
        for _, each, below, where in members(schema, value, field):
            yield from repetitions(below, each, where)


def members(schema: Object, value: Any, field: str) -> Iterator[tuple[str | int, Any, Any, str]]:
    """Yield what is in a value: its name or place there, itself, its schema, and the field that it is."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield index, each, schema.get("items"), f"{field}[{index}]"
    elif isinstance(value, dict):
        properties = reading.mapping(schema, "properties")
        for name, each in value.items():
            if name in properties:
                yield name, each, properties[name], _below(field, name)
            else:
                yield name, each, schema.get("additionalProperties"), f"{field}[{name}]"


def keys_of(schema: Object, item: Any) -> Object:
    """Return the keys by which an item of a list that is a map goes."""
    names = reading.texts(schema, "x-kubernetes-list-map-keys")
    return {name: item[name] for name in names if name in item} if isinstance(item, dict) else {}


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

"""What a value consists of as far as ownership goes: its field set, and how two values differ field by field.

Values are laid over others, and have fields taken out, by the same parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from stowplan.embedded.patching import field_sets
from stowplan.embedded.patching.field_sets import SELF, FieldSet, Path, below
from stowplan.embedded.types.schema import ListType, Schema


class _Absent(Enum):
    ABSENT = 0


#: Not there at all, which differs from null.
ABSENT: Final = _Absent.ABSENT


class MalformedValueError(Exception):
    """A value does not have the form that its kind declares; `path` says where."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{field_sets.spell(path)}: {problem}")


def element_of(value: Any, schema: Schema, position: int) -> str:
    """Name an item of a list by what tells it apart; one that nothing tells apart by its place."""
    if schema.list_type is ListType.SET:
        is_member = value is not None and not isinstance(value, dict | list)
        return f"v:{field_sets.compact(value)}" if is_member else f"i:{position}"
    known = _known_keys(value, schema)
    return f"k:{field_sets.compact(known)}" if known else f"i:{position}"


def members(value: Any, schema: Schema) -> list[tuple[str, Any]] | None:
    """What a value consists of, each part with the element that names it; None for what is owned as a whole."""
    if isinstance(value, dict) and not schema.is_atomic:
        return [(f"f:{name}", part) for name, part in value.items()]
    if isinstance(value, list) and schema.list_type is not ListType.ATOMIC:
        return [(element_of(part, schema, position), part) for position, part in enumerate(value)]
    return None


def _known_keys(value: Any, schema: Schema) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {}
    keys = {key: value.get(key, schema.key_defaults.get(key)) for key in schema.keys}
    return {key: found for key, found in keys.items() if found is not None}


def check(value: Any, schema: Schema, path: Path = ()) -> None:
    """Raise MalformedValueError unless lists and structs are where they are declared, each item once."""
    if isinstance(value, dict):
        if schema.list_type is not ListType.ATOMIC:
            raise MalformedValueError(path, "expected list, got a map")
        for name, part in value.items():
            check(part, schema.at(name), (*path, f"f:{name}"))
    elif isinstance(value, list):
        if schema.fields or schema.is_atomic:
            raise MalformedValueError(path, "expected map, got a list")
        _check_items(value, schema, path)
    elif value is not None and (schema.fields or schema.is_atomic or schema.list_type is not ListType.ATOMIC):
        raise MalformedValueError(
            path, f"expected {'map' if schema.fields or schema.is_atomic else 'list'}, got {value!r}"
        )


def _check_items(values: list[Any], schema: Schema, path: Path) -> None:
    if schema.list_type is ListType.ATOMIC:
        return
    seen: set[str] = set()
    for position, value in enumerate(values):
        _check_item(value, schema, path, position)
        element = element_of(value, schema, position)
        if element in seen:
            raise MalformedValueError(path, f"duplicate entries for key {field_sets.spell((element,))}")
        seen.add(element)
        check(value, schema.of_items, (*path, element))


def _check_item(value: Any, schema: Schema, path: Path, position: int) -> None:
    """Raise MalformedValueError for an item that nothing tells apart from others."""
    problem = ""
    if schema.list_type is ListType.SET:
        if value is None or isinstance(value, dict | list):
            found = "an explicit null" if value is None else "a map" if isinstance(value, dict) else "a list"
            problem = f"associative list without keys has an element that's {found}"
    elif not isinstance(value, dict):
        problem = "associative list with keys may not have non-map elements"
    elif not _known_keys(value, schema):
        keys_named = " ".join(f'"{key}"' for key in schema.keys)
        problem = f"associative list with keys has an element that omits all key fields [{keys_named}]"
    if problem:
        raise MalformedValueError(path, f"element {position}: {problem}")


def fields_of(value: Any, schema: Schema) -> FieldSet:
    """What whoever applies this value owns of it."""
    return frozenset(_fields(value, schema, ()))


def _fields(value: Any, schema: Schema, path: Path) -> Iterator[Path]:
    found = members(value, schema)
    if found is None and path:
        yield path
    for element, part in found or ():
        here = (*path, element)
        is_undeclared = schema.is_free and element[2:] not in schema.fields
        if isinstance(value, list) or part is None or part == {} or is_undeclared:
            yield here
        yield from _fields(part, below(schema, element), here)


@dataclass(slots=True)
class Difference:
    """Which fields changed from one value to another; no field is in two of them."""

    added: set[Path] = field(default_factory=set)
    changed: set[Path] = field(default_factory=set)
    removed: set[Path] = field(default_factory=set)


def difference(before: Any, after: Any, schema: Schema) -> Difference:
    """Compare two values field by field."""
    found = Difference()
    _compare(before, after, schema, (), found)
    return found


def _compare(before: Any, after: Any, schema: Schema, path: Path, found: Difference) -> None:
    if before is after:
        return
    pairs = _pairs(before, after, schema)
    for element, left, right in pairs or ():
        _compare(left, right, below(schema, element), (*path, element), found)
    if not path:
        return
    if before is ABSENT:
        found.added.add(path)
    elif after is ABSENT:
        found.removed.add(path)
    elif pairs is None and (before != after or isinstance(before, bool) != isinstance(after, bool)):
        found.changed.add(path)


def _pairs(before: Any, after: Any, schema: Schema) -> list[tuple[str, Any, Any]] | None:
    """The members of both values side by side, or nothing if they are to be compared as they are."""
    sides = [side for side in (before, after) if side is not ABSENT and side is not None]
    # Two empty ones are compared as they are, for that tells an empty one from null.
    if not any(sides) or len(set(map(type, sides))) > 1 or members(sides[0], schema) is None:
        return None
    left, right = _by_element(before, schema), _by_element(after, schema)
    elements = [*left, *(element for element in right if element not in left)]
    return [(element, left.get(element, ABSENT), right.get(element, ABSENT)) for element in elements]


def _by_element(value: Any, schema: Schema) -> dict[str, Any]:
    """The members of a value by name; items that share one, which only validation keeps out, count as one list."""
    found: dict[str, Any] = {}
    doubled: set[str] = set()
    for element, part in members(value, schema) or ():
        if element in doubled:
            found[element].append(part)
        elif element in found:
            doubled.add(element)
            found[element] = [found[element], part]
        else:
            found[element] = part
    return found


def merged(live: Any, applied: Any, schema: Schema) -> Any:
    """Lay an applied value over a live one: what only one side has stays, of what both have the applied one."""
    if applied is ABSENT:
        return live
    if isinstance(live, dict) and isinstance(applied, dict) and not schema.is_atomic:
        names = [*live, *(name for name in applied if name not in live)]
        sides = ((name, live.get(name, ABSENT), applied.get(name, ABSENT)) for name in names)
        return {name: merged(left, right, schema.at(name)) for name, left, right in sides}
    if isinstance(live, list) and isinstance(applied, list) and schema.list_type is not ListType.ATOMIC:
        return _merged_list(live, applied, schema)
    return applied


def _merged_list(live: list[Any], applied: list[Any], schema: Schema) -> list[Any]:
    """Order items as applied; those that only the live list has stay where they were between the common ones."""
    live_names, applied_names = _elements(live, schema), _elements(applied, schema)
    old = dict(zip(live_names, live, strict=True))
    new = dict(zip(applied_names, applied, strict=True))
    doubled = {name for name, count in Counter(live_names).items() if count > 1}

    def joined(name: str) -> Any:
        before = ABSENT if name in doubled else old.get(name, ABSENT)
        after = new[name]
        return after if before is ABSENT else merged(before, after, schema.of_items)

    result: list[Any] = []
    taken = 0
    common = iter([name for name in applied_names if name in old])
    next_common = next(common, None)
    for name, value in zip(live_names, live, strict=True):
        if name not in new:
            result.append(value)
        elif name == next_common:
            upto = applied_names.index(name, taken) + 1
            result.extend(joined(following) for following in applied_names[taken:upto])
            taken, next_common = upto, next(common, None)
    return result + [joined(following) for following in applied_names[taken:]]


def _elements(values: list[Any], schema: Schema) -> list[str]:
    return [element_of(value, schema, position) for position, value in enumerate(values)]


def removed(value: Any, fields: FieldSet, schema: Schema) -> Any:
    """Take fields out of a value; what is left of a container that loses all it had is null."""
    return _removed(value, field_sets.tree(fields), schema)


def _removed(value: Any, tree: dict[str, Any], schema: Schema) -> Any:
    found = members(value, schema)
    if found is None:
        return None if isinstance(value, dict | list) else value
    kept = []
    for element, part in found:
        gone = tree.get(element)
        if gone is None:
            kept.append((element, part))
        elif SELF not in gone:
            kept.append((element, _removed(part, gone, below(schema, element))))
    if isinstance(value, dict):
        return {element[2:]: part for element, part in kept} or None
    return [part for _, part in kept] or None

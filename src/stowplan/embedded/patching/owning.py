"""What a value consists of as far as ownership goes: its field set, and how two values differ field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from stowplan.embedded.patching import field_sets
from stowplan.embedded.patching.field_sets import FieldSet, Path
from stowplan.embedded.patching.shapes import ListKind, Shape


class _Absent(Enum):
    ABSENT = 0


#: Not there at all, which differs from null.
ABSENT: Final = _Absent.ABSENT


class MalformedValueError(Exception):
    """A value does not have the form that its kind declares; `path` says where."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{field_sets.spell(path)}: {problem}")


def element_of(value: Any, shape: Shape, position: int) -> str:
    """Name an item of a list by what tells it apart; one that nothing tells apart by its place."""
    if shape.list_kind is ListKind.SET:
        is_member = value is not None and not isinstance(value, dict | list)
        return field_sets.member(value) if is_member else field_sets.index(position)
    known = _known_keys(value, shape)
    return field_sets.item(known) if known else field_sets.index(position)


def elements_of(values: list[Any], shape: Shape) -> list[str]:
    """Name all items of a list."""
    return [element_of(value, shape, position) for position, value in enumerate(values)]


def _known_keys(value: Any, shape: Shape) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {}
    keys = {key: value.get(key, shape.key_defaults.get(key)) for key in shape.keys}
    return {key: found for key, found in keys.items() if found is not None}


def check(value: Any, shape: Shape, path: Path = ()) -> None:
    """Raise MalformedValueError unless lists and structs are where they are declared, each item once."""
    if isinstance(value, dict):
        if shape.list_kind is not ListKind.ATOMIC:
            raise MalformedValueError(path, "expected list, got a map")
        for name, below in value.items():
            check(below, shape.at(name), (*path, field_sets.field(name)))
    elif isinstance(value, list):
        if shape.fields or shape.is_atomic:
            raise MalformedValueError(path, "expected map, got a list")
        _check_items(value, shape, path)
    elif value is not None and (shape.fields or shape.is_atomic or shape.list_kind is not ListKind.ATOMIC):
        raise MalformedValueError(
            path, f"expected {'map' if shape.fields or shape.is_atomic else 'list'}, got {value!r}"
        )


def _check_items(values: list[Any], shape: Shape, path: Path) -> None:
    if shape.list_kind is ListKind.ATOMIC:
        return
    seen: set[str] = set()
    for position, value in enumerate(values):
        _check_item(value, shape, path, position)
        element = element_of(value, shape, position)
        if element in seen:
            raise MalformedValueError(path, f"duplicate entries for key {field_sets.spell((element,))}")
        seen.add(element)
        check(value, shape.of_items, (*path, element))


def _check_item(value: Any, shape: Shape, path: Path, position: int) -> None:
    """Raise MalformedValueError for an item that nothing tells apart from others."""
    problem = ""
    if shape.list_kind is ListKind.SET:
        if value is None or isinstance(value, dict | list):
            found = "an explicit null" if value is None else "a map" if isinstance(value, dict) else "a list"
            problem = f"associative list without keys has an element that's {found}"
    elif not isinstance(value, dict):
        problem = "associative list with keys may not have non-map elements"
    elif not _known_keys(value, shape):
        keys_named = " ".join(f'"{key}"' for key in shape.keys)
        problem = f"associative list with keys has an element that omits all key fields [{keys_named}]"
    if problem:
        raise MalformedValueError(path, f"element {position}: {problem}")


def fields_of(value: Any, shape: Shape) -> FieldSet:
    """What whoever applies this value owns of it."""
    return frozenset(_fields(value, shape, ()))


def _fields(value: Any, shape: Shape, path: Path) -> Iterator[Path]:
    match value:
        case dict() if not shape.is_atomic:
            for name, below in value.items():
                yield from _fields_of_member(name, below, shape, path)
        case list() if shape.list_kind is not ListKind.ATOMIC:
            for element, below in zip(elements_of(value, shape), value, strict=True):
                yield (*path, element)
                yield from _fields(below, shape.of_items, (*path, element))
        case _ if path:
            yield path


def _fields_of_member(name: str, value: Any, shape: Shape, path: Path) -> Iterator[Path]:
    here = (*path, field_sets.field(name))
    is_undeclared = shape.is_free and name not in shape.fields
    if value is None or value == {} or is_undeclared:
        yield here
    yield from _fields(value, shape.at(name), here)


@dataclass(slots=True)
class Difference:
    """Which fields changed from one value to another; no field is in two of them."""

    added: set[Path] = field(default_factory=set)
    changed: set[Path] = field(default_factory=set)
    removed: set[Path] = field(default_factory=set)


def difference(before: Any, after: Any, shape: Shape) -> Difference:
    """Compare two values field by field."""
    found = Difference()
    _compare(before, after, shape, (), found)
    return found


def _compare(before: Any, after: Any, shape: Shape, path: Path, found: Difference) -> None:
    if before is after:
        return
    pairs = _pairs(before, after, shape)
    if pairs is None:
        _note_leaf(before, after, path, found)
        return
    for element, left, right, below in pairs:
        _compare(left, right, below, (*path, element), found)
    if path and before is ABSENT:
        found.added.add(path)
    elif path and after is ABSENT:
        found.removed.add(path)


def _note_leaf(before: Any, after: Any, path: Path, found: Difference) -> None:
    if not path:
        return
    if before is ABSENT:
        found.added.add(path)
    elif after is ABSENT:
        found.removed.add(path)
    elif before != after or isinstance(before, bool) != isinstance(after, bool):
        found.changed.add(path)


_Pairs = list[tuple[str, Any, Any, Shape]]


def _pairs(before: Any, after: Any, shape: Shape) -> _Pairs | None:
    """The members of both values side by side, or nothing if they are to be compared as they are."""
    sides = [side for side in (before, after) if side is not ABSENT and side is not None]
    # Two empty ones are compared as they are, for that tells an empty one from null.
    if not any(sides):
        return None
    if all(isinstance(side, dict) for side in sides) and not shape.is_atomic:
        return _map_pairs(before, after, shape)
    if all(isinstance(side, list) for side in sides) and shape.list_kind is not ListKind.ATOMIC:
        return _list_pairs(before, after, shape)
    return None


def _map_pairs(before: Any, after: Any, shape: Shape) -> _Pairs:
    left = before if isinstance(before, dict) else {}
    right = after if isinstance(after, dict) else {}
    names = [*left, *(name for name in right if name not in left)]
    return [(field_sets.field(n), left.get(n, ABSENT), right.get(n, ABSENT), shape.at(n)) for n in names]


def _list_pairs(before: Any, after: Any, shape: Shape) -> _Pairs:
    left, right = _by_element(before, shape), _by_element(after, shape)
    elements = [*left, *(element for element in right if element not in left)]
    return [(e, left.get(e, ABSENT), right.get(e, ABSENT), shape.of_items) for e in elements]


def _by_element(values: Any, shape: Shape) -> dict[str, Any]:
    """The items of a list by name; those that share a name, which only validation keeps out, count as one list."""
    found: dict[str, Any] = {}
    items = values if isinstance(values, list) else []
    doubled: set[str] = set()
    for element, value in zip(elements_of(items, shape), items, strict=True):
        if element in doubled:
            found[element].append(value)
        elif element in found:
            doubled.add(element)
            found[element] = [found[element], value]
        else:
            found[element] = value
    return found

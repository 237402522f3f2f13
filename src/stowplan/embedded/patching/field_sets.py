"""Sets of fields: which parts of an object a manager owns, and the `fieldsV1` form that they travel in.

A path is a tuple of elements in the spelling of that form: `f:spec` for a field, `k:{"name":"web"}` for an item of a
list of maps, `v:"example.com/held"` for a member of a set.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from stowplan.embedded.objects.resource import Object
from stowplan.embedded.types.schema import Schema

Path = tuple[str, ...]
FieldSet = frozenset[Path]

EMPTY: FieldSet = frozenset()
SELF = "."


def encode(fields: FieldSet) -> Object:
    """Write a set in the `fieldsV1` form."""
    return _without_needless_marks(tree(fields))


def tree(fields: FieldSet) -> Object:
    """Paths by their elements; the key `SELF` marks one that ends there."""
    root: Object = {}
    for path in fields:
        node = root
        for element in path:
            node = node.setdefault(element, {})
        node[SELF] = {}
    return root


def _without_needless_marks(node: Object) -> Object:
    """Keep the mark of a path that is owned only where it has children too; put what is there in order."""
    children = {name: _without_needless_marks(node[name]) for name in sorted(node) if name != SELF}
    return {SELF: {}, **children} if children and SELF in node else children


def decode(fields: Any) -> FieldSet:
    """Read the `fieldsV1` form; raises ValueError for anything else."""
    return frozenset(_read(fields, ()))


def _read(node: Any, path: Path) -> Iterator[Path]:
    if not isinstance(node, dict):
        raise ValueError(f"the fields under {spell(path) or 'the root'} are not an object")
    children = [name for name in node if name != SELF]
    if path and (SELF in node or not children):
        yield path
    for name in children:
        # Spell an element as this module does, whoever wrote it.
        kind, colon, content = name.partition(":")
        if not colon or kind not in ("f", "k", "v", "i"):
            raise ValueError(f"{name!r} is not a path element")
        element = f"{kind}:{compact(json.loads(content))}" if kind in "kv" else name
        yield from _read(node[name], (*path, element))


def compact(value: Any) -> str:
    """The spelling of a value in an element."""
    return msgspec.json.encode(value, order="sorted").decode()


def spell(path: Path) -> str:
    """Write a path for people: `.spec.containers[name="web"].image`."""
    return "".join(_spell(element) for element in path)


def _spell(element: str) -> str:
    kind, _, content = element.partition(":")
    match kind:
        case "f":
            return f".{content}"
        case "k":
            # Ours are objects; what a client wrote into managedFields may be anything.
            keys = json.loads(content)
            named = keys.items() if isinstance(keys, dict) else [("", keys)]
            return "[" + ",".join(f"{name}={compact(value)}" for name, value in named) + "]"
        case "v":
            return f"[={content}]"
        case _:
            return f"[{content}]"


def in_order(fields: FieldSet) -> list[Path]:
    """Sort paths as conflicts are listed: what is owned at a level, then what is owned below."""
    return sorted(fields, key=lambda path: (path[:-1], path))


def without(fields: FieldSet, *roots: Path) -> FieldSet:
    """Leave out some paths and everything below them."""
    return frozenset(path for path in fields if not any(path[: len(root)] == root for root in roots))


def with_structs(fields: FieldSet, schema: Schema) -> FieldSet:
    """Add the declared fields on the way to each path, so that a struct goes when the last of its fields goes."""
    return fields | frozenset(_ways(fields, schema))


def _ways(fields: Iterable[Path], schema: Schema) -> Iterator[Path]:
    for path in fields:
        at = schema
        for depth, element in enumerate(path[:-1], start=1):
            if element.startswith("f:") and (not at.is_free or element[2:] in at.fields):
                yield path[:depth]
            at = below(at, element)


def below(schema: Schema, element: str) -> Schema:
    """The type of what an element names in a value."""
    return schema.at(element[2:]) if element.startswith("f:") else schema.of_items

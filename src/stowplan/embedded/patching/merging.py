"""Values by their schema: an applied value laid over a live one, and values with some of their fields taken out."""

from __future__ import annotations

from collections import Counter
from typing import Any

from stowplan.embedded.patching import field_sets
from stowplan.embedded.patching.field_sets import FieldSet, Path
from stowplan.embedded.patching.owning import ABSENT, element_of, elements_of
from stowplan.embedded.types.schema import ListType, Schema


def merged(live: Any, applied: Any, schema: Schema, path: Path = ()) -> Any:
    """Lay an applied value over a live one: what only one side has stays, of what both have the applied one."""
    if applied is ABSENT:
        return live
    if isinstance(live, dict) and isinstance(applied, dict) and not schema.is_atomic:
        names = [*live, *(name for name in applied if name not in live)]
        sides = ((name, live.get(name, ABSENT), applied.get(name, ABSENT)) for name in names)
        return {n: merged(left, right, schema.at(n), (*path, field_sets.field(n))) for n, left, right in sides}
    if isinstance(live, list) and isinstance(applied, list) and schema.list_type is not ListType.ATOMIC:
        return _merged_list(live, applied, schema, path)
    return applied


def _merged_list(live: list[Any], applied: list[Any], schema: Schema, path: Path) -> list[Any]:
    """Order items as applied; those that only the live list has stay where they were between the common ones."""
    live_names, applied_names = elements_of(live, schema), elements_of(applied, schema)
    old = dict(zip(live_names, live, strict=True))
    new = dict(zip(applied_names, applied, strict=True))
    doubled = {name for name, count in Counter(live_names).items() if count > 1}

    def joined(name: str) -> Any:
        before = ABSENT if name in doubled else old.get(name, ABSENT)
        after = new[name]
        return after if before is ABSENT else merged(before, after, schema.of_items, (*path, name))

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


def removed(value: Any, fields: FieldSet, schema: Schema) -> Any:
    """Take fields out of a value; what is left of a container that loses all it had is null."""
    return _removed(value, _tree(fields), schema)


def _tree(fields: FieldSet) -> dict[str, Any]:
    """Paths by their elements; the key "" marks one that ends there."""
    root: dict[str, Any] = {}
    for path in fields:
        node = root
        for element in path:
            node = node.setdefault(element, {})
        node[""] = {}
    return root


def _removed(value: Any, tree: dict[str, Any], schema: Schema) -> Any:
    if isinstance(value, dict):
        return None if schema.is_atomic else _map_without(value, tree, schema) or None
    if isinstance(value, list):
        return None if schema.list_type is ListType.ATOMIC else _list_without(value, tree, schema) or None
    return value


def _map_without(value: dict[str, Any], tree: dict[str, Any], schema: Schema) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, below in value.items():
        left = _part_without(below, tree.get(field_sets.field(name)), schema.at(name))
        if left is not ABSENT:
            kept[name] = left
    return kept


def _list_without(values: list[Any], tree: dict[str, Any], schema: Schema) -> list[Any]:
    parts = (
        _part_without(value, tree.get(element_of(value, schema, position)), schema.of_items)
        for position, value in enumerate(values)
    )
    return [part for part in parts if part is not ABSENT]


def _part_without(value: Any, tree: dict[str, Any] | None, schema: Schema) -> Any:
    if not tree:
        return value
    return ABSENT if "" in tree else _removed(value, tree, schema)

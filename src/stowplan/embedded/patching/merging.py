"""Values by their schema: an applied value laid over a live one, and values with some of their fields taken out."""

from __future__ import annotations

from collections import Counter
from typing import Any

from stowplan.embedded.patching import field_sets
from stowplan.embedded.patching.field_sets import SELF, FieldSet, below
from stowplan.embedded.patching.owning import ABSENT, element_of, members
from stowplan.embedded.types.schema import ListType, Schema


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

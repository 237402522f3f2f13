"""Lists in a strategic merge patch: what tells items apart, which go, and in which order they end up."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Any, Final

import msgspec

from stowplan.embedded.patching.plain import unprocessable

DIRECTIVE: Final = "$patch"


def token(value: Any) -> Hashable:
    """Something that is equal for equal JSON values only: to Python true is 1 and 1 is 1.0."""
    return (type(value), spell(value) if isinstance(value, dict | list) else value)


def spell(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def key_of(item: Any, key: str) -> Hashable:
    """What tells an item apart: the value of its merge key, or without such a key itself."""
    if not key:
        return token(item)
    if not isinstance(item, dict):
        raise unprocessable("patch", f"expected a map with the merge key {key}, but received {spell(item)}")
    if key not in item:
        raise unprocessable("patch", f"map: {spell(item)} does not contain declared merge key: {key}")
    return token(item[key])


def places(items: list[Any], key: str) -> dict[Hashable, int]:
    """Where the first item of each key is."""
    found: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        found.setdefault(key_of(item, key), index)
    return found


def are_maps(*lists: list[Any]) -> bool:
    """Say if these are lists of maps, as opposed to scalars; raises StatusError 422 if they are neither."""
    kinds = {type(value) for values in lists for value in values}
    if list in kinds:
        raise unprocessable("patch", "lists of lists are not supported")
    if len(kinds) > 1:
        raise unprocessable("patch", f"list element types are not identical: {spell(lists)}")
    return kinds == {dict}


def without_doubles(values: list[Any]) -> list[Any]:
    """Keep each scalar once, where it was first."""
    return list({token(value): value for value in reversed(values)}.values())[::-1]


def directed(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Do what the directives of a patch say, and return what is left of the list and of the patch."""
    new = [item for item in patch if DIRECTIVE not in item]
    gone: set[Hashable] = set()
    is_replaced = False
    for item in patch:
        match item.get(DIRECTIVE, new):
            case "delete":
                gone.add(key_of(item, key))
            case "replace":
                is_replaced = True
            case "merge":
                raise unprocessable("patch", "merging lists cannot yet be specified in the patch")
            case other if other is not new:
                raise unprocessable(DIRECTIVE, f"unknown patch type: {spell(other)} in map: {spell(item)}")
    if is_replaced:
        return new, []
    return [item for item in original if key_of(item, key) not in gone], new


def basis(original: list[Any], patch: list[Any], key: str) -> list[Any]:
    """What counts as the original order where the patch gives one: new items take the places of deleted ones."""
    if not key or not any(item.get(DIRECTIVE) == "delete" for item in patch):
        return original
    kept, new = directed(original, patch, key)
    known = places(kept, key)
    return [*kept, *(item for item in new if key_of(item, key) not in known)][: len(original)]


def without_directives(value: Any) -> Any:
    """Leave out maps that are directives, at any depth: there is nothing here that they could change."""
    if isinstance(value, dict):
        return {name: without_directives(each) for name, each in value.items() if not _is_directive(name, each)}
    if isinstance(value, list):
        return [without_directives(each) for each in value if not _is_directive("", each)]
    return value


def _is_directive(name: str, value: Any) -> bool:
    is_order = name.startswith(("$setElementOrder", "$deleteFromPrimitiveList", "$retainKeys"))
    return is_order or (isinstance(value, dict) and DIRECTIVE in value)


def check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """Refuse a patch that has items out of the order that it asks for, or items that the order does not name."""
    items = [item for item in patch if not (isinstance(item, dict) and DIRECTIVE in item)]
    if not order or not items:
        return
    remaining = iter([key_of(item, key) for item in order])
    for wanted in [key_of(item, key) for item in items]:
        if wanted not in remaining:
            problem = f"The order in patch list: {spell(patch)} doesn't match $setElementOrder list: {spell(order)}"
            raise unprocessable("patch", problem)


def ordered(items: list[Any], order: list[Any], original: list[Any], key: str) -> list[Any]:
    """Put the items that an order names into it; the others stay between those as they were in the original list."""
    wanted, before = places(order, key), places(original, key)
    keyed = [(key_of(item, key), item) for item in items]
    named = sorted((pair for pair in keyed if pair[0] in wanted), key=lambda pair: wanted[pair[0]])
    others = sorted(
        (pair for pair in keyed if pair[0] not in wanted), key=lambda pair: before.get(pair[0], len(original))
    )
    result: list[Any] = []
    waiting = deque(others)
    for mark, item in named:
        place = before.get(mark, -1)
        while waiting and before.get(waiting[0][0], len(original)) < place:
            result.append(waiting.popleft()[1])
        result.append(item)
    return result + [item for _, item in waiting]

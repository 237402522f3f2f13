"""Strategic merge patch: lists of maps are merged by a key, and directives say what a merge alone cannot.

The directives: `$patch: replace|delete` for a map or an item of a list, `$deleteFromPrimitiveList/x` for members of a
list of scalars, `$setElementOrder/x` for the order of a list, `$retainKeys` for the only members that a map may keep.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Any, Final

import msgspec

from stowplan.embedded.objects.errors import bad_request
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.patching.patch import describe, unprocessable, without_nulls
from stowplan.embedded.types.schema import PatchStrategy, Schema

_DIRECTIVE: Final = "$patch"
_RETAIN_KEYS: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_ORDER: Final = "$setElementOrder"


def merged(original: Object, patch: Object, schema: Schema) -> Object:
    """Lay a patch over an object; raises StatusError 400 or 422. Neither is changed."""
    if _DIRECTIVE in patch:
        return _directed(patch)
    result = _retained(original, patch)
    ordered = _apply_orders(result, patch, schema)
    for name, value in patch.items():
        if name == _RETAIN_KEYS or name in ordered or name.startswith(_ORDER):
            continue
        if name.startswith(_DELETE_FROM):
            _delete_members(result, _named(name, "primitive list"), value)
        else:
            _merge_member(result, name, value, schema.at(name))
    return result


def _directed(patch: Object) -> Object:
    match patch[_DIRECTIVE]:
        case "replace":
            rest = {name: value for name, value in patch.items() if name != _DIRECTIVE}
            replacement: Object = _without_directives(without_nulls(rest))
            return replacement
        case "delete":
            return {}
        case other:
            raise unprocessable(_DIRECTIVE, f"unknown patch type: {other} in map: {_spell(patch)}")


def _retained(original: Object, patch: Object) -> Object:
    """The members that may stay, which is all of them unless the patch lists some."""
    if _RETAIN_KEYS not in patch:
        return dict(original)
    retained = patch[_RETAIN_KEYS]
    if not isinstance(retained, list):
        raise bad_request("invalid patch format of retainKeys")
    names = {name for name in retained if isinstance(name, str)}
    for name, value in patch.items():
        is_content = value is not None and not name.startswith((_DELETE_FROM, _ORDER, _RETAIN_KEYS))
        if is_content and name not in names:
            raise bad_request("invalid patch format of retainKeys")
    return {name: value for name, value in original.items() if name in names}


def _named(directive: str, of_what: str) -> str:
    prefix, slash, name = directive.partition("/")
    if not slash or prefix not in (_DELETE_FROM, _ORDER):
        raise bad_request(f"invalid patch format of {of_what}")
    return name


def _apply_orders(result: Object, patch: Object, schema: Schema) -> set[str]:
    """Merge the lists that the patch gives an order, and name them."""
    done: set[str] = set()
    for directive, order in patch.items():
        if not directive.startswith(_ORDER):
            continue
        name = _named(directive, "setElementOrder list")
        lists = [side.get(name) for side in (result, patch)]
        if not isinstance(order, list) or any(each is not None and not isinstance(each, list) for each in lists):
            raise bad_request("invalid patch format of setElementOrder list")
        original, new = lists
        done.add(name)
        if original is None and new is None:
            # Nothing to order; a null in the patch removes what is not there either.
            continue
        if new is None and name in patch:
            result.pop(name)
            continue
        result[name] = _in_order(original, new, order, schema.at(name))
    return done


def _in_order(original: list[Any] | None, new: list[Any] | None, order: list[Any], schema: Schema) -> list[Any]:
    _check_order(new or [], order, schema.merge_key)
    if new is None:
        together = original or []
    elif original is None:
        together = _without_directives(without_nulls(new))
    else:
        together = _merged_lists(original, new, schema)
    basis = _basis(original or [], new or [], schema.merge_key)
    return _ordered(together, order, basis, schema.merge_key)


def _merge_member(result: Object, name: str, value: Any, schema: Schema) -> None:
    if value is None:
        result.pop(name, None)
        return
    before = result.get(name)
    if isinstance(before, dict) and isinstance(value, dict):
        result[name] = value if schema.strategy is PatchStrategy.REPLACE else merged(before, value, schema)
    elif isinstance(before, list) and isinstance(value, list):
        result[name] = _merged_lists(before, value, schema)
    elif isinstance(value, dict) and _DIRECTIVE in value:
        result.pop(name, None)
    else:
        result[name] = _without_directives(without_nulls(value))


def _merged_lists(original: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    if schema.strategy is not PatchStrategy.MERGE:
        return patch
    if not original and not patch:
        return original
    if not _are_maps(original, patch):
        # Keep each scalar once, where it was first.
        together = list({_token(value): value for value in reversed([*original, *patch])}.values())[::-1]
        return _ordered(together, patch, original, "")
    return _merged_maps(original, patch, schema)


def _merged_maps(original: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    key = schema.merge_key
    if not key:
        raise unprocessable("patch", "cannot merge lists without merge key")
    kept, new = _after_directives(original, patch, key)
    together = list(kept)
    places = _places(together, key)
    for item in new:
        mark = _key_of(item, key)
        if mark in places:
            together[places[mark]] = merged(together[places[mark]], item, schema.of_items)
        else:
            places[mark] = len(together)
            together.append(_without_directives(without_nulls(item)))
    return _ordered(together, new, kept, key)


def _delete_members(result: Object, name: str, gone: Any) -> None:
    before = result.get(name)
    if gone is None or name not in result:
        result.pop(name, None)
        return
    if not isinstance(gone, list) or any(isinstance(each, dict | list) for each in gone):
        raise bad_request("invalid patch format of primitive list")
    if not isinstance(before, list):
        raise unprocessable(name, f"cannot delete members of {describe(before)}, which is not a list of scalars")
    tokens = {_token(each) for each in gone}
    result[name] = [each for each in before if _token(each) not in tokens]


def _token(value: Any) -> Hashable:
    """Something that is equal for equal JSON values only: to Python true is 1 and 1 is 1.0."""
    return (type(value), _spell(value) if isinstance(value, dict | list) else value)


def _spell(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def _key_of(item: Any, key: str) -> Hashable:
    """What tells an item apart: the value of its merge key, or without such a key itself."""
    if not key:
        return _token(item)
    if not isinstance(item, dict):
        raise unprocessable("patch", f"expected a map with the merge key {key}, but received {_spell(item)}")
    if key not in item:
        raise unprocessable("patch", f"map: {_spell(item)} does not contain declared merge key: {key}")
    return _token(item[key])


def _places(items: list[Any], key: str) -> dict[Hashable, int]:
    """Where the first item of each key is."""
    found: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        found.setdefault(_key_of(item, key), index)
    return found


def _are_maps(*lists: list[Any]) -> bool:
    """Say if these are lists of maps, as opposed to scalars; raises StatusError 422 if they are neither."""
    kinds = {type(value) for values in lists for value in values}
    if list in kinds:
        raise unprocessable("patch", "lists of lists are not supported")
    if len(kinds) > 1:
        raise unprocessable("patch", f"list element types are not identical: {_spell(lists)}")
    return kinds == {dict}


def _after_directives(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Do what the directives of a patch say, and return what is left of the list and of the patch."""
    new = [item for item in patch if _DIRECTIVE not in item]
    gone: set[Hashable] = set()
    is_replaced = False
    for item in patch:
        match item.get(_DIRECTIVE, new):
            case "delete":
                gone.add(_key_of(item, key))
            case "replace":
                is_replaced = True
            case "merge":
                raise unprocessable("patch", "merging lists cannot yet be specified in the patch")
            case other if other is not new:
                raise unprocessable(_DIRECTIVE, f"unknown patch type: {_spell(other)} in map: {_spell(item)}")
    if is_replaced:
        return new, []
    return [item for item in original if _key_of(item, key) not in gone], new


def _basis(original: list[Any], patch: list[Any], key: str) -> list[Any]:
    """What counts as the original order where the patch gives one: new items take the places of deleted ones."""
    if not key or not any(item.get(_DIRECTIVE) == "delete" for item in patch):
        return original
    kept, new = _after_directives(original, patch, key)
    known = _places(kept, key)
    return [*kept, *(item for item in new if _key_of(item, key) not in known)][: len(original)]


def _without_directives(value: Any) -> Any:
    """Leave out maps that are directives, at any depth: there is nothing here that they could change."""
    if isinstance(value, dict):
        return {name: _without_directives(each) for name, each in value.items() if not _is_directive(name, each)}
    if isinstance(value, list):
        return [_without_directives(each) for each in value if not _is_directive("", each)]
    return value


def _is_directive(name: str, value: Any) -> bool:
    is_order = name.startswith((_ORDER, _DELETE_FROM, _RETAIN_KEYS))
    return is_order or (isinstance(value, dict) and _DIRECTIVE in value)


def _check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """Refuse a patch that has items out of the order that it asks for, or items that the order does not name."""
    items = [item for item in patch if not (isinstance(item, dict) and _DIRECTIVE in item)]
    if not order or not items:
        return
    remaining = iter([_key_of(item, key) for item in order])
    for wanted in [_key_of(item, key) for item in items]:
        if wanted not in remaining:
            problem = f"The order in patch list: {_spell(patch)} doesn't match $setElementOrder list: {_spell(order)}"
            raise unprocessable("patch", problem)


def _ordered(items: list[Any], order: list[Any], original: list[Any], key: str) -> list[Any]:
    """Put the items that an order names into it; the others stay between those as they were in the original list."""
    wanted, before = _places(order, key), _places(original, key)
    keyed = [(_key_of(item, key), item) for item in items]
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

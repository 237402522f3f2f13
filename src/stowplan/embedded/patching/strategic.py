"""Strategic merge patch: lists of maps are merged by a key, and directives say what a merge alone cannot.

The directives: `$patch: replace|delete` for a map or an item of a list, `$deleteFromPrimitiveList/x` for members of a
list of scalars, `$setElementOrder/x` for the order of a list, `$retainKeys` for the only members that a map may keep.
"""

from __future__ import annotations

from typing import Any, Final

from stowplan.embedded.errors import bad_request
from stowplan.embedded.patching import strategic_lists
from stowplan.embedded.patching.plain import describe, unprocessable, without_nulls
from stowplan.embedded.patching.strategic_lists import DIRECTIVE, token
from stowplan.embedded.resource import Object
from stowplan.embedded.types.schema import PatchStrategy, Schema

_RETAIN_KEYS: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_ORDER: Final = "$setElementOrder"


def merged(original: Object, patch: Object, schema: Schema) -> Object:
    """Lay a patch over an object; raises StatusError 400 or 422. Neither is changed."""
    if DIRECTIVE in patch:
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
    match patch[DIRECTIVE]:
        case "replace":
            rest = {name: value for name, value in patch.items() if name != DIRECTIVE}
            replacement: Object = strategic_lists.without_directives(without_nulls(rest))
            return replacement
        case "delete":
            return {}
        case other:
            raise unprocessable(DIRECTIVE, f"unknown patch type: {other} in map: {strategic_lists.spell(patch)}")


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
    strategic_lists.check_order(new or [], order, schema.merge_key)
    if new is None:
        together = original or []
    elif original is None:
        together = strategic_lists.without_directives(without_nulls(new))
    else:
        together = _merged_lists(original, new, schema)
    basis = strategic_lists.basis(original or [], new or [], schema.merge_key)
    return strategic_lists.ordered(together, order, basis, schema.merge_key)


def _merge_member(result: Object, name: str, value: Any, schema: Schema) -> None:
    if value is None:
        result.pop(name, None)
        return
    before = result.get(name)
    if isinstance(before, dict) and isinstance(value, dict):
        result[name] = value if schema.strategy is PatchStrategy.REPLACE else merged(before, value, schema)
    elif isinstance(before, list) and isinstance(value, list):
        result[name] = _merged_lists(before, value, schema)
    elif isinstance(value, dict) and DIRECTIVE in value:
        result.pop(name, None)
    else:
        result[name] = strategic_lists.without_directives(without_nulls(value))


def _merged_lists(original: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    if schema.strategy is not PatchStrategy.MERGE:
        return patch
    if not original and not patch:
        return original
    if not strategic_lists.are_maps(original, patch):
        together = strategic_lists.without_doubles([*original, *patch])
        return strategic_lists.ordered(together, patch, original, "")
    return _merged_maps(original, patch, schema)


def _merged_maps(original: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    key = schema.merge_key
    if not key:
        raise unprocessable("patch", "cannot merge lists without merge key")
    kept, new = strategic_lists.directed(original, patch, key)
    together = list(kept)
    places = strategic_lists.places(together, key)
    for item in new:
        mark = strategic_lists.key_of(item, key)
        if mark in places:
            together[places[mark]] = merged(together[places[mark]], item, schema.of_items)
        else:
            places[mark] = len(together)
            together.append(strategic_lists.without_directives(without_nulls(item)))
    return strategic_lists.ordered(together, new, kept, key)


def _delete_members(result: Object, name: str, gone: Any) -> None:
    before = result.get(name)
    if gone is None or name not in result:
        result.pop(name, None)
        return
    if not isinstance(gone, list) or any(isinstance(each, dict | list) for each in gone):
        raise bad_request("invalid patch format of primitive list")
    if not isinstance(before, list):
        raise unprocessable(name, f"cannot delete members of {describe(before)}, which is not a list of scalars")
    tokens = {token(each) for each in gone}
    result[name] = [each for each in before if token(each) not in tokens]

"""Rules that a field declares of itself, and the order in which they are asked: upstream's declarative validation.

Whatever a change leaves as it was is not looked at. A field that may not change, is missing or has too many items is
told so at once, and not looked into; of any other, everything is told. `groups` is written in this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from stowplan.embedded.admission.validation.field import IMMUTABLE, Check, Field

#: The value that was there before, where nothing was: of a new object, or a new item of a list.
NEW: Final = object()


class Declared(msgspec.Struct, frozen=True, eq=False):
    """What is asked of a field. The fields of a struct are in the order of its Go type."""

    #: What it is where it is left out: None for what Go points to, "" or 0 for a plain value, {} for a plain struct.
    zero: Any = None
    is_required: bool = False
    is_immutable: bool = False
    #: Whether it is set at the beginning or never.
    is_kept: bool = False
    #: It may only be set with this feature gate.
    gate: str = ""
    #: How its own value has to look.
    check: Check | None = None
    #: Of a struct: by JSON name.
    fields: Mapping[str, Declared] = msgspec.field(default_factory=dict)
    #: Of a struct: the fields of which exactly one is set.
    union: tuple[str, ...] = ()
    #: Of a list: what each item is, the field that tells items apart, how many there may be, whether they stay.
    items: Declared | None = None
    key: str = ""
    most_items: int = 0
    has_fixed_items: bool = False
    #: Whether JSON says `null` where it is left out.
    is_null_shown: bool = False


def check(field: Field, declared: Declared, before: Any = NEW) -> None:
    """Complain of what is wrong with a field, and with all that is in it."""
    if before is not NEW and _value(field.value, declared) == _value(before, declared):
        return
    if _is_settled(field, declared, before):
        return
    if declared.union:
        _check_union(field, declared, before)
    if declared.check is not None:
        declared.check(field)
    if declared.items is not None:
        _check_items(field, declared.items, declared.key, before)
    for name, member in declared.fields.items():
        check(field[name], member, NEW if before is NEW else (before or {}).get(name))


def as_json(value: Any, declared: Declared) -> Any:
    """A value as Go writes it: its fields in their order, without those that have nothing to say."""
    if isinstance(value, list) and declared.items is not None:
        return [as_json(item, declared.items) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: as_json(_value(value.get(name), member), member)
        for name, member in declared.fields.items()
        if member.is_required or member.is_null_shown or _is_set(value.get(name), member)
    }


def as_go(value: Any, declared: Declared) -> Any:
    """A value as Go writes a struct that has no form in JSON: all its fields, under the names they have in Go."""
    if isinstance(value, list) and declared.items is not None:
        return [as_go(item, declared.items) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        f"{name[0].upper()}{name[1:]}": as_go(_value(value.get(name), member), member)
        for name, member in declared.fields.items()
    }


def _is_settled(field: Field, declared: Declared, before: Any) -> bool:
    """Complain of a field as a whole; return whether there is nothing to be said of what is in it."""
    is_set = _is_set(field.value, declared)
    known = len(field.problems.causes)
    if is_set and declared.gate and declared.gate not in field.problems.gates:
        field.forbidden("")
    if declared.is_immutable and before is not NEW:
        field.invalid(IMMUTABLE, None)
    if declared.is_kept and before is not NEW and is_set != _is_set(before, declared):
        field.invalid("field cannot be set once created" if is_set else "field cannot be cleared once set", None)
    if declared.is_required and not is_set:
        field.required()
    if declared.most_items:
        field.check_number_of_items(declared.most_items)
    if declared.has_fixed_items and before is not NEW:
        _check_fixed(field, declared.key, before or [])
    return not is_set or len(field.problems.causes) > known


def _check_fixed(items: Field, key: str, before: list[Any]) -> None:
    known, kept = ({item.get(key) for item in found} for found in (before, items.value or []))
    for item in items:
        if item.get(key) not in known:
            item.forbidden("item may not be added")
    for _ in known - kept:
        items.forbidden("item may not be removed")


def _check_union(field: Field, declared: Declared, before: Any) -> None:
    members = [name for name in declared.union if _is_set(field.get(name), declared.fields[name])]
    if before is not NEW and before is not None:
        old = [name for name in declared.union if _is_set(before.get(name), declared.fields[name])]
        if members == old:
            return
    listed = ", ".join(f"`{name}`" for name in declared.union)
    if not members:
        field.invalid(f"must specify one of: {listed}", "")
    elif len(members) > 1:
        field.invalid(f"must specify exactly one of: {listed}", f"{{{', '.join(members)}}}")


def _check_items(items: Field, declared: Declared, key: str, before: Any) -> None:
    """Check each item of a list; with a key, beside the one that had the same before."""
    if not key:
        items.each(lambda item: check(item, declared))
        return
    for item in _repeated(items, key):
        item.duplicate(shown=as_json(item.value, declared))
    old = {} if before is NEW else {item.get(key): item for item in reversed(before or [])}
    for item in items:
        check(item, declared, old.get(item.get(key), NEW))


def _repeated(items: Field, key: str) -> Iterator[Field]:
    taken: set[str] = set()
    for item in items:
        name = item.get(key, "")
        if name in taken:
            yield item
        taken.add(name)


def _is_set(value: Any, declared: Declared) -> bool:
    if isinstance(value, list):
        return bool(value)
    return isinstance(declared.zero, dict) or _value(value, declared) != declared.zero


def _value(value: Any, declared: Declared) -> Any:
    return declared.zero if value is None or value == [] else value

"""Defaults that fields declare in their type, as `types` has them; filled in wherever there is a struct of theirs."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.types import release
from stowplan.embedded.types.schema import JsonForm, Schema


def fill_declared(resource: Resource, obj: Object) -> None:
    """Fill in what the types of an object declare, in place."""
    _fill(obj, _declared_by(resource.api_version, resource.kind))


class _Declared(NamedTuple):
    """A field of a struct that declares a default, or contains structs that do."""

    name: str
    default: Any
    #: Whether one that is there but empty is meant.
    is_pointer: bool
    is_list: bool
    fields: tuple[_Declared, ...]


def _fill(struct: Object, fields: tuple[_Declared, ...]) -> None:
    for name, default, is_pointer, is_list, below in fields:
        found = struct.get(name)
        if default is not None:
            if found is None or not (found or is_pointer):
                struct[name] = default
        elif found and is_list:
            for item in found:
                _fill(item, below)
        elif found:
            _fill(found, below)


@cache
def _declared_by(api_version: str, kind: str) -> tuple[_Declared, ...]:
    name = release.name_of(api_version, kind)
    return () if name is None else _declared(release.type_named(name))


def _declared(schema: Schema) -> tuple[_Declared, ...]:
    found = (
        _Declared(name, field.default, field.is_pointer, field.form is JsonForm.LIST, _declared(field.items or field))
        for name, field in schema.fields.items()
        if field.form is not JsonForm.MAP
    )
    return tuple(each for each in found if each.default is not None or each.fields)

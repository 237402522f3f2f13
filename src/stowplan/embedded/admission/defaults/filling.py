"""Fills in fields of an object that are not there. The fields are named as the API names them."""

from __future__ import annotations

from typing import Any

from stowplan.embedded.objects.resource import Object


def fill_missing(obj: Object, /, **defaults: Any) -> Object:
    """Set the fields that are missing; return the object."""
    for name, value in defaults.items():
        obj.setdefault(name, value)
    return obj


def fill_empty(obj: Object, /, **defaults: Any) -> Object:
    """Set the fields that are missing or empty; return the object."""
    for name, value in defaults.items():
        if not obj.get(name):
            obj[name] = value
    return obj


def part(obj: Object, *path: str) -> Object:
    """The part of an object at a path, made where it is missing."""
    for name in path:
        obj = obj.setdefault(name, {})
    return obj

"""Reads parts of objects whose shape nobody has checked: what is missing, null or of another shape reads as empty."""

from __future__ import annotations

from typing import Any

from stowplan.embedded.objects.resource import Object


def at(obj: Any, *path: str) -> Any:
    """Follow a path of keys; None if it leads nowhere."""
    for key in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(key)
    return obj


def text(obj: Any, *path: str) -> str:
    found = at(obj, *path)
    return found if isinstance(found, str) else ""


def count(obj: Any, *path: str) -> int:
    found = at(obj, *path)
    return found if isinstance(found, int) else 0


def entries(obj: Any, *path: str) -> list[Object]:
    """Read a list of objects."""
    found = at(obj, *path)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def texts(obj: Any, *path: str) -> list[str]:
    """Read a list of strings."""
    found = at(obj, *path)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def mapping(obj: Any, *path: str) -> Object:
    found = at(obj, *path)
    return found if isinstance(found, dict) else {}


def is_true(obj: Any, *path: str) -> bool:
    return at(obj, *path) is True


def is_deleted(obj: Any) -> bool:
    return bool(at(obj, "metadata", "deletionTimestamp"))


def condition(obj: Any, kind: str) -> Object | None:
    """Find the condition of a type in an object's status."""
    return next((each for each in entries(obj, "status", "conditions") if each.get("type") == kind), None)


def has_condition(obj: Any, kind: str) -> bool:
    found = condition(obj, kind)
    return found is not None and found.get("status") == "True"

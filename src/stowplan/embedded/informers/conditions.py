"""Conditions of a status: made, found, set and taken away; the time of the last change is kept as the API means it."""

from __future__ import annotations

from typing import Any

from stowplan.embedded.objects.resource import Object


def make(what: tuple[str, str, str, str], moment: str, **more: Any) -> Object:
    """Make a condition from its type, status, reason and message; `more` are fields that only some objects have."""
    kind, value, reason, message = what
    times = {**more, "lastTransitionTime": moment}
    return {"type": kind, "status": value, **times, "reason": reason, "message": message}


def find(status: Object, kind: str) -> Object | None:
    """Find the condition of a type."""
    return next((condition for condition in status.get("conditions") or [] if condition.get("type") == kind), None)


def is_true(status: Object, kind: str) -> bool:
    condition = find(status, kind)
    return condition is not None and condition.get("status") == "True"


def put(status: Object, condition: Object) -> bool:
    """Set a condition, keeping the time of its last transition while its status stays; return whether it changed."""
    conditions = status.setdefault("conditions", None) or []
    before = find(status, condition["type"])
    if before is not None and before.get("status") == condition["status"]:
        condition = {**condition, "lastTransitionTime": before.get("lastTransitionTime")}
    if before == condition:
        return False
    others = [other for other in conditions if other is not before]
    at = conditions.index(before) if before is not None else len(others)
    status["conditions"] = [*others[:at], condition, *others[at:]]
    return True


def drop(status: Object, kind: str) -> None:
    """Take a condition away."""
    if find(status, kind) is not None:
        status["conditions"] = [other for other in status["conditions"] if other.get("type") != kind]

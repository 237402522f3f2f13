"""What tests wait for."""

from __future__ import annotations

from tests.e2e.api import Object


def all_decided(listed: Object) -> bool:
    """Whether each pod of a list has a node or was told that there is none."""
    return all(one["spec"].get("nodeName") or _is_refused(one) for one in listed["items"])


def _is_refused(one: Object) -> bool:
    conditions = one["status"].get("conditions", ())
    return any(each["type"] == "PodScheduled" and each.get("reason") == "Unschedulable" for each in conditions)

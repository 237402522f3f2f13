"""A node that has not said that it is ready gets no pods until it has; `node_lifecycle` lifts that again."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.objects.resource import Object

_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def taint_unless_ready(node: Object) -> None:
    """Taint a new node, unless it says at once that it is ready."""
    conditions = node["status"].get("conditions", ())
    if any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions):
        return
    taints = node["spec"].setdefault("taints", [])
    if not any(taint.get("key") == _NOT_READY["key"] and taint.get("effect") == "NoSchedule" for taint in taints):
        taints.append(dict(_NOT_READY))

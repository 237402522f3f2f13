"""Notes on a pod that somebody other than its owner is about to end it, and why."""

from __future__ import annotations

from datetime import datetime

from stowplan.embedded.following import conditions, resources
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api
from stowplan.model.timestamps import format_time


def note(api: Api, pod: Object, why: tuple[str, str], now: datetime) -> None:
    """Set the DisruptionTarget condition of a pod, and the phase if `pod` has been given another one."""
    reason, message = why
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastTransitionTime": format_time(now),
        "reason": reason,
        "message": message,
    }
    conditions.put(pod.setdefault("status", {}), condition)
    meta = pod["metadata"]
    api.update(resources.pods(api), meta["namespace"], meta["name"], pod, subresource="status")

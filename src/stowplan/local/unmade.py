"""Workloads without the pods they want because the API refused them, say for a quota: no pod tells of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from stowplan.embedded.informers.metadata import find_resource
from stowplan.embedded.registry.api import Api

Object = dict[str, Any]

_REFUSED: Final = "FailedCreate"


class Unmade(msgspec.Struct, frozen=True):
    """A workload, how many pods it lacks, and why."""

    workload: str
    pods: int
    message: str


def find(api: Api) -> tuple[Unmade, ...]:
    """Find the workloads that lack pods and were refused one, by kind and name."""
    refusals = _refusals(api)
    found = []
    for (version, kind), lacking in _LACKING.items():
        for obj in api.list(find_resource(api, version, kind)):
            meta, missing = obj["metadata"], lacking(obj["spec"], obj.get("status") or {})
            if missing > 0 and meta["uid"] in refusals:
                found.append(Unmade(f"{kind} {meta['namespace']}/{meta['name']}", missing, refusals[meta["uid"]]))
    return tuple(sorted(found, key=lambda one: one.workload))


def _refusals(api: Api) -> dict[str, str]:
    """What was said last when a pod of an object was refused, by the uid of the object."""
    events = find_resource(api, "v1", "Event")
    reason = events.fields.index("reason")
    # There may be an event for each of very many pods: only those of interest are decoded.
    told = [stored for stored in api.store.list(events) if stored.fields[reason] == _REFUSED]
    told.sort(key=lambda stored: stored.version)
    objects = (stored.object for stored in told)
    return {event["involvedObject"].get("uid", ""): event.get("message", "") for event in objects}


def _replicas(spec: Object, status: Object) -> int:
    return int(spec.get("replicas", 1)) - int(status.get("replicas", 0))


def _on_nodes(spec: Object, status: Object) -> int:
    return int(status.get("desiredNumberScheduled", 0)) - int(status.get("currentNumberScheduled", 0))


def _of_job(spec: Object, status: Object) -> int:
    if spec.get("suspend") or status.get("completionTime") or any(_is_end(one) for one in status.get("conditions", ())):
        return 0
    active, done = int(status.get("active", 0)), int(status.get("succeeded", 0))
    wanted = int(spec.get("parallelism", 1))
    return (min(wanted, int(spec["completions"]) - done) if "completions" in spec else wanted) - active


def _is_end(condition: Object) -> bool:
    return condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True"


_LACKING: Final[dict[tuple[str, str], Callable[[Object, Object], int]]] = {
    ("apps/v1", "DaemonSet"): _on_nodes,
    ("apps/v1", "ReplicaSet"): _replicas,
    ("apps/v1", "StatefulSet"): _replicas,
    ("batch/v1", "Job"): _of_job,
}

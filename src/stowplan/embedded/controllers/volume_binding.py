"""The two ends of a binding as they are written: a volume names its claim, the claim its volume, and both say so.

Each function changes the object it is given and returns whether it did. Who set the name first is noted: what a user
reserved is never taken back.
"""

from __future__ import annotations

from typing import Any

from stowplan.embedded.following.storage import BIND_COMPLETED, BOUND_BY_CONTROLLER
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object

_YES = "yes"


def point_volume(volume: Object, claim: Object) -> bool:
    """Let a volume name its claim."""
    meta, reference = claim["metadata"], reading.mapping(volume, "spec", "claimRef")
    if reference.get("uid") == meta["uid"]:
        return False
    wanted = (meta["namespace"], meta["name"])
    if (reference.get("namespace"), reference.get("name")) != wanted:
        _annotate(volume, BOUND_BY_CONTROLLER)
    volume["spec"]["claimRef"] = reference_to(claim)
    return True


def reference_to(claim: Object) -> Object:
    """Make the reference by which a volume names a claim."""
    meta = claim["metadata"]
    return {
        "kind": "PersistentVolumeClaim",
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
        "apiVersion": "v1",
        "resourceVersion": meta["resourceVersion"],
    }


def point_claim(claim: Object, volume: Object) -> bool:
    """Let a claim name its volume for good."""
    name = volume["metadata"]["name"]
    is_new = reading.text(claim, "spec", "volumeName") != name
    if is_new:
        claim["spec"]["volumeName"] = name
        _annotate(claim, BOUND_BY_CONTROLLER)
    return _annotate(claim, BIND_COMPLETED) or is_new


def report_claim(claim: Object, volume: Object) -> bool:
    """Let the status of a claim say that it is bound, and to how much."""
    modes = reading.at(volume, "spec", "accessModes")
    wanted: dict[str, Any] = {"phase": "Bound", "accessModes": modes}
    capacity = reading.mapping(volume, "spec", "capacity")
    if "storage" in capacity:
        wanted["capacity"] = {**reading.mapping(claim, "status", "capacity"), "storage": capacity["storage"]}
    status = {**reading.mapping(claim, "status"), **wanted}
    is_changed = status != claim.get("status")
    claim["status"] = status
    return is_changed


def report_claim_without(claim: Object, phase: str) -> bool:
    """Let the status of a claim say that it has no volume: Pending or Lost."""
    status = {**reading.mapping(claim, "status"), "phase": phase}
    for key in ("accessModes", "capacity"):
        status.pop(key, None)
    is_changed = status != claim.get("status")
    claim["status"] = status
    return is_changed


def report_volume(volume: Object, phase: str, moment: str, message: str = "") -> bool:
    """Let the status of a volume say where it is in its life."""
    status = reading.mapping(volume, "status")
    if status.get("phase") == phase and status.get("message", "") == message:
        return False
    volume["status"] = {"phase": phase, "lastPhaseTransitionTime": moment}
    if message:
        volume["status"]["message"] = message
    return True


def release(volume: Object) -> None:
    """Give a volume back: what a user reserved keeps the name of the claim, what was found goes to anybody."""
    annotations = reading.mapping(volume, "metadata", "annotations")
    if annotations.pop(BOUND_BY_CONTROLLER, None) is None:
        for key in ("uid", "resourceVersion"):
            volume["spec"]["claimRef"].pop(key, None)
    else:
        del volume["spec"]["claimRef"]


def _annotate(obj: Object, key: str) -> bool:
    annotations = obj["metadata"].setdefault("annotations", {})
    is_new = key not in annotations
    annotations.setdefault(key, _YES)
    return is_new

"""Which volume suits a claim, and how the two ends of a binding are written. Pure; `persistentvolume` acts on it.

A claim gets the volume that is reserved for it, else the smallest free one with the fewest access modes. A volume names
its claim, the claim its volume, and both say so: each function that writes changes the object it is given and returns
whether it did. Who set the name first is noted: what a user reserved is never taken back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stowplan.embedded.informers.metadata import object_reference
from stowplan.embedded.informers.volumes import BIND_COMPLETED, BOUND_BY_CONTROLLER, KnownClaim, KnownVolume
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object

_YES = "yes"


def find_reserved(claim: KnownClaim, volumes: Iterable[KnownVolume]) -> KnownVolume | None:
    """The volume that names this claim and is large enough for it."""
    fitting = (volume for volume in volumes if volume.is_for(claim) and _is_usable(claim, volume))
    return min(fitting, key=_rank, default=None)


def find_best(claim: KnownClaim, volumes: Iterable[KnownVolume]) -> KnownVolume | None:
    """The free volume that a claim gets if nobody said which."""
    class_name = claim.class_name or ""
    fitting = (
        volume
        for volume in volumes
        if volume.is_free
        and volume.class_name == class_name
        and claim.selector.matches(volume.labels)
        and _is_usable(claim, volume)
    )
    return min(fitting, key=_rank, default=None)


def find_mismatch(claim: KnownClaim, volume: KnownVolume) -> str:
    """Say why a claim cannot have the very volume it asks for; "" if it can."""
    if volume.size < claim.size:
        return "requested PV is too small"
    if volume.class_name != (claim.class_name or ""):
        return "storageClassName does not match"
    if volume.volume_mode != claim.volume_mode:
        return "incompatible volumeMode"
    if not _offers_modes(claim, volume):
        return "incompatible accessMode"
    return ""


def _is_usable(claim: KnownClaim, volume: KnownVolume) -> bool:
    return (
        not volume.is_terminating
        and volume.volume_mode == claim.volume_mode
        and _offers_modes(claim, volume)
        and claim.size <= volume.size
    )


def _offers_modes(claim: KnownClaim, volume: KnownVolume) -> bool:
    return set(claim.modes) <= set(volume.modes)


def _rank(volume: KnownVolume) -> tuple[int, int, str]:
    return (len(set(volume.modes)), volume.size.value, volume.name)


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
    return object_reference("v1", "PersistentVolumeClaim", claim)


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
    return _set_status(claim, {**reading.mapping(claim, "status"), **wanted})


def report_claim_without(claim: Object, phase: str) -> bool:
    """Let the status of a claim say that it has no volume: Pending or Lost."""
    kept = {
        key: value for key, value in reading.mapping(claim, "status").items() if key not in ("accessModes", "capacity")
    }
    return _set_status(claim, {**kept, "phase": phase})


def _set_status(obj: Object, status: Object) -> bool:
    is_changed = status != obj.get("status")
    obj["status"] = status
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

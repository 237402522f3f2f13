"""Which volume suits a claim: one that is reserved for it, else the smallest free one with the fewest access modes.

Pure; `volume_claims` acts on it.
"""

from __future__ import annotations

from collections.abc import Iterable

from stowplan.embedded.following.storage import KnownClaim, KnownVolume


def reserved(claim: KnownClaim, volumes: Iterable[KnownVolume]) -> KnownVolume | None:
    """The volume that names this claim and is large enough for it."""
    fitting = (volume for volume in volumes if volume.is_for(claim) and _is_usable(claim, volume))
    return min(fitting, key=_rank, default=None)


def best(claim: KnownClaim, volumes: Iterable[KnownVolume]) -> KnownVolume | None:
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


def mismatch(claim: KnownClaim, volume: KnownVolume) -> str:
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

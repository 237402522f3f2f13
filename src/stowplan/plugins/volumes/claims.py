"""The claims of a pod: found, checked, and sorted by what is still to be done for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from stowplan.framework.handle import Listers
from stowplan.model.pod import Pod
from stowplan.model.storage import PersistentVolumeClaim
from stowplan.plugins.volumes.annotations import class_of_claim, is_fully_bound

LOST: Final = "Lost"
WAITS_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"


class ClaimError(Exception):
    """A claim that no pod can use as it is; the text is upstream's."""


class Sorted(NamedTuple):
    """Claims that have their volume, those that get one when a node is chosen, and those for which others see to it."""

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[PersistentVolumeClaim, ...]
    immediate: tuple[PersistentVolumeClaim, ...]


def find(pod: Pod, listers: Listers) -> list[PersistentVolumeClaim]:
    """Return the claims of a pod, one for each volume that has one; raise ClaimError at the first that will not do."""
    return [_find(pod, name, listers, is_ephemeral) for name, is_ephemeral in _names(pod)]


def has_ephemeral(pod: Pod) -> bool:
    """Say whether a claim of the pod bears its name."""
    return any(is_ephemeral for _, is_ephemeral in _names(pod))


def sort_out(claims: Iterable[PersistentVolumeClaim], listers: Listers) -> Sorted:
    """Sort claims by what is still to be done for them."""
    bound, delayed, immediate = [], [], []
    for claim in claims:
        if is_fully_bound(claim):
            bound.append(claim)
        elif not claim.spec.volume_name and _waits(claim, listers):
            delayed.append(claim)
        else:
            immediate.append(claim)
    return Sorted(tuple(bound), tuple(delayed), tuple(immediate))


def _names(pod: Pod) -> Iterator[tuple[str, bool]]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name, False
        elif volume.ephemeral is not None:
            yield f"{pod.name}-{volume.name}", True


def _find(pod: Pod, name: str, listers: Listers, is_ephemeral: bool) -> PersistentVolumeClaim:
    claim = listers.persistent_volume_claim(pod.namespace, name)
    if claim is None and is_ephemeral:
        raise ClaimError(f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"')
    if claim is None:
        raise ClaimError(f'persistentvolumeclaim "{name}" not found')
    if claim.status.phase == LOST:
        volume_name = claim.spec.volume_name
        raise ClaimError(f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume_name}"')
    if claim.metadata.deletion_timestamp is not None:
        raise ClaimError(f'persistentvolumeclaim "{name}" is being deleted')
    if is_ephemeral and not _is_made_for(claim, pod):
        raise ClaimError(f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)")
    return claim


def _is_made_for(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    return any(owner.controller and owner.uid == pod.uid for owner in claim.metadata.owner_references)


def _waits(claim: PersistentVolumeClaim, listers: Listers) -> bool:
    storage_class = listers.storage_class(class_of_claim(claim))
    return storage_class is not None and storage_class.volume_binding_mode == WAITS_FOR_FIRST_CONSUMER

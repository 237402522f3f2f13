"""The claims of a pod: found, checked, and sorted by what is still to be done for them (upstream: PodVolumeClaims)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from stowplan.framework.handle import Listers
from stowplan.model.pod import Pod
from stowplan.model.storage import PersistentVolume, PersistentVolumeClaim
from stowplan.plugins.volumes.claims import (
    BETA_STORAGE_CLASS,
    WAIT_FOR_FIRST_CONSUMER,
    all_claim_names,
    class_of_claim,
)

LOST: Final = "Lost"
#: On a claim: claim and volume know each other; nothing is left to do.
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
#: On a volume: its claim was chosen by a controller or scheduler, not by its owner.
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
#: On a claim: the node where its volume is to be made.
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"


def find(pod: Pod, listers: Listers) -> list[PersistentVolumeClaim]:
    """Return the claims of a pod, for each volume that has one. Raise UnusableClaimError for one that will not do."""
    return [_find(pod, name, listers, is_ephemeral) for name, is_ephemeral in all_claim_names(pod)]


def has_ephemeral(pod: Pod) -> bool:
    """Say whether a claim of the pod bears its name."""
    return any(is_ephemeral for _, is_ephemeral in all_claim_names(pod))


def sort_out(claims: Iterable[PersistentVolumeClaim], listers: Listers) -> PodVolumeClaims:
    """Sort claims by what is still to be done for them."""
    bound, delayed, immediate = [], [], []
    for claim in claims:
        if is_fully_bound(claim):
            bound.append(claim)
        elif not claim.spec.volume_name and _waits(claim, listers):
            delayed.append(claim)
        else:
            immediate.append(claim)
    return PodVolumeClaims(tuple(bound), tuple(delayed), tuple(immediate))


class PodVolumeClaims(NamedTuple):
    """Claims that have their volume, those that get one when a node is chosen, and those for which others see to it."""

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[PersistentVolumeClaim, ...]
    immediate: tuple[PersistentVolumeClaim, ...]


class UnusableClaimError(Exception):
    """A claim that no pod can use as it is; the text is upstream's."""


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Say whether a claim has its volume for good."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def class_of_volume(volume: PersistentVolume) -> str:
    """Return the name of the class that a volume is of; "" for none."""
    return volume.metadata.annotations.get(BETA_STORAGE_CLASS, volume.spec.storage_class_name)


def _find(pod: Pod, name: str, listers: Listers, is_ephemeral: bool) -> PersistentVolumeClaim:
    claim = listers.persistent_volume_claim(pod.namespace, name)
    if claim is None and is_ephemeral:
        raise UnusableClaimError(
            f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        )
    if claim is None:
        raise UnusableClaimError(f'persistentvolumeclaim "{name}" not found')
    if claim.status.phase == LOST:
        volume_name = claim.spec.volume_name
        raise UnusableClaimError(
            f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume_name}"'
        )
    if claim.metadata.deletion_timestamp is not None:
        raise UnusableClaimError(f'persistentvolumeclaim "{name}" is being deleted')
    if is_ephemeral and not _is_made_for(claim, pod):
        raise UnusableClaimError(f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)")
    return claim


def _is_made_for(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    return any(owner.controller and owner.uid == pod.uid for owner in claim.metadata.owner_references)


def _waits(claim: PersistentVolumeClaim, listers: Listers) -> bool:
    storage_class = listers.storage_class(class_of_claim(claim))
    return storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER

"""The annotations through which scheduler, volume controller and provisioners tell each other how far a claim is."""

from __future__ import annotations

from typing import Final

from stowplan.model.storage import PersistentVolume, PersistentVolumeClaim

#: On a claim: claim and volume know each other; nothing is left to do.
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
#: On a volume: its claim was chosen by a controller or scheduler, not by its owner.
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
#: On a claim: the node where its volume is to be made.
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
#: On both: the name of the class, as it was written before there was a field for it.
CLASS: Final = "volume.beta.kubernetes.io/storage-class"


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """Return the name of the class that a claim asks for; "" for none."""
    return claim.metadata.annotations.get(CLASS, claim.spec.storage_class_name or "")


def class_of_volume(volume: PersistentVolume) -> str:
    """Return the name of the class that a volume is of; "" for none."""
    return volume.metadata.annotations.get(CLASS, volume.spec.storage_class_name)


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Say whether a claim has its volume for good."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations

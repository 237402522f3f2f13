"""The PersistentVolumeClaims that a pod names, their storage class, and whether a change of a claim concerns a pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stowplan.model.pod import Pod
from stowplan.model.storage import PersistentVolumeClaim

#: The volume binding mode of a class whose claims get their volume when their first pod gets a node.
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
#: On claims and volumes: the name of the class, as it was written before there was a field for it.
BETA_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


def claim_names(pod: Pod) -> list[str]:
    """Return the claims that a pod names, one for each volume that has one."""
    return [name for name, is_ephemeral in all_claim_names(pod) if not is_ephemeral]


def all_claim_names(pod: Pod) -> Iterator[tuple[str, bool]]:
    """Yield the claims of a pod, and whether each is made for one of its ephemeral volumes."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name, False
        elif volume.ephemeral is not None:
            yield f"{pod.name}-{volume.name}", True


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """Return the name of the class that a claim asks for; "" for none."""
    return claim.metadata.annotations.get(BETA_STORAGE_CLASS, claim.spec.storage_class_name or "")


def is_own_claim(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> bool:
    """A claim may help a pod that uses it, by name or through an ephemeral volume."""
    return pod.namespace == new.namespace and any(name == new.name for name, _ in all_claim_names(pod))


def is_named_claim(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> bool:
    """A claim may help a pod that names it."""
    return pod.namespace == new.namespace and new.name in claim_names(pod)

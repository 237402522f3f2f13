"""The claims of a pod (upstream: PodVolumeClaims), and what is done for them once its node is chosen (PodVolumes).

Claims are found, checked, and sorted by what is still to be done: volumes are bound to them, or provisioned. Each step
has two forms that say the same: the object as it will be, for the listers, and the patch that makes it so.
`BindingCheck` then tells whether it has come true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from stowplan.framework.handle import Listers, PreparingHandle
from stowplan.model.meta import ObjectReference
from stowplan.model.pod import Pod
from stowplan.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from stowplan.plugins.volume_sources import WAIT_FOR_FIRST_CONSUMER, all_claim_names, class_of_claim
from stowplan.plugins.volumebinding.available_volumes import is_bound_to_claim
from stowplan.plugins.volumebinding.node_affinity import Migrations

LOST: Final = "Lost"
#: On a claim: claim and volume know each other; nothing is left to do.
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
#: On a volume: its claim was chosen by a controller or scheduler, not by its owner.
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
#: On a claim: the node where its volume is to be made.
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"


def find_claims(pod: Pod, listers: Listers) -> PodVolumeClaims:
    """Return the claims of a pod, by what is still to be done for them. Raise UnusableClaimError."""
    found = [_find(pod, name, listers, is_ephemeral) for name, is_ephemeral in all_claim_names(pod)]
    if not found:
        return NO_CLAIMS
    bound, delayed, immediate = [], [], []
    for claim in found:
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


NO_CLAIMS: Final = PodVolumeClaims((), (), ())


class UnusableClaimError(Exception):
    """A claim that no pod can use as it is; the text is upstream's."""


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Say whether a claim has its volume for good."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def _find(pod: Pod, name: str, listers: Listers, is_ephemeral: bool) -> PersistentVolumeClaim:
    claim = listers.get(PersistentVolumeClaim, pod.namespace, name)
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
    storage_class = listers.get(StorageClass, "", class_of_claim(claim))
    return storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """For one pod on one node: volumes with the claims that get them, and claims for which volumes are made."""

    node_name: str
    bindings: tuple[tuple[PersistentVolume, PersistentVolumeClaim], ...] = ()
    provisions: tuple[PersistentVolumeClaim, ...] = ()

    def changes(self) -> Iterator[VolumeChange]:
        """Yield what has to change, leaving out objects that are as they should be."""
        for volume, claim in self.bindings:
            change = _bind(volume, claim)
            if change is not None:
                yield change
        for claim in self.provisions:
            if claim.metadata.annotations.get(SELECTED_NODE) != self.node_name:
                yield _select_node(claim, self.node_name)


@dataclass(frozen=True, slots=True)
class VolumeChange:
    """An object that is to change: as it is, as it will be, and the patch between the two."""

    found: PersistentVolume | PersistentVolumeClaim
    wanted: PersistentVolume | PersistentVolumeClaim
    patch: Mapping[str, Any]


class BindingCheck:
    """Whether what was written for one pod's claims has come true; asked whenever the cluster tells something."""

    def __init__(self, handle: PreparingHandle, migrations: Migrations, pod: Pod, volumes: PodVolumes) -> None:
        self._handle = handle
        self._migrations = migrations
        self._pod = pod
        self._volumes = volumes
        self._written: dict[tuple[str, str, str], str] = {}
        self._looked_at: tuple[int, int] | None = None

    def note_written(self, found: Any) -> None:
        """Remember what the cluster answered to a write: older versions of the object say nothing."""
        self._written[key_of(found)] = found.metadata.resource_version

    def are_all_bound(self) -> bool:
        """Say whether all claims are bound; raise VolumeBindingError if they will not be."""
        listers, node_name = self._handle.listers, self._volumes.node_name
        if not len(self._handle.row_of(node_name)):
            raise VolumeBindingError(f'failed to get node "{node_name}": node "{node_name}" not found')
        if not self._handle.is_placed(self._pod):
            raise VolumeBindingError(f'pod does not exist any more: pod "{self._pod.name}" not found')
        versions = listers.version("PersistentVolume"), listers.version("PersistentVolumeClaim")
        if versions == self._looked_at:
            return False
        self._looked_at = versions
        are_bound = all(self._is_bound(volume, claim) for volume, claim in self._volumes.bindings)
        return are_bound and all(map(self._is_provisioned, self._volumes.provisions))

    def _is_bound(self, chosen: PersistentVolume, wanted: PersistentVolumeClaim) -> bool:
        volume = self._handle.listers.get(PersistentVolume, "", chosen.name)
        if volume is None:
            raise VolumeBindingError(f'failed to check binding: persistentvolumes "{chosen.name}" not found')
        claim = self._claim(wanted, "failed to check binding")
        if self._is_outdated(volume):
            return False
        self._check_node_affinity(volume)
        ref = volume.spec.claim_ref
        if ref is None or (wanted.uid and not ref.uid):
            raise VolumeBindingError(f'ClaimRef got reset for pv "{volume.name}"')
        return is_fully_bound(claim)

    def _is_provisioned(self, wanted: PersistentVolumeClaim) -> bool:
        claim = self._claim(wanted, "failed to check provisioning pvc")
        if self._is_outdated(claim):
            return False
        if not claim.metadata.annotations:
            raise VolumeBindingError(f'selectedNode annotation reset for PVC "{claim.name}"')
        if claim.metadata.annotations.get(SELECTED_NODE, "") != self._volumes.node_name:
            raise VolumeBindingError(f'provisioning failed for PVC "{claim.name}"')
        if claim.spec.volume_name:
            volume = self._handle.listers.get(PersistentVolume, "", claim.spec.volume_name)
            if volume is None:
                # Claims and volumes are told of one by one.
                return False
            self._check_node_affinity(volume)
        return is_fully_bound(claim)

    def _claim(self, wanted: PersistentVolumeClaim, doing: str) -> PersistentVolumeClaim:
        claim = self._handle.listers.get(PersistentVolumeClaim, wanted.namespace, wanted.name)
        if claim is None:
            raise VolumeBindingError(f'{doing}: persistentvolumeclaims "{wanted.key}" not found')
        return claim

    def _check_node_affinity(self, volume: PersistentVolume) -> None:
        node_name = self._volumes.node_name
        if not self._migrations.admitted(volume, self._handle.row_of(node_name)).all():
            problem = f'pv "{volume.name}" node affinity doesn\'t match node "{node_name}"'
            raise VolumeBindingError(f"{problem}: no matching NodeSelectorTerms")

    def _is_outdated(self, found: PersistentVolume | PersistentVolumeClaim) -> bool:
        """Say whether the cluster has not told us yet of what we wrote."""
        written, known = self._written.get(key_of(found), ""), found.metadata.resource_version
        return written.isdecimal() and known.isdecimal() and int(known) < int(written)


class VolumeBindingError(Exception):
    """What was to be done will not come true; the text is upstream's."""


def key_of(found: Any) -> tuple[str, str, str]:
    """Return kind, namespace and name of an object."""
    return found.kind, found.metadata.namespace, found.metadata.name


def _bind(volume: PersistentVolume, claim: PersistentVolumeClaim) -> VolumeChange | None:
    """Bind a volume to a claim; note on it that it was us, unless its owner had meant it for the claim."""
    patch: dict[str, Any] = {}
    spec, meta, ref = volume.spec, volume.metadata, volume.spec.claim_ref
    if ref is None or (ref.namespace, ref.name, ref.uid) != (claim.namespace, claim.name, claim.uid):
        ref = _reference_to(claim)
        spec = replace(spec, claim_ref=ref)
        patch["spec"] = {"claimRef": msgspec.to_builtins(ref)}
    if not is_bound_to_claim(volume, claim) and BOUND_BY_CONTROLLER not in meta.annotations:
        added = {BOUND_BY_CONTROLLER: "yes"}
        meta = replace(meta, annotations=meta.annotations | added)
        patch["metadata"] = {"annotations": added}
    return VolumeChange(volume, replace(volume, spec=spec, metadata=meta), patch) if patch else None


def _select_node(claim: PersistentVolumeClaim, node_name: str) -> VolumeChange:
    """Have the volume of a claim made on a node."""
    added = {SELECTED_NODE: node_name}
    meta = replace(claim.metadata, annotations=claim.metadata.annotations | added)
    return VolumeChange(claim, replace(claim, metadata=meta), {"metadata": {"annotations": added}})


def _reference_to(claim: PersistentVolumeClaim) -> ObjectReference:
    return ObjectReference(
        api_version=claim.api_version,
        kind=claim.kind,
        namespace=claim.namespace,
        name=claim.name,
        uid=claim.uid,
        resource_version=claim.metadata.resource_version,
    )

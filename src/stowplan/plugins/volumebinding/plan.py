"""What is done for the claims of a pod once its node is chosen: which volumes are tied to them, which are to be made.

Each step has two forms that say the same: the object as it will be, for the listers, and the patch that makes it so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from stowplan.model.meta import ObjectReference
from stowplan.model.storage import PersistentVolume, PersistentVolumeClaim
from stowplan.plugins.volumebinding.shelves import is_promised
from stowplan.plugins.volumes.annotations import BOUND_BY_CONTROLLER, SELECTED_NODE


@dataclass(frozen=True, slots=True)
class Plan:
    """For one pod on one node: volumes with the claims that get them, and claims for which volumes are made."""

    node_name: str
    bindings: tuple[tuple[PersistentVolume, PersistentVolumeClaim], ...] = ()
    provisions: tuple[PersistentVolumeClaim, ...] = ()

    def changes(self) -> Iterator[Change]:
        """Yield what has to change, leaving out objects that are as they should be."""
        for volume, claim in self.bindings:
            change = _tie(volume, claim)
            if change is not None:
                yield change
        for claim in self.provisions:
            if claim.metadata.annotations.get(SELECTED_NODE) != self.node_name:
                yield _select(claim, self.node_name)


@dataclass(frozen=True, slots=True)
class Change:
    """An object that is to change: as it is, as it will be, and the patch between the two."""

    found: PersistentVolume | PersistentVolumeClaim
    wanted: PersistentVolume | PersistentVolumeClaim
    patch: Mapping[str, Any]


def _tie(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Change | None:
    """Tie a volume to a claim; note on it that it was us, unless its owner had meant it for the claim."""
    patch: dict[str, Any] = {}
    spec, meta, ref = volume.spec, volume.metadata, volume.spec.claim_ref
    if ref is None or (ref.namespace, ref.name, ref.uid) != (claim.namespace, claim.name, claim.uid):
        ref = _reference_to(claim)
        spec = replace(spec, claim_ref=ref)
        patch["spec"] = {"claimRef": msgspec.to_builtins(ref)}
    if not is_promised(volume, claim) and BOUND_BY_CONTROLLER not in meta.annotations:
        added = {BOUND_BY_CONTROLLER: "yes"}
        meta = replace(meta, annotations=meta.annotations | added)
        patch["metadata"] = {"annotations": added}
    return Change(volume, replace(volume, spec=spec, metadata=meta), patch) if patch else None


def _select(claim: PersistentVolumeClaim, node_name: str) -> Change:
    """Have the volume of a claim made on a node."""
    added = {SELECTED_NODE: node_name}
    meta = replace(claim.metadata, annotations=claim.metadata.annotations | added)
    return Change(claim, replace(claim, metadata=meta), {"metadata": {"annotations": added}})


def _reference_to(claim: PersistentVolumeClaim) -> ObjectReference:
    return ObjectReference(
        api_version=claim.api_version,
        kind=claim.kind,
        namespace=claim.namespace,
        name=claim.name,
        uid=claim.uid,
        resource_version=claim.metadata.resource_version,
    )

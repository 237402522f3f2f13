"""Upstream's FindPodVolumes: what stands in the way of a pod's volumes on each node, and what would be done there.

A claim that is bound ties the pod to where its volume is. One that waits for its first consumer gets a volume meant for
it, or the smallest available one that fits, each volume once; failing that, one is provisioned, if that can be done
there. `capacity_scores` tells how well the space that claims would take is used.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stowplan.framework.handle import Listers
from stowplan.framework.kept.incremental import Incremental
from stowplan.model.storage import PersistentVolume, PersistentVolumeClaim
from stowplan.plugins.volumebinding.available_volumes import AvailableVolumes, ClassVolumes, request_of
from stowplan.plugins.volumebinding.node_affinity import (
    NOTHING,
    Migrations,
    Ranks,
    admitted,
    nothing,
    reach_of,
    required,
)
from stowplan.plugins.volumebinding.pod_volumes import SELECTED_NODE, PodVolumeClaims, PodVolumes
from stowplan.plugins.volumebinding.provisioning import Provision, StorageCapacities, provision_for
from stowplan.table.columns import NO_ROWS, Mask, Rows
from stowplan.table.nodes import Nodes


class VolumeBinder:
    """Finds volumes for the claims of pods; what it derives from the listers is kept as long as it holds."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._available = AvailableVolumes(listers)
        self._capacities = StorageCapacities(listers)
        self.migrations = Migrations(listers)

    def needs_of(self, claims: PodVolumeClaims) -> VolumeNeeds:
        """Find out what claims ask of nodes, apart from any node."""
        bound = tuple(self._listers.get(PersistentVolume, "", claim.spec.volume_name) for claim in claims.bound)
        delayed = sorted(map(self._delayed, claims.delayed), key=_order)
        return VolumeNeeds(bound, tuple(delayed))

    def find_pod_volumes(self, wanted: VolumeNeeds, nodes: Nodes) -> FoundVolumes:
        """Find the volumes for a pod on each row, or what stands in the way."""
        is_out_of_reach, lacks_bound, error = self._check_bound_claims(wanted.bound, nodes)
        if not wanted.delayed:
            return FoundVolumes(is_out_of_reach, lacks_bound, error)
        is_elsewhere = _is_elsewhere(wanted.delayed, nodes)
        matches: list[VolumeMatch] = []
        for delayed in wanted.delayed:
            if delayed.selected_node is None:
                matches.append(_match(delayed, nodes, matches))
        making = _to_make(wanted.delayed, matches, ~is_elsewhere)
        unmade, lacks_space = _check_provisions(making, nodes)
        return FoundVolumes(
            is_out_of_reach,
            lacks_bound,
            error,
            lacks_volume=is_elsewhere | unmade,
            lacks_space=lacks_space,
            matches=tuple(matches),
            provisions=tuple(making),
        )

    def _delayed(self, claim: PersistentVolumeClaim) -> DelayedClaim:
        volumes = self._available.of_class_for(claim)
        prebound = self._available.prebound_to(claim)
        provision = provision_for(claim, self._listers, self._capacities)
        return DelayedClaim(claim, prebound, volumes, volumes.fitting(claim), provision)

    def _check_bound_claims(self, volumes: Iterable[PersistentVolume | None], nodes: Nodes) -> tuple[Mask, Mask, str]:
        """Say from which rows a bound volume is out of reach, on which one is missing before that, and any error."""
        is_out_of_reach, error = np.zeros(len(nodes), dtype=bool), ""
        for volume in volumes:
            if volume is None:
                return is_out_of_reach, ~is_out_of_reach, error
            if reach_of(volume) is None:
                continue
            is_asked = ~is_out_of_reach if nodes.asked is None else nodes.asked & ~is_out_of_reach
            error = error or self.migrations.error(volume, nodes, is_asked)
            is_out_of_reach |= ~self.migrations.admitted(volume, nodes)
        return is_out_of_reach, np.zeros(len(nodes), dtype=bool), error


@dataclass(frozen=True, slots=True, eq=False)
class VolumeNeeds(Incremental):
    """What the volumes of a pod ask of nodes, as things stand."""

    #: The volumes of bound claims; None where there is no such volume.
    bound: tuple[PersistentVolume | None, ...] = ()
    #: Those whose volume is being made first, then the smallest first.
    delayed: tuple[DelayedClaim, ...] = ()

    @property
    def reaches(self) -> tuple[Hashable, ...]:
        """All that decides where the volumes of bound claims can be reached, in their order."""
        return tuple([None if volume is None else (reach_of(volume),) for volume in self.bound])

    def changed_rows(self, before: Any, nodes: Nodes) -> Rows | None:
        if self.delayed or before.delayed:
            return None
        return NO_ROWS if self.reaches == before.reaches else None


@dataclass(frozen=True, slots=True)
class DelayedClaim:
    """A claim that gets its volume when a node is chosen, and where that may come from."""

    claim: PersistentVolumeClaim
    #: By rank; it gets one of them or none.
    prebound: tuple[PersistentVolume, ...]
    available: ClassVolumes
    fitting: Mask
    provision: Provision

    @property
    def selected_node(self) -> str | None:
        """The node where its volume is being made already."""
        return self.claim.metadata.annotations.get(SELECTED_NODE)


@dataclass(frozen=True, slots=True)
class FoundVolumes:
    """What stands in the way on each row, and what would be done where nothing does."""

    is_out_of_reach: Mask
    lacks_bound: Mask
    #: Why there is no saying whether a row reaches the volumes that are bound; "" if it can be said.
    error: str
    #: None if no volumes are to be found or made.
    lacks_volume: Mask | None = None
    lacks_space: Mask | None = None
    matches: tuple[VolumeMatch, ...] = ()
    #: Claims for which volumes would be made, and on which rows, in that order.
    provisions: tuple[tuple[DelayedClaim, Mask], ...] = ()

    def pod_volumes(self, position: int, node_name: str) -> PodVolumes:
        """Return what is to be done for the claims on one row."""
        found = ((match.volume(position), match.wanted.claim) for match in self.matches)
        made = tuple(delayed.claim for delayed, is_made in self.provisions if is_made[position])
        return PodVolumes(node_name, tuple((volume, claim) for volume, claim in found if volume is not None), made)


@dataclass(frozen=True, slots=True)
class VolumeMatch:
    """Which existing volume a claim would get on each row: one that is pre-bound to it, or an available one."""

    wanted: DelayedClaim
    prebound: Ranks
    available: Ranks

    @property
    def is_found(self) -> Mask:
        found: Mask = (self.prebound != NOTHING) | (self.available != NOTHING)
        return found

    def volume(self, position: int) -> PersistentVolume | None:
        """Return the volume for one row."""
        prebound, available = int(self.prebound[position]), int(self.available[position])
        if prebound != NOTHING:
            return self.wanted.prebound[prebound]
        return self.wanted.available.volumes[available] if available != NOTHING else None


def _order(delayed: DelayedClaim) -> tuple[bool, int, int]:
    size = request_of(delayed.claim)
    if delayed.selected_node is not None:
        return False, 0, 0
    return True, size.value, size.milli_value


def _is_elsewhere(wanted: Iterable[DelayedClaim], nodes: Nodes) -> Mask:
    """Say for which rows the volume of some claim is being made on another node."""
    is_elsewhere = np.zeros(len(nodes), dtype=bool)
    for delayed in wanted:
        if delayed.selected_node is not None:
            is_elsewhere |= ~nodes.with_names(frozenset((delayed.selected_node,)))
    return is_elsewhere


def _match(delayed: DelayedClaim, nodes: Nodes, before: Sequence[VolumeMatch]) -> VolumeMatch:
    """Find a volume for a claim on each row, other than what the claims before it get there."""
    prebound, is_open = nothing(len(nodes)), np.ones(len(nodes), dtype=bool)
    for rank, volume in enumerate(delayed.prebound):
        is_taken = np.zeros(len(nodes), dtype=bool)
        for other in before:
            if other.wanted.claim is delayed.claim:
                is_taken |= other.prebound == rank
        prebound[is_open & ~is_taken & admitted(required(volume), nodes)] = rank
        is_open &= is_taken
    available = nothing(len(nodes))
    if delayed.fitting.any() and is_open.any():
        taken = [other.available for other in before if other.wanted.available is delayed.available]
        available = np.where(is_open, delayed.available.index.first(nodes, delayed.fitting, taken), NOTHING)
    return VolumeMatch(delayed, prebound, available)


def _to_make(
    wanted: Iterable[DelayedClaim], matches: Iterable[VolumeMatch], is_asked: Mask
) -> list[tuple[DelayedClaim, Mask]]:
    """Return the claims for which volumes must be made, and on which of the rows asked about."""
    making = [(delayed, is_asked) for delayed in wanted if delayed.selected_node is not None]
    return making + [(match.wanted, is_asked & ~match.is_found) for match in matches]


def _check_provisions(making: Iterable[tuple[DelayedClaim, Mask]], nodes: Nodes) -> tuple[Mask, Mask]:
    """Say on which rows a volume cannot be made, and on which there is no space; the first claim to fail decides."""
    unmade, lacks_space = np.zeros(len(nodes), dtype=bool), np.zeros(len(nodes), dtype=bool)
    for delayed, is_asked in making:
        asked = is_asked & ~unmade & ~lacks_space
        if not asked.any():
            continue
        is_allowed = admitted(delayed.provision.nodes, nodes)
        unmade |= asked & ~is_allowed
        lacks_space |= asked & is_allowed & ~delayed.provision.has_space(nodes)
    return unmade, lacks_space

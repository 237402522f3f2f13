"""What stands in the way of a pod's volumes on each node, and what would be done for them there.

A claim that is bound ties the pod to where its volume is. One that waits for its first consumer gets a volume meant for
it, or the smallest free one that fits, each volume once; failing that, one is made, if that can be done there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from stowplan.framework.handle import Listers
from stowplan.model.storage import PersistentVolume, PersistentVolumeClaim
from stowplan.plugins.volumebinding.capacities import Capacities
from stowplan.plugins.volumebinding.migration import Migrations
from stowplan.plugins.volumebinding.node_affinity import admitted, required
from stowplan.plugins.volumebinding.plan import Plan
from stowplan.plugins.volumebinding.provisioning import Provision, provision_for
from stowplan.plugins.volumebinding.reach import NOTHING, Ranks, nothing
from stowplan.plugins.volumebinding.shelves import Shelf, Shelves, request_of
from stowplan.plugins.volumes.annotations import SELECTED_NODE
from stowplan.plugins.volumes.claims import Sorted
from stowplan.table.columns import Mask
from stowplan.table.nodes import Nodes


@dataclass(frozen=True, slots=True)
class Delayed:
    """A claim that gets its volume when a node is chosen, and where that may come from."""

    claim: PersistentVolumeClaim
    #: By rank; it gets one of them or none.
    promised: tuple[PersistentVolume, ...]
    shelf: Shelf
    fitting: Mask
    provision: Provision

    @property
    def selected_node(self) -> str | None:
        """The node where its volume is being made already."""
        return self.claim.metadata.annotations.get(SELECTED_NODE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the volumes of a pod ask of nodes, as things stand."""

    #: The volumes of bound claims; None where there is no such volume.
    bound: tuple[PersistentVolume | None, ...] = ()
    #: Those whose volume is being made first, then the smallest first.
    delayed: tuple[Delayed, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """Which existing volume a claim would get on each row: one meant for it, or one off the shelf."""

    wanted: Delayed
    promised: Ranks
    shelved: Ranks

    @property
    def is_found(self) -> Mask:
        found: Mask = (self.promised != NOTHING) | (self.shelved != NOTHING)
        return found

    def volume(self, position: int) -> PersistentVolume | None:
        """Return the volume for one row."""
        promised, shelved = int(self.promised[position]), int(self.shelved[position])
        if promised != NOTHING:
            return self.wanted.promised[promised]
        return self.wanted.shelf.volumes[shelved] if shelved != NOTHING else None


@dataclass(frozen=True, slots=True)
class Outlook:
    """What stands in the way on each row, and what would be done where nothing does."""

    is_out_of_reach: Mask
    lacks_volume: Mask
    lacks_space: Mask
    lacks_bound: Mask
    matches: tuple[Match, ...]
    #: Claims for which volumes would be made, and on which rows, in that order.
    provisions: tuple[tuple[Delayed, Mask], ...]

    def plan(self, position: int, node_name: str) -> Plan:
        """Return what is to be done for the claims on one row."""
        found = ((match.volume(position), match.wanted.claim) for match in self.matches)
        made = tuple(delayed.claim for delayed, is_made in self.provisions if is_made[position])
        return Plan(node_name, tuple((volume, claim) for volume, claim in found if volume is not None), made)


class Search:
    """Looks for volumes in what the listers show; what it derives of that it keeps as long as it holds."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._shelves = Shelves(listers)
        self._capacities = Capacities(listers)
        self.migrations = Migrations(listers)

    def prepare(self, claims: Sorted) -> Wanted:
        """Find out what claims ask of nodes, apart from any node."""
        bound = tuple(self._listers.persistent_volume(claim.spec.volume_name) for claim in claims.bound)
        delayed = sorted(map(self._delayed, claims.delayed), key=_order)
        return Wanted(bound, tuple(delayed))

    def look(self, wanted: Wanted, nodes: Nodes) -> Outlook:
        """Say how things stand on each row."""
        is_out_of_reach, lacks_bound = self._look_at_bound(wanted.bound, nodes)
        is_elsewhere = _is_elsewhere(wanted.delayed, nodes)
        matches: list[Match] = []
        for delayed in wanted.delayed:
            if delayed.selected_node is None:
                matches.append(_match(delayed, nodes, matches))
        making = _to_make(wanted.delayed, matches, ~is_elsewhere)
        unmade, lacks_space = _look_at_provisions(making, nodes)
        return Outlook(
            is_out_of_reach=is_out_of_reach,
            lacks_volume=is_elsewhere | unmade,
            lacks_space=lacks_space,
            lacks_bound=lacks_bound,
            matches=tuple(matches),
            provisions=tuple(making),
        )

    def fault(self, wanted: Wanted, nodes: Nodes) -> str:
        """Return why there is no saying whether a row reaches the volumes that are bound; "" if it can be said."""
        is_asked = np.ones(len(nodes), dtype=bool) if nodes.asked is None else nodes.asked.copy()
        for volume in wanted.bound:
            if volume is None:
                break
            problem = self.migrations.fault(volume, nodes, is_asked)
            if problem:
                return problem
            is_asked &= self.migrations.admitted(volume, nodes)
        return ""

    def _delayed(self, claim: PersistentVolumeClaim) -> Delayed:
        shelf = self._shelves.shelf_for(claim)
        promised = self._shelves.promised_to(claim)
        provision = provision_for(claim, self._listers, self._capacities)
        return Delayed(claim, promised, shelf, shelf.fitting(claim), provision)

    def _look_at_bound(self, volumes: Iterable[PersistentVolume | None], nodes: Nodes) -> tuple[Mask, Mask]:
        """Say from which rows a bound volume is out of reach, and on which one is missing before that shows."""
        is_out_of_reach = np.zeros(len(nodes), dtype=bool)
        for volume in volumes:
            if volume is None:
                return is_out_of_reach, ~is_out_of_reach
            is_out_of_reach |= ~self.migrations.admitted(volume, nodes)
        return is_out_of_reach, np.zeros(len(nodes), dtype=bool)


def _order(delayed: Delayed) -> tuple[bool, int, int]:
    size = request_of(delayed.claim)
    if delayed.selected_node is not None:
        return False, 0, 0
    return True, size.value, size.milli_value


def _is_elsewhere(wanted: Iterable[Delayed], nodes: Nodes) -> Mask:
    """Say for which rows the volume of some claim is being made on another node."""
    is_elsewhere = np.zeros(len(nodes), dtype=bool)
    for delayed in wanted:
        if delayed.selected_node is not None:
            is_elsewhere |= ~nodes.with_names(frozenset((delayed.selected_node,)))
    return is_elsewhere


def _match(delayed: Delayed, nodes: Nodes, before: Sequence[Match]) -> Match:
    """Find a volume for a claim on each row, other than what the claims before it get there."""
    promised, is_open = nothing(len(nodes)), np.ones(len(nodes), dtype=bool)
    for rank, volume in enumerate(delayed.promised):
        is_taken = np.zeros(len(nodes), dtype=bool)
        for other in before:
            if other.wanted.claim is delayed.claim:
                is_taken |= other.promised == rank
        promised[is_open & ~is_taken & admitted(required(volume), nodes)] = rank
        is_open &= is_taken
    shelved = nothing(len(nodes))
    if delayed.fitting.any() and is_open.any():
        taken = [other.shelved for other in before if other.wanted.shelf is delayed.shelf]
        shelved = np.where(is_open, delayed.shelf.reach.first(nodes, delayed.fitting, taken), NOTHING)
    return Match(delayed, promised, shelved)


def _to_make(wanted: Iterable[Delayed], matches: Iterable[Match], is_asked: Mask) -> list[tuple[Delayed, Mask]]:
    """Return the claims for which volumes must be made, and on which of the rows asked about."""
    making = [(delayed, is_asked) for delayed in wanted if delayed.selected_node is not None]
    return making + [(match.wanted, is_asked & ~match.is_found) for match in matches]


def _look_at_provisions(making: Iterable[tuple[Delayed, Mask]], nodes: Nodes) -> tuple[Mask, Mask]:
    """Say on which rows a volume cannot be made, and on which there is no space; the first claim to fail decides."""
    unmade, lacks_space = np.zeros(len(nodes), dtype=bool), np.zeros(len(nodes), dtype=bool)
    for delayed, is_asked in making:
        asked = is_asked & ~unmade & ~lacks_space
        if not asked.any():
            continue
        is_allowed = delayed.provision.allowed(nodes)
        unmade |= asked & ~is_allowed
        lacks_space |= asked & is_allowed & ~delayed.provision.has_space(nodes)
    return unmade, lacks_space

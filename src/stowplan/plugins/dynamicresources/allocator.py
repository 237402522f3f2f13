"""Which devices the claims of a pod would be given on a node: the first that fit, in upstream's order of trying.

`asks.py` reads the claims, `inventory.py` knows what the node can reach, `search.py` tries, `results.py` tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stowplan.model.dra import AllocationResult, ResourceClaim
from stowplan.model.node import Node
from stowplan.plugins.dynamicresources import asks, results
from stowplan.plugins.dynamicresources.asks import (
    MOST_DEVICES,
    AllocationError,
    Ask,
    ClaimAsks,
    FindClass,
    NodeAllocationError,
)
from stowplan.plugins.dynamicresources.counters import Counters
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.holding import Cluster, Holding
from stowplan.plugins.dynamicresources.identity import DeviceId, InUse, PoolId, SharedId
from stowplan.plugins.dynamicresources.inventory import Inventory, InventoryError, Reachable
from stowplan.plugins.dynamicresources.pools import OfferedDevice
from stowplan.plugins.dynamicresources.results import score
from stowplan.plugins.dynamicresources.search import IsLate, Search, Want, never
from stowplan.plugins.dynamicresources.selection import CelPrograms

__all__ = [
    "AllocationError",
    "Allocator",
    "DeviceId",
    "Features",
    "InUse",
    "NodeAllocationError",
    "PoolId",
    "SharedId",
    "score",
]


class Allocator:
    """Allocates a fixed list of claims on one node after the other. Make a new one when anything it is given changes.

    `inventory` brings the features (`Inventory(slices, features)`), `cel` is kept by the plugin. Share ids are derived
    from the claim (its uid and resource version), so that no randomness is needed.
    """

    def __init__(
        self,
        claims: Sequence[ResourceClaim],
        device_class: FindClass,
        inventory: Inventory,
        in_use: InUse,
        cel: CelPrograms,
    ) -> None:
        self._claims = asks.read(claims, device_class, inventory.features)
        self._inventory = inventory
        # What a claim needs, if it is the same on every node.
        self._everywhere: list[Sequence[Sequence[Want]] | None] = [None] * len(self._claims)
        self._cluster = Cluster(in_use, Counters(in_use), inventory.features, cel)

    def allocate(self, node: Node, is_late: IsLate = never) -> tuple[AllocationResult, ...] | None:
        """Return one result for each claim, in their order; None if they do not fit on the node.

        `is_late` says whether the time for this node is over.
        Raise NodeAllocationError for this node only, AllocationError for all of them.
        """
        try:
            reachable = self._inventory.reachable(node)
        except InventoryError as error:
            raise AllocationError(str(error)) from error
        holding = Holding(self._cluster, node, reachable, [[] for _ in self._claims])
        wants = [self._begin(index, reachable, holding) for index in range(len(self._claims))]
        given = Search(wants, reachable.devices, holding, is_late).result()
        if given is None:
            if any(pool.is_invalid for pool in reachable.pools):
                raise NodeAllocationError("invalid resource pools were encountered")
            return None
        features = self._inventory.features
        return tuple(
            results.allocation(claim.claim, devices, node.name, features)
            for claim, devices in zip(self._claims, given, strict=True)
        )

    def _begin(self, index: int, reachable: Reachable, holding: Holding) -> Sequence[Sequence[Want]]:
        """Return what a claim needs on a node, and put up its constraints. Raise AllocationError."""
        claim, wants = self._claims[index], self._everywhere[index]
        if wants is None:
            wants = _wants(claim, reachable, holding)
            if not claim.wants_all:
                self._everywhere[index] = wants
        if claim.claim.spec.devices.constraints:
            holding.constraints[index] = claim.constraints()
        return wants


def _wants(claim: ClaimAsks, reachable: Reachable, holding: Holding) -> Sequence[Sequence[Want]]:
    """Return how many devices each request of a claim needs on a node. Raise AllocationError."""
    wants = [tuple(_want(ask, reachable, holding) for ask in alternatives) for alternatives in claim.requests]
    least = sum(min(want.needed for want in alternatives) for alternatives in wants)
    if least > MOST_DEVICES:
        raise AllocationError(
            f"claim {claim.claim.key}: number of requested devices {least} exceeds the claim limit of {MOST_DEVICES}"
        )
    return wants


def _want(ask: Ask, reachable: Reachable, holding: Holding) -> Want:
    if ask.problem:
        raise AllocationError(ask.problem)
    if not ask.wants_all:
        return Want(ask, ask.count)
    devices = tuple(_all_devices(ask, reachable, holding))
    return Want(ask, len(devices), devices)


def _all_devices(ask: Ask, reachable: Reachable, holding: Holding) -> Iterator[OfferedDevice]:
    """Yield every device that an ask stands for, in use or not. Raise AllocationError if that cannot be known yet."""
    for pool in reachable.pools:
        if pool.is_incomplete or pool.is_invalid:
            state = "being updated" if pool.is_incomplete else "invalid"
            raise AllocationError(
                f"claim {ask.claim}, request {ask.own_name}: asks for all devices,"
                f" but resource pool {pool.id} is currently {state}"
            )
        yield from (offered for offered in pool.devices if holding.suits(ask, offered))

"""The pools of devices: slices sorted into pools, and which of them a node can reach, in the order they are tried.

An inventory is kept; `refresh` takes in the slices again and rebuilds only the pools whose slices changed. What a node
sees is worked out when it is asked for, and kept until one of its pools or its labels change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from stowplan.model.device_pool import ResourceSlice
from stowplan.model.node import Node
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.identity import PoolId
from stowplan.plugins.dynamicresources.pool_slices import PoolSlices
from stowplan.plugins.dynamicresources.pools import OfferedDevice, Pool
from stowplan.plugins.dynamicresources.reach import ReachError


class InventoryError(Exception):
    """A slice whose choice of nodes cannot be understood; the text says which."""


@dataclass(frozen=True, slots=True, eq=False)
class Reachable:
    """What one node can reach: its pools in the order they are tried, and the devices of those that can be used."""

    stamp: int
    pools: tuple[Pool, ...]
    devices: tuple[OfferedDevice, ...]
    labels: dict[str, str]


class Inventory:
    """Every pool of the cluster, by the nodes that can reach it."""

    def __init__(self, slices: Iterable[ResourceSlice], features: Features) -> None:
        self.features = features
        self._pools: dict[PoolId, PoolSlices] = {}
        self._local: dict[str, dict[PoolId, PoolSlices]] = {}
        self._shared: dict[PoolId, PoolSlices] = {}
        self._reachable: dict[str, Reachable] = {}
        self._outdated: dict[str, Reachable] = {}
        self._stamps = 0
        self.refresh(slices)

    def refresh(self, slices: Iterable[ResourceSlice]) -> None:
        """Take in all slices of the cluster anew; pools stay as they are if their slices are the same objects."""
        found: defaultdict[PoolId, list[ResourceSlice]] = defaultdict(list)
        for each in slices:
            found[PoolId(each.spec.driver, each.spec.pool.name)].append(each)
        for id in self._pools.keys() - found.keys():
            self._remove(id)
        for id, listed in found.items():
            known = self._pools.get(id)
            if known is None or not known.consists_of(listed):
                self._remove(id)
                self._add(PoolSlices(id, listed, self.features.partitionable_devices))

    def reachable(self, node: Node) -> Reachable:
        """Return what a node can reach. Raise InventoryError."""
        known = self._reachable.get(node.name)
        if known is not None and (not self._shared or known.labels == node.labels):
            return known
        fresh = self._look(node, known or self._outdated.pop(node.name, None))
        self._reachable[node.name] = fresh
        return fresh

    def pools_for(self, node: Node) -> tuple[Pool, ...]:
        """Return the pools with devices for a node, in the order in which they are tried. Raise InventoryError."""
        return self.reachable(node).pools

    def stamp(self, node: Node) -> int:
        """Return a number that stays the same as long as the node reaches the same pools with the same content."""
        return self.reachable(node).stamp

    def home(self, pool: PoolId) -> str | None:
        """Return the only node that can reach a pool; None if there may be several, or if the pool is not known."""
        known = self._pools.get(pool)
        if known is None or known.is_shared or len(known.local_nodes) != 1:
            return None
        return next(iter(known.local_nodes))

    def _look(self, node: Node, before: Reachable | None) -> Reachable:
        seen = {**self._local.get(node.name, {}), **self._shared}
        pools = sorted((pool for each in seen.values() if (pool := _pool_for(each, node))), key=lambda pool: pool.id)
        # Devices that need no preparation are tried first.
        pools.sort(key=lambda pool: pool.has_binding_conditions)
        if before is not None and before.pools == tuple(pools):
            return Reachable(before.stamp, before.pools, before.devices, node.labels)
        self._stamps += 1
        return Reachable(
            self._stamps, tuple(pools), tuple(each for pool in pools for each in pool.devices), node.labels
        )

    def _add(self, pool: PoolSlices) -> None:
        self._pools[pool.id] = pool
        for name in pool.local_nodes:
            self._local.setdefault(name, {})[pool.id] = pool
        if pool.is_shared:
            self._shared[pool.id] = pool
        self._forget(pool)

    def _remove(self, id: PoolId) -> None:
        pool = self._pools.pop(id, None)
        if pool is None:
            return
        for name in pool.local_nodes:
            del self._local[name][id]
        self._shared.pop(id, None)
        self._forget(pool)

    def _forget(self, pool: PoolSlices) -> None:
        """Look again, when asked, at what the nodes of a pool can reach."""
        for name in pool.local_nodes:
            self._reachable.pop(name, None)
        if pool.is_shared and self._reachable:
            # Most of them will see no difference; what they saw tells.
            self._outdated, self._reachable = self._reachable, {}


def _pool_for(pool: PoolSlices, node: Node) -> Pool | None:
    try:
        return pool.for_node(node)
    except ReachError as error:
        raise InventoryError(f"gather pool information: {error}") from error

"""How many devices serve an extended resource on each node, and how many of them are taken: what scores count by.

Unlike allocation, this looks at every slice, of whatever generation and whether its pool is complete or not. As in
`outcomes.py`, nodes are told apart by name and labels, and only what may have changed is counted again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from stowplan.model.device_pool import ResourceSlice
from stowplan.model.dra import DeviceClass
from stowplan.model.node import Node
from stowplan.plugins.dynamicresources import extended
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.handle import ClaimsHandle
from stowplan.plugins.dynamicresources.identity import PoolId
from stowplan.plugins.dynamicresources.outcomes import identity
from stowplan.plugins.dynamicresources.pools import OfferedDevice
from stowplan.plugins.dynamicresources.reach import Reach, ReachError
from stowplan.plugins.dynamicresources.selection import CelError, CelPrograms
from stowplan.table.columns import Mask, Scores
from stowplan.table.nodes import Nodes


class ServedAmounts:
    """Counts devices by resource, for all nodes. Everything that is read is noted."""

    def __init__(self, handle: ClaimsHandle) -> None:
        self._listers = handle.listers
        self._claims = handle.claims
        self._is_on = handle.feature_gates.enabled("DRAExtendedResource")
        self._cel = CelPrograms(Features.from_gates(handle.feature_gates))
        self._classes: dict[str, str] = {}
        self._versions = (-1, -1)
        self._stock = _Stock(())
        self._counts: dict[str, _Counts] = {}

    def serves(self, resource: str) -> bool:
        """Say whether devices may serve a resource."""
        if not self._is_on or not extended.may_be_served(resource):
            return False
        self._refresh()
        return resource in self._classes

    def of(self, resource: str, nodes: Nodes) -> tuple[Scores, Scores]:
        """Return, by row, how many devices serve a resource, and how many of them are taken."""
        self._refresh()
        self._claims.refresh()
        counts = self._counts.get(resource)
        if counts is None:
            counts = self._counts[resource] = _Counts(self._claims.usage.position)
        touched = self._claims.usage.touched_since(counts.position)
        counts.forget(touched, self._claims.usage.position)
        coded = nodes.coded("devices", identity)
        found = self._listers.device_class(self._classes[resource])
        for row in counts.unknown(coded.codes, coded.code_of):
            counts.put(int(coded.codes[row]), self._count(found, nodes.node(row)))
        return counts.has[coded.codes], counts.taken[coded.codes]

    def _refresh(self) -> None:
        versions = self._listers.version("ResourceSlice"), self._listers.version("DeviceClass")
        if versions != self._versions:
            self._versions = versions
            self._classes = extended.classes_by_resource(self._listers.device_classes())
            self._stock = _Stock(tuple(self._listers.resource_slices()))
            self._counts.clear()

    def _count(self, found: DeviceClass | None, node: Node) -> _Count:
        """Count the devices of a class for a node; none, as upstream, if one of them cannot be judged."""
        in_use = self._claims.usage.in_use
        shared = {share.device_id for share in in_use.shared}
        pools, has, taken = set(), 0, 0
        try:
            for offered in self._stock.reached_from(node):
                pools.add(offered.id.pool_id)
                if found is not None and self._is_of_class(found, offered):
                    has += 1
                    taken += offered.id in in_use.devices or offered.id in shared or offered.id in in_use.consumed
        except (CelError, ReachError):
            return _Count(frozenset(pools), 0, 0)
        return _Count(frozenset(pools), has, taken)

    def _is_of_class(self, found: DeviceClass, offered: OfferedDevice) -> bool:
        selectors = (selector.cel for selector in found.spec.selectors if selector.cel is not None)
        return all(self._cel.matches(cel.expression, offered) for cel in selectors)


class _Count(NamedTuple):
    """What a node reaches: the pools, the devices of the class, and how many of them are taken."""

    pools: frozenset[PoolId]
    has: int
    taken: int


class _Counts:
    """Counts by code of the node."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.has: Scores = np.zeros(0, dtype=np.int64)
        self.taken: Scores = np.zeros(0, dtype=np.int64)
        self._is_known: Mask = np.zeros(0, dtype=bool)
        self._code_of: object = None
        self._by_pool: dict[PoolId, set[int]] = {}

    def forget(self, touched: Sequence[PoolId] | None, position: int) -> None:
        """Forget the nodes that reach pools of which more or less is taken than before; None: all of them."""
        if touched is None:
            self._is_known[:] = False
        else:
            for pool in set(touched):
                self._is_known[list(self._by_pool.get(pool, ()))] = False
        self.position = position

    def unknown(self, codes: Scores, code_of: object) -> Iterator[int]:
        """Yield a row for each code that is not known."""
        if code_of is not self._code_of:
            self._code_of = code_of
            self._is_known[:] = False
            self._by_pool.clear()
        missing = int(codes.max(initial=-1)) + 1 - len(self.has)
        if missing > 0:
            more = np.zeros(missing, dtype=np.int64)
            self.has, self.taken = np.append(self.has, more), np.append(self.taken, more)
            self._is_known = np.append(self._is_known, more.astype(bool))
        yield from np.flatnonzero(~self._is_known[codes]).tolist()

    def put(self, code: int, count: _Count) -> None:
        self.has[code], self.taken[code] = count.has, count.taken
        self._is_known[code] = True
        for pool in count.pools:
            self._by_pool.setdefault(pool, set()).add(code)


class _Stock:
    """The slices, by the node that alone reaches them."""

    def __init__(self, slices: Sequence[ResourceSlice]) -> None:
        self._local: dict[str, list[_Shelf]] = {}
        self._shared: list[_Shelf] = []
        for found in slices:
            shelf = _Shelf.of(found)
            if shelf.reach is not None and shelf.reach.node_name:
                self._local.setdefault(shelf.reach.node_name, []).append(shelf)
            else:
                self._shared.append(shelf)

    def reached_from(self, node: Node) -> Iterator[OfferedDevice]:
        """Yield the devices that a node reaches. Raise ReachError."""
        for shelf in (*self._local.get(node.name, ()), *self._shared):
            yield from shelf.reached_from(node)


class _Shelf(NamedTuple):
    """The devices of a slice, and who reaches them: a device's own reach counts where the slice has none."""

    reach: Reach | None
    devices: tuple[OfferedDevice, ...]

    @staticmethod
    def of(found: ResourceSlice) -> _Shelf:
        is_by_device = bool(found.spec.per_device_node_selection)
        devices = (
            # As upstream, selectors are not told that a device may be shared.
            OfferedDevice(
                found,
                msgspec.structs.replace(device, allow_multiple_allocations=False),
                Reach.of_device(device) if is_by_device else None,
            )
            for device in found.spec.devices
        )
        return _Shelf(None if is_by_device else Reach.of_slice(found.spec), tuple(devices))

    def reached_from(self, node: Node) -> Iterator[OfferedDevice]:
        # As upstream, a slice that does not say for whom it is counts everywhere.
        if self.reach is None or not self.reach.is_given or self.reach.includes(node):
            yield from (each for each in self.devices if each.reach is None or each.reach.includes(node))

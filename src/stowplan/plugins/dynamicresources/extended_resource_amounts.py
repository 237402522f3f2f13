"""How many devices serve an extended resource on each node, and how many of them are taken: what scores count by.

Unlike allocation, this looks at every slice, of whatever generation and whether its pool is complete or not. As in
`dra_state.py`, nodes are told apart by name and labels, and only what may have changed is counted again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from stowplan.model.device_pool import ResourceSlice
from stowplan.model.dra import DeviceClass
from stowplan.model.node import Node
from stowplan.plugins.dynamicresources import extended_resources
from stowplan.plugins.dynamicresources.allocated_devices import PoolId
from stowplan.plugins.dynamicresources.cel_selectors import CelError, CelPrograms
from stowplan.plugins.dynamicresources.claim_tracker import ClaimsHandle
from stowplan.plugins.dynamicresources.dra_state import node_identity
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.pools import NodeSelection, NodeSelectionError, OfferedDevice
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes

_UNKNOWN: Final = -1
#: Who reaches a slice, and its devices.
_Slice = tuple[NodeSelection | None, tuple[OfferedDevice, ...]]


class ExtendedResourceAmounts:
    """Counts devices by resource, for all nodes. Everything that is read is noted."""

    def __init__(self, handle: ClaimsHandle) -> None:
        self._listers = handle.listers
        self._claims = handle.claims
        self._is_on = handle.feature_gates.enabled("DRAExtendedResource")
        self._cel = CelPrograms(Features.from_gates(handle.feature_gates))
        self._classes: dict[str, str] = {}
        self._versions = (-1, -1)
        self._slices = _Slices(())
        self._counts: dict[str, _NodeCounts] = {}

    def serves(self, resource: str) -> bool:
        """Say whether devices may serve a resource."""
        if not self._is_on or not extended_resources.may_be_served(resource):
            return False
        self._refresh()
        return resource in self._classes

    def of(self, resource: str, nodes: Nodes) -> tuple[Scores, Scores]:
        """Return, by row, how many devices serve a resource, and how many of them are taken."""
        self._refresh()
        self._claims.refresh()
        counts = self._counts.get(resource)
        if counts is None:
            counts = self._counts[resource] = _NodeCounts(self._claims.allocated.position)
        touched = self._claims.allocated.touched_since(counts.position)
        counts.forget(touched, self._claims.allocated.position)
        coded = nodes.coded("devices", node_identity)
        found = self._listers.get(DeviceClass, "", self._classes[resource])
        for row in counts.unknown(coded.codes, coded.code_of):
            counts.put(int(coded.codes[row]), *self._count(found, nodes.node(row)))
        return counts.by_code[0, coded.codes], counts.by_code[1, coded.codes]

    def _refresh(self) -> None:
        versions = self._listers.version("ResourceSlice"), self._listers.version("DeviceClass")
        if versions != self._versions:
            self._versions = versions
            self._classes = extended_resources.classes_by_resource(self._listers.list(DeviceClass))
            self._slices = _Slices(self._listers.list(ResourceSlice))
            self._counts.clear()

    def _count(self, found: DeviceClass | None, node: Node) -> tuple[set[PoolId], int, int]:
        """Return the pools that a node reaches, how many devices of a class it does, and how many of them are taken.

        As upstream there are none if one of them cannot be judged.
        """
        allocated = self._claims.allocated.state
        shared = {share.device for share in allocated.shared}
        pools: set[PoolId] = set()
        has, taken = 0, 0
        try:
            for offered in self._slices.reached_from(node):
                pools.add(offered.id.pool_id)
                if found is not None and self._is_of_class(found, offered):
                    has += 1
                    taken += offered.id in allocated.devices or offered.id in shared or offered.id in allocated.consumed
        except (CelError, NodeSelectionError):
            return pools, 0, 0
        return pools, has, taken

    def _is_of_class(self, found: DeviceClass, offered: OfferedDevice) -> bool:
        selectors = (selector.cel for selector in found.spec.selectors if selector.cel is not None)
        return all(self._cel.matches(cel.expression, offered) for cel in selectors)


class _NodeCounts:
    """The devices of one class by code of the node."""

    def __init__(self, position: int) -> None:
        self.position = position
        #: How many there are, and how many of them are taken; negative where that is not known.
        self.by_code: NDArray[np.int64] = np.zeros((2, 0), dtype=np.int64)  # (has and taken, codes)
        self._code_of: object = None
        self._by_pool: dict[PoolId, set[int]] = {}

    def forget(self, touched: Sequence[PoolId] | None, position: int) -> None:
        """Forget the nodes that reach pools of which more or less is taken than before; None: all of them."""
        if touched is None:
            self.by_code[:] = _UNKNOWN
        else:
            for pool in set(touched):
                self.by_code[:, list(self._by_pool.get(pool, ()))] = _UNKNOWN
        self.position = position

    def unknown(self, codes: Scores, code_of: object) -> Iterator[int]:
        """Yield a row for each code that is not known."""
        if code_of is not self._code_of:
            self._code_of = code_of
            self.by_code[:] = _UNKNOWN
            self._by_pool.clear()
        missing = int(codes.max(initial=-1)) + 1 - self.by_code.shape[1]
        if missing > 0:
            self.by_code = np.append(self.by_code, np.full((2, missing), _UNKNOWN), axis=1)
        yield from np.flatnonzero(self.by_code[0, codes] == _UNKNOWN).tolist()

    def put(self, code: int, pools: Iterable[PoolId], has: int, taken: int) -> None:
        """Note what is counted for a node, and the pools on which that depends."""
        self.by_code[:, code] = has, taken
        for pool in pools:
            self._by_pool.setdefault(pool, set()).add(code)


class _Slices:
    """The slices, by the node that alone reaches them."""

    def __init__(self, slices: Iterable[ResourceSlice]) -> None:
        self._local: dict[str, list[_Slice]] = {}
        self._shared: list[_Slice] = []
        for found in slices:
            # A device's own selection counts where the slice leaves it to the devices.
            selection = None if found.spec.per_device_node_selection else NodeSelection.of(found.spec)
            home = selection.node_name if selection is not None else ""
            # As upstream, selectors are not told that a device may be shared.
            devices = (replace(device, allow_multiple_allocations=False) for device in found.spec.devices)
            listed = self._local.setdefault(home, []) if home else self._shared
            listed.append((selection, tuple(OfferedDevice(found, device) for device in devices)))

    def reached_from(self, node: Node) -> Iterator[OfferedDevice]:
        """Yield the devices that a node reaches. Raise NodeSelectionError."""
        for selection, devices in (*self._local.get(node.name, ()), *self._shared):
            # As upstream, a slice that does not say for whom it is counts everywhere.
            if selection is None or not selection.is_given or selection.includes(node):
                yield from (each for each in devices if each.selection is None or each.selection.includes(node))

"""The slices of one pool: which of them concern a node, which generation counts, and whether all of them are there."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

from stowplan.model.device_pool import ResourceSlice
from stowplan.model.node import Node
from stowplan.plugins.dynamicresources import pools
from stowplan.plugins.dynamicresources.identity import PoolId
from stowplan.plugins.dynamicresources.pools import Pool
from stowplan.plugins.dynamicresources.reach import Reach, ReachError


class PoolSlices:
    """All slices of a pool, of any generation. What nodes see of it is built once for each choice of slices."""

    def __init__(self, id: PoolId, slices: Sequence[ResourceSlice], is_partitionable: bool) -> None:
        self.id = id
        self._listed = tuple(slices)
        self._slices = tuple(sorted(slices, key=lambda found: found.name))
        self._is_partitionable = is_partitionable
        self._homes = [_home(found) for found in self._slices]
        self._reaches = [_reaches(found, is_partitionable) for found in self._slices]
        self._built: dict[tuple[int, ...], Pool | None] = {}
        #: The nodes that have slices of their own.
        self.local_nodes = frozenset(filter(None, self._homes))
        #: Whether there are slices that several nodes may see.
        self.is_shared = any(reaches and not home for home, reaches in zip(self._homes, self._reaches, strict=True))

    def consists_of(self, slices: Sequence[ResourceSlice]) -> bool:
        """Say whether these are the very same slices."""
        if len(slices) != len(self._listed):
            return False
        return all(map(is_, slices, self._listed)) or set(map(id, slices)) == set(map(id, self._listed))

    def for_node(self, node: Node) -> Pool | None:
        """Return the pool as a node sees it, None if it does not. Raise ReachError."""
        concerned = tuple(index for index in range(len(self._slices)) if self._concerns(index, node))
        if concerned not in self._built:
            self._built[concerned] = self._build([self._slices[index] for index in concerned])
        return self._built[concerned]

    def _concerns(self, index: int, node: Node) -> bool:
        try:
            return any(reach.includes(node) for reach in self._reaches[index])
        except ReachError as error:
            name = self._slices[index].name
            raise ReachError(f"failed to perform node selection for slice {name}: {error}") from error

    def _build(self, concerned: Sequence[ResourceSlice]) -> Pool | None:
        if not concerned:
            return None
        newest = max(found.spec.pool.generation for found in concerned)
        current = [found for found in concerned if found.spec.pool.generation == newest]
        # Should they not agree on how many they are, those of the node itself are believed before those of several.
        expected = min(current, key=lambda found: not found.spec.node_name).spec.pool.resource_slice_count
        if len(current) == expected:
            return pools.build(self.id, current, (), self._is_partitionable)
        # The rest may be there, but for other nodes; one of a later generation means that this one is on its way out.
        if any(found.spec.pool.generation > newest for found in self._slices):
            return None
        same = [found for found in self._slices if found.spec.pool.generation == newest]
        if len(same) != expected:
            return Pool(self.id, is_incomplete=True)
        names = {found.name for found in current}
        return pools.build(
            self.id, current, [found for found in same if found.name not in names], self._is_partitionable
        )


def _home(found: ResourceSlice) -> str:
    """Return the only node for which a slice is looked at, "" if it is for every node."""
    return "" if found.spec.shared_counters else found.spec.node_name or ""


def _reaches(found: ResourceSlice, is_partitionable: bool) -> tuple[Reach, ...]:
    """Return who can reach a slice: any of these. Nobody can if it says it in a way that is not known."""
    spec = found.spec
    if not is_partitionable and (spec.per_device_node_selection is not None or spec.shared_counters):
        return ()
    if spec.shared_counters:
        # Counters are needed wherever devices draw on them.
        return (Reach(is_everywhere=True),)
    whole = Reach.of_slice(spec)
    if whole.is_given:
        return (whole,)
    if spec.per_device_node_selection:
        return tuple(Reach.of_device(device) for device in spec.devices)
    return ()

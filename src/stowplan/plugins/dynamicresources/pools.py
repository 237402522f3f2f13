"""Pools of devices: slices sorted into pools, which of them a node can reach, and the pool as that node sees it.

`Inventory` is upstream's GatherPools, kept: `refresh` takes in the slices again and rebuilds only the pools whose
slices changed. What a node sees is worked out when it is asked for, and kept until one of its pools or its labels
change. The allocator tries the devices in the order that `Reachable` has them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_

from stowplan.model import node_selector
from stowplan.model.affinity import NodeSelector
from stowplan.model.device_pool import CounterSet, Device, ResourceSlice, ResourceSliceSpec
from stowplan.model.node import Node
from stowplan.model.node_selector import CompiledNodeSelector, compile_node_selector
from stowplan.plugins.dynamicresources.allocated_devices import DeviceId, PoolId
from stowplan.plugins.dynamicresources.features import Features

_BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")


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
                self._add(PoolSlices(id, listed, self.features))

    def reachable(self, node: Node) -> Reachable:
        """Return what a node can reach. Raise NodeSelectionError."""
        known = self._reachable.get(node.name)
        if known is not None and (not self._shared or known.labels == node.labels):
            return known
        fresh = self._look(node, known or self._outdated.pop(node.name, None))
        self._reachable[node.name] = fresh
        return fresh

    def home(self, pool: PoolId) -> str | None:
        """Return the only node that can reach a pool; None if there may be several, or if the pool is not known."""
        known = self._pools.get(pool)
        if known is None or known.is_shared or len(known.local_nodes) != 1:
            return None
        return next(iter(known.local_nodes))

    def _look(self, node: Node, before: Reachable | None) -> Reachable:
        seen = {**self._local.get(node.name, {}), **self._shared}
        pools = sorted((pool for each in seen.values() if (pool := each.for_node(node))), key=lambda pool: pool.id)
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


@dataclass(frozen=True, slots=True, eq=False)
class Reachable:
    """What one node can reach: its pools in the order they are tried, and the devices of those that can be used.

    The stamp stays the same as long as the node reaches the same pools with the same content.
    """

    stamp: int
    pools: tuple[DevicePool, ...]
    devices: tuple[OfferedDevice, ...]
    labels: dict[str, str]


class PoolSlices:
    """All slices of a pool, of any generation. What nodes see of it is built once for each choice of slices."""

    def __init__(self, id: PoolId, slices: Sequence[ResourceSlice], features: Features) -> None:
        self.id = id
        self._listed = tuple(slices)
        self._slices = tuple(sorted(slices, key=lambda found: found.name))
        self._is_partitionable = features.partitionable_devices
        # Who cannot tell which devices go together ignores slices that say so, as if they were missing.
        self._is_ignored = [_has_groups(found) and not features.compatibility_groups for found in self._slices]
        # The only node for which each slice is looked at, "" if it is for every node.
        homes = [_home(found, features) for found in self._slices]
        self._selections = [
            () if is_ignored else _selections(found, features)
            for found, is_ignored in zip(self._slices, self._is_ignored, strict=True)
        ]
        self._built: dict[tuple[int, ...], DevicePool | None] = {}
        #: The nodes that have slices of their own.
        self.local_nodes = frozenset(filter(None, homes))
        #: Whether there are slices that several nodes may see.
        self.is_shared = any(found and not home for home, found in zip(homes, self._selections, strict=True))

    def consists_of(self, slices: Sequence[ResourceSlice]) -> bool:
        """Say whether these are the very same slices."""
        if len(slices) != len(self._listed):
            return False
        return all(map(is_, slices, self._listed)) or set(map(id, slices)) == set(map(id, self._listed))

    def for_node(self, node: Node) -> DevicePool | None:
        """Return the pool as a node sees it, None if it does not. Raise NodeSelectionError."""
        concerned = tuple(index for index in range(len(self._slices)) if self._concerns(index, node))
        if concerned not in self._built:
            self._built[concerned] = self._build([self._slices[index] for index in concerned])
        return self._built[concerned]

    def _concerns(self, index: int, node: Node) -> bool:
        for place, selection in enumerate(self._selections[index]):
            try:
                if selection.includes(node):
                    return True
            except NodeSelectionError as error:
                text = f"failed to perform node selection for {self._origin(index, place)}: {error}"
                raise NodeSelectionError(f"gather pool information: {text}") from error
        return False

    def _origin(self, index: int, place: int) -> str:
        """Return what says which nodes reach a slice: the slice itself, or else one device after the other."""
        found = self._slices[index]
        if NodeSelection.of(found.spec).is_given:
            return f"slice {found.name}"
        return f"device {found.spec.devices[place].name} in slice {found.name}"

    def _build(self, concerned: Sequence[ResourceSlice]) -> DevicePool | None:
        if not concerned:
            return None
        newest = max(found.spec.pool.generation for found in concerned)
        current = [found for found in concerned if found.spec.pool.generation == newest]
        # Should they not agree on how many they are, those of the node itself are believed before those of several.
        expected = min(current, key=lambda found: not found.spec.node_name).spec.pool.resource_slice_count
        if len(current) == expected:
            return _build_pool(self.id, current, (), self._is_partitionable)
        # The rest may be there, but for other nodes; one of a later generation means that this one is on its way out.
        if any(found.spec.pool.generation > newest for found in self._slices):
            return None
        known = zip(self._slices, self._is_ignored, strict=True)
        same = [found for found, is_ignored in known if found.spec.pool.generation == newest and not is_ignored]
        if len(same) != expected:
            return DevicePool(self.id, is_incomplete=True)
        names = {found.name for found in current}
        elsewhere = [found for found in same if found.name not in names]
        return _build_pool(self.id, current, elsewhere, self._is_partitionable)


@dataclass(frozen=True, slots=True, eq=False)
class DevicePool:
    """A pool as some nodes see it. Without devices if it is incomplete or invalid."""

    id: PoolId
    devices: tuple[OfferedDevice, ...] = ()
    #: Devices for other nodes that draw on the same counters.
    elsewhere: tuple[ResourceSlice, ...] = ()
    counters: Mapping[str, CounterSet] = field(default_factory=dict)
    is_incomplete: bool = False
    invalid_reason: str = ""

    @property
    def is_invalid(self) -> bool:
        return bool(self.invalid_reason)

    @property
    def has_binding_conditions(self) -> bool:
        return any(offered.device.binding_conditions for offered in self.devices)

    def all_devices(self) -> Iterator[tuple[DeviceId, Device]]:
        """Yield the devices for every node."""
        for offered in self.devices:
            yield offered.id, offered.device
        for origin in self.elsewhere:
            for device in origin.spec.devices:
                yield DeviceId(*self.id, device.name), device


class OfferedDevice:
    """A device of a pool, with what the allocator asks of it again and again. Two are the same if they are one object.

    `selection` is None if the device is there for all nodes of its slice; `verdicts` has what selectors said of it.
    """

    __slots__ = ("device", "has_plain_capacity", "id", "origin", "selection", "taints", "verdicts")

    def __init__(self, origin: ResourceSlice, device: Device) -> None:
        self.id = DeviceId(origin.spec.driver, origin.spec.pool.name, device.name)
        self.origin = origin
        self.device = device
        self.selection = NodeSelection.of(device) if origin.spec.per_device_node_selection else None
        self.taints = tuple(taint for taint in device.taints if taint.effect in _BLOCKING_EFFECTS)
        self.has_plain_capacity = not device.allow_multiple_allocations and all(
            capacity.request_policy is None and capacity.value.sign >= 0 for capacity in device.capacity.values()
        )
        self.verdicts: dict[tuple[str, ...], bool] = {}

    def __repr__(self) -> str:
        return f"OfferedDevice({self.id})"


class NodeSelectionError(Exception):
    """A node selector that cannot be understood."""


@dataclass(frozen=True, slots=True)
class NodeSelection:
    """The nodes that reach a slice or a device. The name counts first, then "all nodes", then the selector."""

    node_name: str = ""
    is_everywhere: bool = False
    selector: CompiledNodeSelector | None = None
    #: The selector as it was written.
    written: NodeSelector | None = None

    @staticmethod
    def of(source: ResourceSliceSpec | Device) -> NodeSelection:
        selector = source.node_selector
        compiled = compile_node_selector(selector) if selector is not None else None
        return NodeSelection(source.node_name or "", bool(source.all_nodes), compiled, selector)

    @property
    def is_given(self) -> bool:
        return bool(self.node_name) or self.is_everywhere or self.selector is not None

    def includes(self, node: Node) -> bool:
        """Say whether a node is among them. Raise NodeSelectionError."""
        if self.node_name:
            return node.name == self.node_name
        if self.is_everywhere or self.selector is None:
            return self.is_everywhere
        if self.selector.parse_error is not None and self.written is not None:
            said = node_selector.printed(self.written)
            raise NodeSelectionError(f"failed to parse node selector {said}: {self.selector.parse_error}")
        return self.selector.matches(node.name, node.labels)


def _has_groups(found: ResourceSlice) -> bool:
    return any(each.compatibility_groups for device in found.spec.devices for each in device.consumes_counters)


def _home(found: ResourceSlice, features: Features) -> str:
    is_for_all = found.spec.shared_counters and not features.counters_have_nodes
    return "" if is_for_all else found.spec.node_name or ""


def _selections(found: ResourceSlice, features: Features) -> tuple[NodeSelection, ...]:
    """Return which nodes reach a slice: those of any of these. None does if it says it in a way that is not known."""
    spec = found.spec
    if not features.partitionable_devices and (spec.per_device_node_selection is not None or spec.shared_counters):
        return ()
    if spec.shared_counters and not features.counters_have_nodes:
        # Counters are needed wherever devices draw on them.
        return (NodeSelection(is_everywhere=True),)
    whole = NodeSelection.of(spec)
    if whole.is_given:
        return (whole,)
    return tuple(map(NodeSelection.of, spec.devices)) if spec.per_device_node_selection else ()


def _build_pool(
    id: PoolId, slices: Sequence[ResourceSlice], elsewhere: Sequence[ResourceSlice], is_partitionable: bool
) -> DevicePool:
    """Make a pool of the slices that concern a node, in the order of their names, and those that do not."""
    offering = [found for found in slices if not (is_partitionable and found.spec.shared_counters)]
    offered = [(found, device) for found in offering for device in found.spec.devices]
    # Counters may be in slices that are for other nodes.
    all_slices = [*slices, *elsewhere] if is_partitionable else ()
    counter_sets = [counted for found in all_slices for counted in found.spec.shared_counters]
    counters = {counted.name: counted for counted in counter_sets}
    reason = _repeated("device", (device.name for _, device in offered))
    if not reason and is_partitionable:
        reason = _repeated("counter set", (counted.name for counted in counter_sets))
        reason = reason or _unknown_counter(counters, all_slices)
    if reason:
        return DevicePool(id, invalid_reason=reason)
    return DevicePool(id, tuple(OfferedDevice(*each) for each in offered), tuple(elsewhere), counters)


def _repeated(what: str, names: Iterable[str]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return f"duplicate {what} name {name}"
        seen.add(name)
    return ""


def _unknown_counter(known: Mapping[str, CounterSet], slices: Sequence[ResourceSlice]) -> str:
    """Return what is wrong with the counters that devices consume, "" if nothing is."""
    consumed = (each for found in slices for device in found.spec.devices for each in device.consumes_counters)
    for each in consumed:
        if each.counter_set not in known:
            return f"counter set {each.counter_set} not found"
        for name in each.counters:
            if name not in known[each.counter_set].counters:
                return f"counter {name} not found in counter set {each.counter_set}"
    return ""

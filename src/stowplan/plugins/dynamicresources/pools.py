"""One pool of devices as a node sees it: the devices it offers, its counters, and whether it can be used at all.

`inventory.py` decides which slices of a pool concern a node; `build` makes of them what the allocator walks through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stowplan.model.device_pool import CounterSet, Device, ResourceSlice
from stowplan.plugins.dynamicresources.identity import DeviceId, PoolId
from stowplan.plugins.dynamicresources.reach import Reach

_BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")


class OfferedDevice:
    """A device of a pool, with what the allocator asks of it again and again. Two are the same if they are one object.

    `verdicts` belongs to `selection.py`: what selectors said of this device.
    """

    __slots__ = ("device", "has_plain_capacity", "id", "origin", "reach", "taints", "verdicts")

    def __init__(self, origin: ResourceSlice, device: Device, reach: Reach | None) -> None:
        self.id = DeviceId(origin.spec.driver, origin.spec.pool.name, device.name)
        self.origin = origin
        self.device = device
        self.reach = reach
        self.taints = tuple(taint for taint in device.taints if taint.effect in _BLOCKING_EFFECTS)
        self.has_plain_capacity = not device.allow_multiple_allocations and all(
            capacity.request_policy is None for capacity in device.capacity.values()
        )
        self.verdicts: dict[tuple[str, ...], bool] = {}

    def __repr__(self) -> str:
        return f"OfferedDevice({self.id})"


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
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


def build(
    id: PoolId, slices: Sequence[ResourceSlice], elsewhere: Sequence[ResourceSlice], is_partitionable: bool
) -> Pool:
    """Make a pool of the slices that concern a node, in the order of their names, and those that do not."""
    slices = sorted(slices, key=lambda found: found.name)
    offering = [found for found in slices if not (is_partitionable and found.spec.shared_counters)]
    sharing = [found for found in slices if is_partitionable and found.spec.shared_counters]
    counters = {counted.name: counted for found in sharing for counted in found.spec.shared_counters}
    reason = _duplicate_device(offering)
    if not reason and is_partitionable:
        reason = _duplicate_counters(sharing) or _unknown_counter(counters, [*slices, *elsewhere])
    if reason:
        return Pool(id, invalid_reason=reason)
    return Pool(id, tuple(_offered(offering)), tuple(elsewhere), counters)


def _offered(slices: Sequence[ResourceSlice]) -> Iterator[OfferedDevice]:
    for found in slices:
        for device in found.spec.devices:
            reach = Reach.of_device(device) if found.spec.per_device_node_selection else None
            yield OfferedDevice(found, device, reach)


def _duplicate_device(slices: Sequence[ResourceSlice]) -> str:
    seen: set[str] = set()
    for found in slices:
        for device in found.spec.devices:
            if device.name in seen:
                return f"duplicate device name {device.name}"
            seen.add(device.name)
    return ""


def _duplicate_counters(slices: Sequence[ResourceSlice]) -> str:
    seen: set[str] = set()
    for found in slices:
        for counted in found.spec.shared_counters:
            if counted.name in seen:
                return f"duplicate counter set name {counted.name}"
            seen.add(counted.name)
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

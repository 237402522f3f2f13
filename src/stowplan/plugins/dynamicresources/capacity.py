"""Consumable capacity and counters: how much a request takes of a device, or a device of its pool, and what is left.

`is_left` and `consumed` are about one device that several claims share (DRAConsumableCapacity); the counters are those
that the devices of a pool share (DRAPartitionableDevices).
"""

from __future__ import annotations

from collections.abc import Mapping

from stowplan.model.device_pool import CapacityRange, CapacityRequestPolicy, Device, DeviceCapacity
from stowplan.model.quantity import BINARY_SI, Quantity
from stowplan.plugins.dynamicresources.allocated_devices import AllocatedState, DeviceId, PoolId
from stowplan.plugins.dynamicresources.pools import DevicePool, OfferedDevice

#: Amounts by the name of the capacity, and by counter set and counter.
Amounts = Mapping[str, Quantity]
CounterAmounts = dict[tuple[str, str], Quantity]


def consumed(device: Device, requested: Amounts) -> dict[str, Quantity]:
    """Return how much a request takes of each capacity of a device, rounded up to what its policy allows."""
    return {name: _consumed(capacity, requested.get(name)) for name, capacity in device.capacity.items()}


def is_left(device: Device, requested: Amounts, taken: Amounts, about_to_be_taken: Amounts) -> bool:
    """Say whether a device has what a request takes, besides what is taken already; its policies must allow it."""
    if any(name not in device.capacity for name in requested):
        return False
    for name, capacity in device.capacity.items():
        amount = _consumed(capacity, requested.get(name))
        if _is_against(capacity.request_policy, amount):
            return False
        for others in (taken, about_to_be_taken):
            if name in others:
                amount = amount + others[name]
        if amount > capacity.value:
            return False
    return True


def add(amounts: Amounts, more: Amounts) -> dict[str, Quantity]:
    """Return the sums."""
    return {**amounts, **{name: amounts[name] + more[name] if name in amounts else more[name] for name in more}}


def _consumed(capacity: DeviceCapacity, requested: Quantity | None) -> Quantity:
    policy = capacity.request_policy
    if requested is None:
        return policy.default if policy is not None and policy.default is not None else capacity.value
    if policy is None:
        return requested
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _round_up(requested, policy.valid_range.min, policy.valid_range.step)
    # The list is sorted.
    return next((valid for valid in policy.valid_values if requested <= valid), requested)


def _round_up(requested: Quantity, least: Quantity, step: Quantity | None) -> Quantity:
    if requested < least:
        return least
    if step is None or step.value == 0:
        return requested
    steps = -((least.value - requested.value) // step.value)
    return Quantity.of(least.value + step.value * steps, BINARY_SI)


def _is_against(policy: CapacityRequestPolicy | None, amount: Quantity) -> bool:
    if policy is None or amount == policy.default:
        return False
    if policy.valid_range is not None:
        return _is_outside(policy.valid_range, amount)
    return bool(policy.valid_values) and amount not in policy.valid_values


def _is_outside(allowed: CapacityRange, amount: Quantity) -> bool:
    if allowed.max is not None and amount > allowed.max:
        return True
    if allowed.step is None or allowed.step.value == 0 or allowed.min is None:
        return False
    return (amount.value - allowed.min.value) % allowed.step.value != 0


class AvailableCounters:
    """What is left of the counters of each pool, besides the allocated devices; worked out once for each pool."""

    def __init__(self, allocated: AllocatedState) -> None:
        self._allocated = allocated
        self._shared: frozenset[DeviceId] | None = None
        self._left: dict[PoolId, CounterAmounts] = {}

    def left(self, pool: DevicePool) -> CounterAmounts:
        """Return what is left; it may be less than nothing."""
        if pool.id in self._left:
            return self._left[pool.id]
        left = self._left[pool.id] = {
            (counted.name, name): counter.value
            for counted in pool.counters.values()
            for name, counter in counted.counters.items()
        }
        for id, device in pool.all_devices():
            if device.consumes_counters and self._is_in_use(id):
                for key, amount in consumption(device).items():
                    left[key] = left[key] - amount
        return left

    def _is_in_use(self, id: DeviceId) -> bool:
        if self._shared is None:
            self._shared = frozenset(share.device for share in self._allocated.shared)
        return id in self._allocated.devices or id in self._shared or id in self._allocated.consumed


class ConsumedCounters:
    """What the devices that are being tried draw from the counters of their pools."""

    def __init__(self, counters: AvailableCounters) -> None:
        self._counters = counters
        self._consumed: dict[PoolId, CounterAmounts] = {}

    def consume(self, pool: DevicePool, offered: OfferedDevice) -> bool:
        """Draw what a device consumes, if that is left."""
        left = self._counters.left(pool)
        if any(amount.sign < 0 for amount in left.values()):
            return False
        consumed = self._consumed.setdefault(pool.id, {})
        wanted = {key: _sum(consumed.get(key), amount) for key, amount in consumption(offered.device).items()}
        if any(left[key] < amount for key, amount in wanted.items()):
            return False
        consumed.update(wanted)
        return True

    def give_back(self, pool: DevicePool, offered: OfferedDevice) -> None:
        """Take back what was consumed for a device."""
        consumed = self._consumed[pool.id]
        for key, amount in consumption(offered.device).items():
            consumed[key] = consumed[key] - amount


def consumption(device: Device) -> CounterAmounts:
    """Return what a device consumes of each counter."""
    amounts: CounterAmounts = {}
    for each in device.consumes_counters:
        for name, counter in each.counters.items():
            key = each.counter_set, name
            amounts[key] = _sum(amounts.get(key), counter.value)
    return amounts


def _sum(amount: Quantity | None, more: Quantity) -> Quantity:
    return more if amount is None else amount + more

"""Counters that the devices of a pool share (DRAPartitionableDevices): what a device draws, and what is left.

Devices that draw on one set of counters may be said to go together or not (DRADeviceCompatibilityGroups).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stowplan.model.device_pool import Device, DeviceCounterConsumption
from stowplan.model.quantity import Quantity
from stowplan.plugins.dynamicresources.allocated_devices import AllocatedState, DeviceId, PoolId
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.pools import DevicePool, OfferedDevice

#: Amounts by counter set and counter.
CounterAmounts = dict[tuple[str, str], Quantity]


class AvailableCounters:
    """What is left of the counters of each pool, besides the allocated devices; worked out once for each pool."""

    def __init__(self, allocated: AllocatedState, features: Features) -> None:
        self.checks_groups = features.compatibility_groups
        self._counts_empty_shares = features.rules.empty_shares_count
        self._allocated = allocated
        self._shared: frozenset[DeviceId] | None = None
        self._left: dict[PoolId, CounterAmounts] = {}
        self._companies: dict[PoolId, dict[str, Company]] = {}

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

    def companies(self, pool: DevicePool) -> dict[str, Company]:
        """Return, by counter set, who draws on it already."""
        if pool.id not in self._companies:
            found = self._companies[pool.id] = {}
            for id, device in pool.all_devices():
                for each in device.consumes_counters if self._is_in_use(id) else ():
                    found[each.counter_set] = Company.of(found.get(each.counter_set), each.compatibility_groups)
        return self._companies[pool.id]

    def has_shares(self, id: DeviceId) -> bool:
        """Say whether shares of a device were given, so that it has drawn on its counters already."""
        return id in self._allocated.consumed or (self._counts_empty_shares and self._is_shared(id))

    def _is_in_use(self, id: DeviceId) -> bool:
        return id in self._allocated.devices or self._is_shared(id) or id in self._allocated.consumed

    def _is_shared(self, id: DeviceId) -> bool:
        if self._shared is None:
            self._shared = frozenset(share.device for share in self._allocated.shared)
        return id in self._shared


@dataclass(frozen=True, slots=True)
class Company:
    """The devices that draw on one set of counters: whether none of them has groups, or else those they share."""

    has_no_groups: bool
    groups: frozenset[str]

    @staticmethod
    def of(others: Company | None, groups: Sequence[str]) -> Company:
        """Return the company that a device makes with others."""
        if others is None:
            return Company(not groups, frozenset(groups))
        if others.has_no_groups or not groups:
            return others
        return Company(False, others.groups.intersection(groups))

    def admits(self, groups: Sequence[str]) -> bool:
        """Say whether a device may join."""
        if not groups:
            return self.has_no_groups
        return not self.has_no_groups and not self.groups.isdisjoint(groups)


class ConsumedCounters:
    """What the devices that are being tried draw from the counters of their pools."""

    def __init__(self, counters: AvailableCounters) -> None:
        self._counters = counters
        self._consumed: dict[PoolId, CounterAmounts] = {}
        # Who draws on a set of counters, from the first of those that are tried to the last.
        self._companies: dict[tuple[PoolId, str], list[Company]] = {}

    def consume(self, pool: DevicePool, offered: OfferedDevice) -> bool:
        """Draw what a device consumes, if that is left and it may be drawn together with what others do."""
        if not self._counters.checks_groups:
            return self._draw(pool, offered)
        drawing = offered.device.consumes_counters
        for joined, each in enumerate(drawing):
            if not self._join(pool, each):
                self._leave(pool, drawing[:joined])
                return False
        if not self._draw(pool, offered):
            self._leave(pool, drawing)
            return False
        return True

    def _join(self, pool: DevicePool, drawing: DeviceCounterConsumption) -> bool:
        companies = self._companies.setdefault((pool.id, drawing.counter_set), [])
        company = companies[-1] if companies else self._counters.companies(pool).get(drawing.counter_set)
        if company is not None and not company.admits(drawing.compatibility_groups):
            return False
        companies.append(Company.of(company, drawing.compatibility_groups))
        return True

    def _leave(self, pool: DevicePool, drawing: Iterable[DeviceCounterConsumption]) -> None:
        for each in drawing:
            self._companies[pool.id, each.counter_set].pop()

    def _draw(self, pool: DevicePool, offered: OfferedDevice) -> bool:
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
        if self._counters.checks_groups:
            self._leave(pool, offered.device.consumes_counters)
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

"""Partitionable devices: counters that the devices of a pool share, and what is left of them."""

from __future__ import annotations

from stowplan.model.device_pool import Device
from stowplan.model.quantity import Quantity
from stowplan.plugins.dynamicresources.identity import DeviceId, InUse, PoolId
from stowplan.plugins.dynamicresources.pools import OfferedDevice, Pool

#: Amounts by counter set and counter.
Amounts = dict[tuple[str, str], Quantity]


class Counters:
    """What is left of the counters of each pool, besides the devices in use; worked out once for each pool."""

    def __init__(self, in_use: InUse) -> None:
        self._in_use = in_use
        self._shared: frozenset[DeviceId] | None = None
        self._left: dict[PoolId, Amounts] = {}

    def left(self, pool: Pool) -> Amounts:
        """Return what is left; it may be less than nothing."""
        if pool.id not in self._left:
            self._left[pool.id] = self._work_out(pool)
        return self._left[pool.id]

    def _work_out(self, pool: Pool) -> Amounts:
        left = {
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
            self._shared = frozenset(share.device_id for share in self._in_use.shared)
        return id in self._in_use.devices or id in self._shared or id in self._in_use.consumed


class Drawn:
    """What the devices that are being tried draw from the counters of their pools."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._drawn: dict[PoolId, Amounts] = {}

    def draw(self, pool: Pool, offered: OfferedDevice) -> bool:
        """Draw what a device consumes, if that is left."""
        left = self._counters.left(pool)
        if any(amount.sign < 0 for amount in left.values()):
            return False
        drawn = self._drawn.setdefault(pool.id, {})
        wanted = {key: _sum(drawn.get(key), amount) for key, amount in consumption(offered.device).items()}
        if any(left[key] < amount for key, amount in wanted.items()):
            return False
        drawn.update(wanted)
        return True

    def give_back(self, pool: Pool, offered: OfferedDevice) -> None:
        """Take back what was drawn for a device."""
        drawn = self._drawn[pool.id]
        for key, amount in consumption(offered.device).items():
            drawn[key] = drawn[key] - amount


def consumption(device: Device) -> Amounts:
    """Return what a device consumes of each counter."""
    amounts: Amounts = {}
    for each in device.consumes_counters:
        for name, counter in each.counters.items():
            key = each.counter_set, name
            amounts[key] = _sum(amounts.get(key), counter.value)
    return amounts


def _sum(amount: Quantity | None, more: Quantity) -> Quantity:
    return more if amount is None else amount + more

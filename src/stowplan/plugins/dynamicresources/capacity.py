"""Consumable capacity: how much a request takes of a device that several claims share, and whether that is left.

`CapacityRules` is DRAConsumableCapacity, with the steps of DRAFractionalCapacityRange. What the devices of a pool share
with each other is in `counters.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from stowplan.model.device_pool import CapacityRange, CapacityRequestPolicy, Device, DeviceCapacity
from stowplan.model.quantity import BINARY_SI, Quantity
from stowplan.plugins.dynamicresources.features import Features

#: Amounts by the name of the capacity.
Amounts = Mapping[str, Quantity]
NOTHING: Final[Amounts] = MappingProxyType({})
_MOST: Final = 2**63 - 1
_UNREPRESENTABLE: Final = "capacity request cannot be represented in the device's range arithmetic"


class CapacityError(Exception):
    """An amount that nobody can reckon with; the text is upstream's."""


class CapacityRules:
    """By which rules amounts are rounded, allowed and compared."""

    def __init__(self, features: Features) -> None:
        self._has_fractions = features.fractional_capacity
        self._is_strict = features.rules.amounts_must_be_sound

    def consumed(self, device: Device, requested: Amounts) -> dict[str, Quantity]:
        """Return how much a request takes of each capacity of a device, rounded up to what its policy allows.

        Raise CapacityError.
        """
        taken: dict[str, Quantity] = {}
        for name, capacity in device.capacity.items():
            try:
                taken[name] = self._consumed(capacity, requested.get(name))
            except CapacityError as error:
                raise CapacityError(f'capacity "{name}": {error}') from error
            if self._is_strict and taken[name].sign < 0:
                raise CapacityError(f'capacity "{name}": capacity value is negative')
        return taken

    def is_left(self, device: Device, requested: Amounts, *taken: Amounts) -> bool:
        """Say whether a device has what a request takes, besides what is taken already; its policies must allow it.

        Raise CapacityError.
        """
        if any(name not in device.capacity for name in requested):
            return False
        for name, amount in self.consumed(device, requested).items():
            capacity = device.capacity[name]
            if self._is_against(capacity.request_policy, amount):
                return False
            for others in taken:
                if name in others:
                    amount = amount + others[name]
            if amount > capacity.value:
                return False
        return True

    def _consumed(self, capacity: DeviceCapacity, requested: Quantity | None) -> Quantity:
        policy = capacity.request_policy
        if requested is None:
            return policy.default if policy is not None and policy.default is not None else capacity.value
        if policy is None:
            return requested
        if policy.valid_range is not None and policy.valid_range.min is not None:
            return self._round_up(requested, policy.valid_range, policy.valid_range.min)
        # The list is sorted.
        return next((valid for valid in policy.valid_values if requested <= valid), requested)

    def _round_up(self, requested: Quantity, allowed: CapacityRange, least: Quantity) -> Quantity:
        step = allowed.step
        if requested < least:
            return least
        if step is None or step.value == 0:
            return requested
        if not self._is_strict:
            steps = -((least.value - requested.value) // step.value)
            return Quantity.of(least.value + step.value * steps, BINARY_SI)
        if not self._counts_thousandths(allowed):
            return _whole(requested, least, step)
        if not _is_in_thousandths(requested):
            raise CapacityError(f"{_UNREPRESENTABLE}: request {requested.canonical} is not a representable milli value")
        total = _stepped(requested.milli_value, least.milli_value, step.milli_value)
        if total > _MOST:
            what = f"rounding request {requested.canonical} up to the next step passes the milli-value range"
            raise CapacityError(f"{_UNREPRESENTABLE}: {what}")
        whole, rest = divmod(total, 1000)
        return Quantity.of_milli(total, step.format) if rest else Quantity.of(whole, step.format)

    def _counts_thousandths(self, allowed: CapacityRange) -> bool:
        """Say whether the steps of a range are reckoned with in thousandths: if all that it says is in thousandths."""
        said = [each for each in (allowed.min, allowed.max, allowed.step) if each is not None]
        if not self._has_fractions or not all(map(_is_in_thousandths, said)):
            return False
        return allowed.step is None or allowed.step.milli_value >= 1

    def _is_against(self, policy: CapacityRequestPolicy | None, amount: Quantity) -> bool:
        if policy is None or amount == policy.default:
            return False
        if policy.valid_range is not None:
            return self._is_outside(policy.valid_range, amount)
        return bool(policy.valid_values) and amount not in policy.valid_values

    def _is_outside(self, allowed: CapacityRange, amount: Quantity) -> bool:
        least, step = allowed.min, allowed.step
        if allowed.max is not None and amount > allowed.max:
            return True
        if step is None or step.value == 0 or least is None:
            return False
        if not self._counts_thousandths(allowed):
            return (amount.value - least.value) % step.value != 0
        return not _is_in_thousandths(amount) or (amount.milli_value - least.milli_value) % step.milli_value != 0


def add(amounts: Amounts, more: Amounts) -> dict[str, Quantity]:
    """Return the sums."""
    return {**amounts, **{name: amounts[name] + more[name] if name in amounts else more[name] for name in more}}


def _whole(requested: Quantity, least: Quantity, step: Quantity) -> Quantity:
    """Round up to the next step in whole units. Raise CapacityError."""
    if requested > Quantity.of(_MOST):
        raise CapacityError(f"{_UNREPRESENTABLE}: request {requested.canonical} exceeds MaxInt64")
    total = _stepped(requested.value, least.value, step.value)
    if least.value >= 0 and total > _MOST:
        what = f"rounding request {requested.canonical} up to the next step passes MaxInt64"
        raise CapacityError(f"{_UNREPRESENTABLE}: {what}")
    return Quantity.of(total, step.format)


def _stepped(requested: int, least: int, step: int) -> int:
    return least - (least - requested) // step * step


def _is_in_thousandths(amount: Quantity) -> bool:
    return Quantity.of_milli(amount.milli_value) == amount

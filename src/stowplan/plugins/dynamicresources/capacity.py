"""Consumable capacity: how much of a device a request takes, and whether that is left."""

from __future__ import annotations

from collections.abc import Mapping

from stowplan.model.device_pool import CapacityRange, CapacityRequestPolicy, Device, DeviceCapacity
from stowplan.model.quantity import BINARY_SI, Quantity

#: Amounts by the name of the capacity.
Amounts = Mapping[str, Quantity]


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

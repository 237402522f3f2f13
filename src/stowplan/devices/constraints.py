"""Constraints of a claim over the devices it is given: one attribute the same for all, or different for each.

Both are told of every device that is tried (`add`) and taken back (`remove`), in the order of the search.
"""

from __future__ import annotations

from typing import Protocol

from stowplan.devices.features import Features
from stowplan.devices.pools import OfferedDevice
from stowplan.model.device_pool import DeviceAttribute
from stowplan.model.dra import DeviceConstraint

#: The kind of an attribute, and its values: a single one unless lists are in use.
Values = tuple[str, frozenset[object]]


class Constraint(Protocol):
    def add(self, request: str, sub_request: str, offered: OfferedDevice) -> bool:
        """Say whether a device may join those given to the claim so far, and if so, count it in."""

    def remove(self, request: str, sub_request: str) -> None:
        """Take back the device that was added last."""


def of(constraint: DeviceConstraint, features: Features) -> Constraint | None:
    """Return the constraint that answers; None if its kind is not known."""
    if constraint.match_attribute is not None:
        return MatchAttribute(constraint.match_attribute, constraint.requests, features.list_type_attributes)
    # Upstream's oldest allocator, used when no newer feature is on, does not know this one.
    is_known = features.consumable_capacity or features.binding_conditions or features.list_type_attributes
    if constraint.distinct_attribute is not None and is_known:
        return DistinctAttribute(constraint.distinct_attribute, constraint.requests, features.list_type_attributes)
    return None


class _OnAttribute:
    """What both kinds share: the attribute, and the requests they bind (all, if none is named)."""

    def __init__(self, attribute: str, requests: tuple[str, ...], has_lists: bool) -> None:
        self._attribute = attribute
        self._requests = frozenset(requests)
        self._has_lists = has_lists
        self._count = 0

    def _binds(self, request: str, sub_request: str) -> bool:
        requests = self._requests
        return not requests or request in requests or (bool(sub_request) and f"{request}/{sub_request}" in requests)

    def _values(self, offered: OfferedDevice) -> Values | None:
        attribute = _find(offered, self._attribute)
        return None if attribute is None else _values(attribute, self._has_lists)


class MatchAttribute(_OnAttribute):
    """Every device has the same value of an attribute; of lists, at least one value in common."""

    def __init__(self, attribute: str, requests: tuple[str, ...], has_lists: bool) -> None:
        super().__init__(attribute, requests, has_lists)
        self._common: Values = ("", frozenset())

    def add(self, request: str, sub_request: str, offered: OfferedDevice) -> bool:
        if not self._binds(request, sub_request):
            return True
        values = self._values(offered)
        if values is None:
            return False
        if self._count == 0:
            if self._has_lists and not values[1]:
                return False
            self._common = values
        else:
            common = self._common[1] & values[1]
            if self._common[0] != values[0] or not common:
                return False
            # As upstream: a narrower choice stays when the device that caused it is taken back.
            self._common = values[0], common
        self._count += 1
        return True

    def remove(self, request: str, sub_request: str) -> None:
        if self._binds(request, sub_request):
            self._count -= 1


class DistinctAttribute(_OnAttribute):
    """No device has a value of an attribute that another request's last device has."""

    def __init__(self, attribute: str, requests: tuple[str, ...], has_lists: bool) -> None:
        super().__init__(attribute, requests, has_lists)
        # As upstream: one value for each request, so that a third device is not compared with the first of its own.
        self._taken: dict[str, Values] = {}

    def add(self, request: str, sub_request: str, offered: OfferedDevice) -> bool:
        if not self._binds(request, sub_request):
            return True
        values = self._values(offered)
        if values is None or (self._count > 0 and not self._is_free(values)):
            return False
        self._taken[request] = values
        self._count += 1
        return True

    def remove(self, request: str, sub_request: str) -> None:
        if self._binds(request, sub_request):
            self._taken.pop(request, None)
            self._count -= 1

    def _is_free(self, values: Values) -> bool:
        kind, own = values
        if not own:
            return self._has_lists is False and not self._taken
        return not any(kind == other and own & taken for other, taken in self._taken.values())


def _find(offered: OfferedDevice, name: str) -> DeviceAttribute | None:
    """Find an attribute by its full name; a driver's own attributes may go without its domain."""
    attributes = offered.device.attributes
    found = attributes.get(name)
    if found is not None:
        return found
    domain, slash, own_name = name.partition("/")
    return attributes.get(own_name) if slash and domain == offered.id.driver else None


def _values(attribute: DeviceAttribute, has_lists: bool) -> Values:
    if has_lists:
        for kind, listed in (
            ("int", attribute.int_values),
            ("bool", attribute.bool_values),
            ("string", attribute.string_values),
            ("version", attribute.version_values),
        ):
            if listed:
                return kind, frozenset(listed)
    for kind, value in (
        ("string", attribute.string_value),
        ("int", attribute.int_value),
        ("bool", attribute.bool_value),
        ("version", attribute.version_value),
    ):
        if value is not None:
            return kind, frozenset((value,))
    return "", frozenset()

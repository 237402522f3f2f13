"""Constraints of a claim over the devices it is given: one attribute the same for all, or different for each.

Both are told of every device that is tried (`add`) and taken back (`remove`), in the order of the search.
"""

from __future__ import annotations

from typing import Final, Protocol

from stowplan.model.device_pool import DeviceAttribute
from stowplan.model.dra import DeviceConstraint
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.pools import OfferedDevice

#: The kind of an attribute, and its value. A list, or nothing, is of no kind and like nothing else.
Value = tuple[str, object]
_UNKNOWN: Final[Value] = ("", None)


class Constraint(Protocol):
    def add(self, request: str, sub_request: str, offered: OfferedDevice) -> bool:
        """Say whether a device may join those given to the claim so far, and if so, count it in."""

    def remove(self, request: str, sub_request: str) -> None:
        """Take back the device that was added last."""


def of(constraint: DeviceConstraint, features: Features) -> Constraint | None:
    """Return the constraint that answers; None if its kind is not known."""
    if constraint.match_attribute is not None:
        return MatchAttribute(constraint.match_attribute, constraint.requests)
    # The oldest allocator does not know this one.
    if constraint.distinct_attribute is not None and not features.is_stable:
        return DistinctAttribute(constraint.distinct_attribute, constraint.requests)
    return None


class _OnAttribute:
    """What both kinds share: the attribute, and the requests they bind (all, if none is named)."""

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        self._attribute = attribute
        self._requests = frozenset(requests)
        self._count = 0

    def _binds(self, request: str, sub_request: str) -> bool:
        requests = self._requests
        return not requests or request in requests or (bool(sub_request) and f"{request}/{sub_request}" in requests)

    def _value(self, offered: OfferedDevice) -> Value | None:
        attribute = _find(offered, self._attribute)
        return None if attribute is None else _value(attribute)


class MatchAttribute(_OnAttribute):
    """Every device has the same value of an attribute."""

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        self._common = _UNKNOWN

    def add(self, request: str, sub_request: str, offered: OfferedDevice) -> bool:
        if not self._binds(request, sub_request):
            return True
        value = self._value(offered)
        if value is None:
            return False
        if self._count == 0:
            self._common = value
        elif value == _UNKNOWN or value != self._common:
            return False
        self._count += 1
        return True

    def remove(self, request: str, sub_request: str) -> None:
        if self._binds(request, sub_request):
            self._count -= 1


class DistinctAttribute(_OnAttribute):
    """No device has the value of an attribute that another request's last device has."""

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        # As upstream: one value for each request, so that a third device is not compared with the first of its own.
        self._taken: dict[str, Value] = {}

    def add(self, request: str, sub_request: str, offered: OfferedDevice) -> bool:
        if not self._binds(request, sub_request):
            return True
        value = self._value(offered)
        if value is None or (self._count > 0 and not self._is_free(value)):
            return False
        self._taken[request] = value
        self._count += 1
        return True

    def remove(self, request: str, sub_request: str) -> None:
        if self._binds(request, sub_request):
            self._taken.pop(request, None)
            self._count -= 1

    def _is_free(self, value: Value) -> bool:
        return not self._taken if value == _UNKNOWN else value not in self._taken.values()


def _find(offered: OfferedDevice, name: str) -> DeviceAttribute | None:
    """Find an attribute by its full name; a driver's own attributes may go without its domain."""
    attributes = offered.device.attributes
    found = attributes.get(name)
    if found is not None:
        return found
    domain, slash, own_name = name.partition("/")
    return attributes.get(own_name) if slash and domain == offered.id.driver else None


def _value(attribute: DeviceAttribute) -> Value:
    for kind, value in (
        ("string", attribute.string_value),
        ("int", attribute.int_value),
        ("bool", attribute.bool_value),
        ("version", attribute.version_value),
    ):
        if value is not None:
            return kind, value
    return _UNKNOWN

"""Constraints of a claim over the devices it is given: one attribute the same for all, or different for each.

Both are told of every device that is tried (`add`) and taken back (`remove`), in the order of the search.
"""

from __future__ import annotations

from typing import Final

from stowplan.model.dra import DeviceConstraint
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.pools import OfferedDevice

#: The kind of an attribute, and its value. A list, or nothing, is of no kind and like nothing else.
Value = tuple[str, object]
_UNKNOWN: Final[Value] = ("", None)


def make_constraint(constraint: DeviceConstraint, features: Features) -> ClaimConstraint | None:
    """Return the constraint that answers; None if its kind is not known."""
    if constraint.match_attribute is not None:
        return MatchAttribute(constraint.match_attribute, constraint.requests)
    # The oldest allocator does not know this one.
    if constraint.distinct_attribute is not None and not features.is_stable:
        return DistinctAttribute(constraint.distinct_attribute, constraint.requests)
    return None


class ClaimConstraint:
    """A constraint on an attribute of the devices that some requests of a claim are given (all, if none is named)."""

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        self._attribute = attribute
        self._requests = frozenset(requests)
        self._count = 0
        self._first = _UNKNOWN
        # As upstream: one value for each request, so that a third device is not compared with the first of its own.
        self._by_request: dict[str, Value] = {}

    def add(self, request: str, sub_request: str, offered: OfferedDevice) -> bool:
        """Say whether a device may join those given to the claim so far, and if so, count it in."""
        if not self._binds(request, sub_request):
            return True
        value = _value_of(offered, self._attribute)
        if value is None or (self._count and not self._allows(value)):
            return False
        if not self._count:
            self._first = value
        self._by_request[request] = value
        self._count += 1
        return True

    def remove(self, request: str, sub_request: str) -> None:
        """Take back the device that was added last."""
        if self._binds(request, sub_request):
            self._by_request.pop(request, None)
            self._count -= 1

    def _binds(self, request: str, sub_request: str) -> bool:
        requests = self._requests
        return not requests or request in requests or (bool(sub_request) and f"{request}/{sub_request}" in requests)

    def _allows(self, value: Value) -> bool:
        raise NotImplementedError


class MatchAttribute(ClaimConstraint):
    """Every device has the same value of an attribute."""

    def _allows(self, value: Value) -> bool:
        return value != _UNKNOWN and value == self._first


class DistinctAttribute(ClaimConstraint):
    """No device has the value of an attribute that another request's last device has."""

    def _allows(self, value: Value) -> bool:
        return not self._by_request if value == _UNKNOWN else value not in self._by_request.values()


def _value_of(offered: OfferedDevice, name: str) -> Value | None:
    """Return the value of an attribute; a driver's own attributes may go without its domain."""
    attributes = offered.device.attributes
    found = attributes.get(name)
    if found is None:
        domain, slash, own_name = name.partition("/")
        found = attributes.get(own_name) if slash and domain == offered.id.driver else None
    if found is None:
        return None
    kinds = (
        ("string", found.string_value),
        ("int", found.int_value),
        ("bool", found.bool_value),
        ("version", found.version_value),
    )
    return next(((kind, value) for kind, value in kinds if value is not None), _UNKNOWN)

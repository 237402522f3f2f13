"""What a claim asks of its devices together: one attribute the same for all of them, or different for each.

The search (`search.py`) tells the constraints of every device that is tried (`add`) or taken back (`remove`), in order.
Attributes may be lists, which are then alike if they have anything in common; and a request may have some worked out of
others by an expression.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

from stowplan.model.device_pool import DeviceAttribute
from stowplan.model.dra import ResourceClaim
from stowplan.plugins.dynamicresources.cel_selectors import CelError, CelPrograms
from stowplan.plugins.dynamicresources.claim_requests import AllocationError, RequestSpec
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.pools import OfferedDevice


class Value(NamedTuple):
    """The kind of an attribute, and its values. One that is not known is of no kind, and like nothing else."""

    kind: str
    values: frozenset[Hashable]

    def common(self, other: Value) -> Value | None:
        """Return what both have."""
        values = self.values & other.values if self.kind == other.kind else frozenset()
        return Value(self.kind, values) if values else None


#: Returns the value of an attribute of a device for a request; None if it has none. Raises AllocationError.
ValueOf = Callable[[RequestSpec, OfferedDevice, str], Value | None]

_UNKNOWN: Final = Value("", frozenset())


def constraints(claim: ResourceClaim, features: Features, cel: CelPrograms) -> list[ClaimConstraint]:
    """Return the constraints of a claim, with nothing given yet. Raise AllocationError for an unknown one."""
    value_of = AttributeValues(features, cel).of
    distinct = DistinctAttribute if features.rules.distinct_from_all else DistinctByRequest
    made: list[ClaimConstraint] = []
    for index, each in enumerate(claim.spec.devices.constraints):
        if each.match_attribute is not None:
            made.append(MatchAttribute(each.match_attribute, each.requests, value_of))
        # The oldest allocator does not know this one.
        elif each.distinct_attribute is not None and not features.is_stable:
            made.append(distinct(each.distinct_attribute, each.requests, value_of))
        else:
            raise AllocationError(
                f"claim {claim.key}, constraint #{index}: empty constraint (unsupported constraint type?)"
            )
    return made


class ClaimConstraint:
    """A constraint on an attribute of the devices that some requests of a claim are given (all, if none is named)."""

    def __init__(self, attribute: str, requests: tuple[str, ...], value_of: ValueOf) -> None:
        self._attribute = attribute
        self._requests = frozenset(requests)
        self._value_of = value_of
        # What the devices that were given come to, one entry for each.
        self._given: list[Value] = []

    def add(self, spec: RequestSpec, offered: OfferedDevice) -> bool:
        """Say whether a device may join those given to the claim so far, and if so, count it in."""
        if not self._binds(spec):
            return True
        value = self._value_of(spec, offered, self._attribute)
        joined = self._join(value) if value is not None else None
        if joined is None:
            return False
        self._given.append(joined)
        return True

    def remove(self, spec: RequestSpec) -> None:
        """Take back the device that was added last."""
        if self._binds(spec):
            self._given.pop()

    def _binds(self, spec: RequestSpec) -> bool:
        return not self._requests or spec.main_request in self._requests or spec.name in self._requests

    def _join(self, value: Value) -> Value | None:
        """Return what is to be remembered of a device that may join the others; None if it may not."""
        raise NotImplementedError


class MatchAttribute(ClaimConstraint):
    """All devices have a value of an attribute in common."""

    def _join(self, value: Value) -> Value | None:
        return self._given[-1].common(value) if self._given else value


class DistinctAttribute(ClaimConstraint):
    """No two devices have a value of an attribute in common."""

    def _join(self, value: Value) -> Value | None:
        if value == _UNKNOWN:
            return None if self._given else value
        return None if any(value.common(other) for other in self._given) else value


class DistinctByRequest(DistinctAttribute):
    """As the first releases had it: a third device is not compared with the first of its own request."""

    def __init__(self, attribute: str, requests: tuple[str, ...], value_of: ValueOf) -> None:
        super().__init__(attribute, requests, value_of)
        self._by_request: dict[str, Value] = {}

    def add(self, spec: RequestSpec, offered: OfferedDevice) -> bool:
        self._given = list(self._by_request.values())
        count = len(self._given)
        is_added = super().add(spec, offered)
        if len(self._given) > count:
            self._by_request[spec.main_request] = self._given[-1]
        return is_added

    def remove(self, spec: RequestSpec) -> None:
        if self._binds(spec):
            self._by_request.pop(spec.main_request, None)


class AttributeValues:
    """The values of attributes, as constraints compare them."""

    def __init__(self, features: Features, cel: CelPrograms) -> None:
        self._has_lists = features.has_list_constraints
        self._cel = cel

    def of(self, spec: RequestSpec, offered: OfferedDevice, name: str) -> Value | None:
        """Return the value of an attribute for a request; None if the device has none. Raise AllocationError."""
        expression = spec.derived.get(name)
        found = _listed(offered, name) if expression is None else self._derive(name, expression, offered)
        if found is None:
            return None
        kinds = (
            ("int", found.int_value, found.int_values),
            ("bool", found.bool_value, found.bool_values),
            ("string", found.string_value, found.string_values),
            ("version", found.version_value, found.version_values),
        )
        for kind, _, values in kinds if self._has_lists else ():
            if values:
                return Value(kind, frozenset(values))
        for kind, value, _ in kinds:
            if value is not None:
                return Value(kind, frozenset({value}))
        return None if self._has_lists else _UNKNOWN

    def _derive(self, name: str, expression: str, offered: OfferedDevice) -> DeviceAttribute:
        try:
            return self._cel.derive(expression, offered)
        except CelError as error:
            what = f"compile derived attribute {name} failed"
            if error.stage != "compile":
                what = f"evaluate derived attribute {name} on device {offered.id} failed"
            raise AllocationError(f"{what}: {error}") from error


def _listed(offered: OfferedDevice, name: str) -> DeviceAttribute | None:
    """Return an attribute that the driver lists; its own ones may go without its domain."""
    attributes = offered.device.attributes
    domain, slash, own_name = name.partition("/")
    found = attributes.get(name)
    return attributes.get(own_name) if found is None and slash and domain == offered.id.driver else found

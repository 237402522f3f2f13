"""Requests of claims as the search takes them: one `RequestSpec` for each request or subrequest, checked for problems;
and the constraints of a claim over the devices it is given: one attribute the same for all, or different for each.

A problem is only raised when the search gets there, because an earlier request may fail for another reason. The search
is in `search.py`; it tells the constraints of every device that is tried (`add`) and taken back (`remove`), in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from stowplan.framework.verdict import WordedError
from stowplan.model.dra import (
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from stowplan.model.quantity import Quantity
from stowplan.plugins.dynamicresources.claims import FindClass
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.pools import OfferedDevice

#: So many devices fit into the status of a claim.
MAX_DEVICES: Final = 32
#: The kind of an attribute, and its value. A list, or nothing, is of no kind and like nothing else.
Value = tuple[str, object]
_UNKNOWN: Final[Value] = ("", None)


class AllocationError(WordedError):
    """The claims cannot be allocated anywhere as they are; the text is the message of the status (an error)."""


class NodeAllocationError(AllocationError):
    """The claims cannot be allocated on this node; other nodes may do. The text is the reason (unschedulable)."""


class ClaimRequests:
    """The requests of one claim, each with its alternatives (a single one, unless it is a prioritized list)."""

    def __init__(self, index: int, claim: ResourceClaim, find_class: FindClass, features: Features) -> None:
        """`index` is the place of the claim among those of the pod."""
        self.claim = claim
        self.requests = [
            tuple(
                _spec(index, claim, (request, asked), find_class, features)
                for asked in request.first_available or (request.exactly or ExactDeviceRequest(),)
            )
            for request in claim.spec.devices.requests
        ]
        self.wants_all = any(request.wants_all for alternatives in self.requests for request in alternatives)
        self._features = features

    def constraints(self) -> list[ClaimConstraint]:
        """Return the constraints of the claim, with nothing given yet. Raise AllocationError for an unknown one."""
        made: list[ClaimConstraint] = []
        for index, each in enumerate(self.claim.spec.devices.constraints):
            if each.match_attribute is not None:
                made.append(MatchAttribute(each.match_attribute, each.requests))
            # The oldest allocator does not know this one.
            elif each.distinct_attribute is not None and not self._features.is_stable:
                made.append(DistinctAttribute(each.distinct_attribute, each.requests))
            else:
                raise AllocationError(
                    f"claim {self.claim.key}, constraint #{index}: empty constraint (unsupported constraint type?)"
                )
        return made


@dataclass(frozen=True, slots=True, eq=False)
class RequestSpec:
    """Devices of one kind, for a request or for one alternative of a prioritized list."""

    claim_index: int
    claim_key: str
    #: The name of the request; with alternatives, `sub_request` is that of the alternative.
    main_request: str
    sub_request: str
    wants_all: bool
    count: int
    is_admin: bool
    device_class: DeviceClass | None
    #: First those of the class, then those of the request.
    expressions: tuple[str, ...]
    class_expressions: int
    tolerations: tuple[DeviceToleration, ...]
    capacity: Mapping[str, Quantity]
    problem: str = ""

    @property
    def name(self) -> str:
        return f"{self.main_request}/{self.sub_request}" if self.sub_request else self.main_request

    @property
    def where(self) -> str:
        """How messages refer to it."""
        return f"claim {self.claim_key}, request {self.sub_request or self.main_request}"


def _spec(
    index: int,
    claim: ResourceClaim,
    request: tuple[DeviceRequest, ExactDeviceRequest | DeviceSubRequest],
    find_class: FindClass,
    features: Features,
) -> RequestSpec:
    main_request, asked = request
    sub_request = asked.name if isinstance(asked, DeviceSubRequest) else ""
    device_class = find_class(asked.device_class_name) if asked.device_class_name else None
    where = f"claim {claim.key}, request {sub_request or main_request.name}"
    of_class = _expressions(device_class.spec.selectors) if device_class is not None else ()
    return RequestSpec(
        claim_index=index,
        claim_key=claim.key,
        main_request=main_request.name,
        sub_request=sub_request,
        wants_all=asked.allocation_mode == "All",
        count=asked.count,
        is_admin=isinstance(asked, ExactDeviceRequest) and asked.admin_access,
        device_class=device_class,
        expressions=of_class + _expressions(asked.selectors),
        class_expressions=len(of_class),
        tolerations=asked.tolerations,
        capacity=asked.capacity.requests if asked.capacity is not None else {},
        problem=_unsupported(claim, main_request, features) or _problem(where, asked, device_class),
    )


def _unsupported(claim: ResourceClaim, request: DeviceRequest, features: Features) -> str:
    """Return what a request needs that is switched off."""
    where = f"claim {claim.key}, request {request.name}"
    if request.first_available and not features.prioritized_list:
        return f"{where}: has subrequests, but the DRAPrioritizedList feature is disabled"
    # The oldest allocator takes no notice of requests for capacity.
    if not features.consumable_capacity and not features.is_stable:
        why = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        if request.exactly is not None and request.exactly.capacity is not None:
            return f"{where}: {why}"
        for alternative in request.first_available:
            if alternative.capacity is not None:
                return f"claim {claim.key}, subrequest {alternative.name}: {why}"
    return ""


def _problem(where: str, asked: ExactDeviceRequest | DeviceSubRequest, device_class: DeviceClass | None) -> str:
    for number, selector in enumerate(asked.selectors):
        if selector.cel is None:
            return f"{where}, selector #{number}: CEL expression empty (unsupported selector type?)"
    if not asked.device_class_name:
        return f"{where}: missing device class name (unsupported request type?)"
    if device_class is None:
        name = asked.device_class_name
        return f'{where}: could not retrieve device class {name}: deviceclass.resource.k8s.io "{name}" not found'
    if asked.allocation_mode not in ("ExactCount", "All"):
        return f"{where}: unsupported count mode {asked.allocation_mode}"
    return ""


def _expressions(selectors: Sequence[DeviceSelector]) -> tuple[str, ...]:
    return tuple(selector.cel.expression for selector in selectors if selector.cel is not None)


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

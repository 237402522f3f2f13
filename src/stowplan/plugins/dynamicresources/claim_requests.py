"""Requests of claims as the search takes them: one `RequestSpec` for each request or subrequest, checked for problems.

A problem is only raised when the search gets there, because an earlier request may fail for another reason. The search
is in `search.py`; what a claim asks of its devices together is in `claim_constraints.py`.
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

#: So many devices fit into the status of a claim.
MAX_DEVICES: Final = 32


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
            [
                _spec(index, claim, (request, asked), find_class, features)
                for asked in request.first_available or (request.exactly or ExactDeviceRequest(),)
            ]
            for request in claim.spec.devices.requests
        ]
        self.wants_all = any(request.wants_all for alternatives in self.requests for request in alternatives)


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
    #: The expressions of derived attributes, by the name of the attribute.
    derived: Mapping[str, str]
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
    key = claim.key
    where = f"claim {key}, request {sub_request or main_request.name}"
    of_class = _expressions(device_class.spec.selectors) if device_class is not None else ()
    return RequestSpec(
        claim_index=index,
        claim_key=key,
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
        derived={each.name: each.expression for each in asked.derived_attributes},
        problem=_unsupported(claim, main_request, features) or _problem(where, asked, device_class, features),
    )


def _unsupported(claim: ResourceClaim, request: DeviceRequest, features: Features) -> str:
    """Return what a request needs that is switched off."""
    if request.first_available and not features.prioritized_list:
        why = "has subrequests, but the DRAPrioritizedList feature is disabled"
        return f"claim {claim.key}, request {request.name}: {why}"
    # The oldest allocator takes no notice of requests for capacity.
    if not features.consumable_capacity and not features.is_stable:
        why = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        if request.exactly is not None and request.exactly.capacity is not None:
            return f"claim {claim.key}, request {request.name}: {why}"
        for alternative in request.first_available:
            if alternative.capacity is not None:
                return f"claim {claim.key}, subrequest {alternative.name}: {why}"
    return ""


def _problem(
    where: str, asked: ExactDeviceRequest | DeviceSubRequest, device_class: DeviceClass | None, features: Features
) -> str:
    if asked.derived_attributes and not features.derived_attributes:
        return f"{where}: cannot handle request with derived attributes, the feature is disabled"
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
    return tuple([selector.cel.expression for selector in selectors if selector.cel is not None])

"""The claims of one pod: those it names, and the one made for extended resources that devices serve.

What has to be allocated depends on the node: a resource that the node has itself is not asked of devices there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stowplan.model.dra import ResourceClaim
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.plugins.dynamicresources import extended_resources
from stowplan.plugins.dynamicresources.claim_tracker import ClaimTracker
from stowplan.plugins.dynamicresources.claims import (
    FindClass,
    MissingClaimError,
    can_be_reserved,
    claims_of,
    is_reserved_for,
    named_claims_of,
    problem_with_requests,
    request_key,
)
from stowplan.plugins.dynamicresources.extended_resources import Mappings


@dataclass(frozen=True, slots=True)
class PodClaims:
    """The claims of a pod as they are now."""

    pod: Pod
    #: The claims that the pod names, each with the name by which containers refer to it.
    named: tuple[tuple[str, ResourceClaim], ...] = ()
    #: The claim for extended resources: in memory, or left from an earlier attempt; None if no device serves any.
    made: ResourceClaim | None = None
    #: Requested resources that a class serves, with that class.
    served: Mapping[str, str] = field(default_factory=dict)
    #: Requested resources that devices might serve, but no class does.
    unserved: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.named) or self.made is not None

    @property
    def own(self) -> tuple[ResourceClaim, ...]:
        return tuple(claim for _, claim in self.named)

    @property
    def given(self) -> list[ResourceClaim]:
        return [claim for claim in self.own if claim.status.allocation is not None]

    @property
    def is_left_over(self) -> bool:
        """Whether the claim for extended resources is from an earlier attempt: it has to go before the next."""
        return self.made is not None and bool(self.made.spec.devices.requests)

    def pending(self, lacking: Sequence[str]) -> tuple[tuple[ResourceClaim, ...], Mappings]:
        """Return the claims to be allocated on a node that lacks some served resources, and who gets what of them."""
        claims = [claim for claim in self.own if claim.status.allocation is None]
        if self.made is None or not lacking:
            return tuple(claims), ()
        requests, mappings = extended_resources.requests_of(self.pod, {name: self.served[name] for name in lacking})
        return (*claims, extended_resources.asking_for(self.made, requests)), mappings

    def lacking_on(self, node: Node) -> list[str]:
        """Return the served resources that a node has not got itself."""
        has = node.status.allocatable
        return [name for name in self.served if name not in has or has[name].is_zero]


def resolve(pod: Pod, claims: ClaimTracker, class_of: Mapping[str, str], requested: Mapping[str, int]) -> PodClaims:
    """Find the claims of a pod. Raise MissingClaimError if one cannot be used."""
    named = tuple(named_claims_of(claims.find, pod)) if pod.spec.resource_claims else ()
    names = [name for name, amount in requested.items() if amount and extended_resources.may_be_served(name)]
    served = {name: class_of[name] for name in names if name in class_of}
    if not served:
        return PodClaims(pod, named)
    made = claims.made_for(pod.uid) or extended_resources.claim_in_memory(pod)
    return PodClaims(pod, named, made, served, tuple(name for name in names if name not in class_of))


def usable_claims(pod: Pod, claims: ClaimTracker) -> Iterator[ResourceClaim]:
    """Yield the claims that a pod names, up to the first that cannot be used."""
    try:
        yield from claims_of(claims.find, pod)
    except MissingClaimError:
        return


def obstacle(claims: PodClaims, tracker: ClaimTracker, find_class: FindClass, *, allows_alternatives: bool) -> str:
    """Return why the claims of a pod cannot be had on any node at the moment, "" if they can be tried."""
    for claim in claims.own if claims.made is None else (*claims.own, claims.made):
        if claim.status.allocation is not None:
            if not (can_be_reserved(claim) or is_reserved_for(claims.pod, claim)):
                return "resourceclaim in use"
        elif tracker.is_held(claim):
            return f"resource claim {claim.key} is in the process of being allocated"
        elif claim is not claims.made:
            text = problem_with_requests(claim, find_class, allows_alternatives=allows_alternatives)
            if text:
                return text
    return ""


def signed(pod: Pod, claims: ClaimTracker, has_failed: Callable[[ResourceClaim], bool]) -> Hashable:
    """Return all that decides about the claims of a pod, but for classes and devices."""
    made = claims.made_for(pod.uid)
    left_over = made.key if made is not None else None
    try:
        found = list(claims_of(claims.find, pod))
    except MissingClaimError as missing:
        return str(missing)
    return left_over, tuple(_signed(pod, claim, claims, has_failed) for claim in found)


def _signed(
    pod: Pod, claim: ResourceClaim, claims: ClaimTracker, has_failed: Callable[[ResourceClaim], bool]
) -> Hashable:
    asked = request_key((claim,))
    allocation = claim.status.allocation
    if allocation is not None:
        is_usable = can_be_reserved(claim) or is_reserved_for(pod, claim)
        return asked, repr(allocation.node_selector), repr(allocation.devices), is_usable, has_failed(claim)
    is_plain = all(request.exactly is not None or request.first_available for request in claim.spec.devices.requests)
    # What is said of others names them.
    return asked, "" if is_plain and not claims.is_held(claim) else claim.key

"""The claims of one pod: those it names, and the one made for extended resources that devices serve.

What has to be allocated depends on the node: a resource that the node has itself is not asked of devices there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stowplan.model.dra import ResourceClaim
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.plugins.dynamicresources import extended, hints
from stowplan.plugins.dynamicresources.claims import FindClass, can_be_reserved, is_reserved_for, problem
from stowplan.plugins.dynamicresources.extended import Mappings
from stowplan.plugins.dynamicresources.in_flight import InFlight


@dataclass(frozen=True, slots=True)
class PodClaims:
    """The claims of a pod as they are now."""

    pod: Pod
    own: tuple[ResourceClaim, ...] = ()
    #: The claim for extended resources: in memory, or left from an earlier attempt; None if no device serves any.
    made: ResourceClaim | None = None
    #: Requested resources that a class serves, with that class.
    served: Mapping[str, str] = field(default_factory=dict)
    #: Requested resources that devices might serve, but no class does.
    unserved: tuple[str, ...] = ()
    #: What containers call each of the pod's own claims.
    names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.own) or self.made is not None

    @property
    def named(self) -> tuple[tuple[str, ResourceClaim], ...]:
        return tuple(zip(self.names, self.own, strict=True))

    @property
    def everything(self) -> tuple[ResourceClaim, ...]:
        return self.own if self.made is None else (*self.own, self.made)

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
        requests, mappings = extended.requests_of(self.pod, {name: self.served[name] for name in lacking})
        return (*claims, extended.asking_for(self.made, requests)), mappings

    def lacking_on(self, node: Node) -> list[str]:
        """Return the served resources that a node has not got itself."""
        has = node.status.allocatable
        return [name for name in self.served if name not in has or has[name].is_zero]


def resolve(pod: Pod, claims: InFlight, class_of: Mapping[str, str], requested: Mapping[str, int]) -> PodClaims:
    """Find the claims of a pod. Raise MissingClaimError if one cannot be used."""
    named = tuple(hints.named_claims_of(claims.find, pod)) if pod.spec.resource_claims else ()
    own, called = tuple(claim for _, claim in named), tuple(name for name, _ in named)
    names = [name for name, amount in requested.items() if amount and extended.may_be_served(name)]
    served = {name: class_of[name] for name in names if name in class_of}
    if not served:
        return PodClaims(pod, own, names=called)
    made = claims.made_for(pod.uid) or extended.claim_in_memory(pod)
    return PodClaims(pod, own, made, served, tuple(name for name in names if name not in class_of), called)


def found(pod: Pod, claims: InFlight) -> Iterator[ResourceClaim]:
    """Yield the claims that a pod names, up to the first that cannot be used."""
    try:
        yield from hints.claims_of(claims.find, pod)
    except hints.MissingClaimError:
        return


def obstacle(claims: PodClaims, in_flight: InFlight, find_class: FindClass, *, allows_alternatives: bool) -> str:
    """Return why the claims of a pod cannot be had on any node at the moment, "" if they can be tried."""
    for claim in claims.everything:
        if claim.status.allocation is not None:
            if not (can_be_reserved(claim) or is_reserved_for(claims.pod, claim)):
                return "resourceclaim in use"
        elif in_flight.is_held(claim):
            return f"resource claim {claim.key} is in the process of being allocated"
        elif claim is not claims.made:
            text = problem(claim, find_class, allows_alternatives=allows_alternatives)
            if text:
                return text
    return ""

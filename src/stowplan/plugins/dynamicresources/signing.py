"""What tells pods with claims apart: what their claims ask for, or were given; never what these are called."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from stowplan.model.dra import ResourceClaim
from stowplan.model.pod import Pod
from stowplan.plugins.dynamicresources import hints
from stowplan.plugins.dynamicresources.claims import can_be_reserved, is_reserved_for, request_key
from stowplan.plugins.dynamicresources.hints import MissingClaimError
from stowplan.plugins.dynamicresources.in_flight import InFlight


def signed(pod: Pod, claims: InFlight, has_failed: Callable[[ResourceClaim], bool]) -> Hashable:
    """Return all that decides about the claims of a pod, but for classes and devices."""
    made = claims.made_for(pod.uid)
    left_over = made.key if made is not None else None
    try:
        found = list(hints.claims_of(claims.find, pod))
    except MissingClaimError as missing:
        return str(missing)
    return left_over, tuple(_signed(pod, claim, claims, has_failed) for claim in found)


def _signed(pod: Pod, claim: ResourceClaim, claims: InFlight, has_failed: Callable[[ResourceClaim], bool]) -> Hashable:
    asked = request_key((claim,))
    allocation = claim.status.allocation
    if allocation is not None:
        is_usable = can_be_reserved(claim) or is_reserved_for(pod, claim)
        return asked, repr(allocation.node_selector), repr(allocation.devices), is_usable, has_failed(claim)
    is_plain = all(request.exactly is not None or request.first_available for request in claim.spec.devices.requests)
    # What is said of others names them.
    return asked, "" if is_plain and not claims.is_held(claim) else claim.key

"""Which changes may let a pod have its devices, and whether its claims are there at all. For DynamicResources.

A pod whose claims are missing is not even tried (`problem`); what may help it, and pods whose devices could not be
allocated, is in `awaited`. Claims are found through a function, so that the plugin's lister serves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import Awaited
from stowplan.model.dra import ResourceClaim
from stowplan.model.pod import Pod, PodResourceClaim

#: Finds a claim by namespace and name.
Find = Callable[[str, str], ResourceClaim | None]


class MissingClaimError(Exception):
    """A claim of a pod that cannot be used; the text is the reason to give."""


def awaited(find: Find) -> tuple[Awaited, ...]:
    """Return the changes that a pod without devices waits for."""
    return (
        Awaited(changes.NODE, Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE),
        Awaited(changes.RESOURCE_CLAIM, Action.ADD | Action.UPDATE, partial(is_claim_better, find)),
        Awaited(changes.POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, partial(has_all_claims, find)),
        Awaited(changes.DEVICE_CLASS, Action.ADD | Action.UPDATE),
        Awaited(changes.RESOURCE_SLICE, Action.ADD | Action.UPDATE),
    )


def problem(find: Find, pod: Pod) -> str:
    """Return what is wrong with the pod's claims, "" if all are there."""
    try:
        list(claims_of(find, pod))
    except MissingClaimError as missing:
        return str(missing)
    return ""


def claims_of(find: Find, pod: Pod) -> Iterator[ResourceClaim]:
    """Find the claims of a pod. Raise MissingClaimError at the first that cannot be used."""
    return (claim for _, claim in named_claims_of(find, pod))


def named_claims_of(find: Find, pod: Pod) -> Iterator[tuple[str, ResourceClaim]]:
    """Find the claims of a pod, each with the name by which containers refer to it. Raise MissingClaimError."""
    for entry in pod.spec.resource_claims:
        name = _name(pod, entry)
        if name is None:
            continue
        claim = find(pod.namespace, name)
        if claim is None:
            raise MissingClaimError(f'could not find ResourceClaim "{pod.namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise MissingClaimError(f'resourceclaim "{claim.name}" is being deleted')
        if entry.resource_claim_name is None and not _is_owner(pod, claim):
            raise MissingClaimError(f"ResourceClaim {claim.key} was not created for Pod {pod.key} (Pod is not owner)")
        yield entry.name, claim


def is_claim_better(find: Find, pod: Pod, old: ResourceClaim | None, new: ResourceClaim) -> bool:
    """A claim helps if it gave back its devices, or if it is the pod's own and is new or has another status."""
    try:
        is_own = any(claim.uid == new.uid for claim in list(claims_of(find, pod)))
    except MissingClaimError:
        return False
    if old is not None and old.status.allocation is not None and new.status.allocation is None:
        return True
    return is_own and (old is None or old.status != new.status)


def has_all_claims(find: Find, pod: Pod, old: Pod, new: Pod) -> bool:
    """A pod that was given the names of its claims helps itself, if all of them are there."""
    return changes.is_same(pod, new) and not problem(find, new)


def _name(pod: Pod, entry: PodResourceClaim) -> str | None:
    """Return the name of the claim behind an entry; None if it turned out that none is needed."""
    if entry.resource_claim_name is not None:
        return entry.resource_claim_name
    if entry.resource_claim_template_name is None:
        raise MissingClaimError(
            f'pod "{pod.key}", spec.resourceClaim "{entry.name}": none of the supported fields are set'
        )
    for status in pod.status.resource_claim_statuses:
        if status.name == entry.name:
            return status.resource_claim_name
    raise MissingClaimError(f'pod "{pod.key}": ResourceClaim not created yet')


def _is_owner(pod: Pod, claim: ResourceClaim) -> bool:
    return any(owner.controller and owner.uid == pod.uid for owner in claim.metadata.owner_references)

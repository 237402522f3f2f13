"""ResourceClaims: the ones of a pod, found and checked, who has them reserved, and which changes may help a pod.

A pod whose claims are missing is not even tried; what may help it, and pods whose devices could not be allocated, is in
`awaited`. What one pod needs of its claims is in `pod_claims.py`; claims on their way to the cluster are in
`claim_tracker.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, TypeVar

import msgspec

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import Awaited
from stowplan.framework.verdict import WordedError
from stowplan.model.dra import (
    ClaimConsumer,
    DeviceClass,
    DeviceClassSpec,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from stowplan.model.pod import Pod, PodResourceClaim
from stowplan.model.pod_group import OWN_GROUP, own_group

#: So many consumers may share a claim.
MAX_CONSUMERS: Final = 256
#: What a claim that is reserved for a pod group calls it.
GROUPS: Final = "podgroups"
#: Finds a claim by namespace and name, a class by name.
FindClaim = Callable[[str, str], ResourceClaim | None]
FindClass = Callable[[str], DeviceClass | None]
NO_CLASSES: Final[Mapping[str, str]] = MappingProxyType({})
Asked = TypeVar("Asked", ExactDeviceRequest, DeviceSubRequest)
replace = msgspec.structs.replace
#: Text: parameters of drivers may have numbers that are too large for any binary form.
_spec_encoder: Final = msgspec.json.Encoder(enc_hook=str, order="deterministic")


class MissingClaimError(Exception):
    """A claim of a pod that cannot be used; the text is the reason to give."""


def problem_with_claims(find: FindClaim, pod: Pod, *, in_groups: bool = False) -> str:
    """Return what is wrong with the pod's claims, "" if all are there."""
    try:
        claims_of(find, pod, in_groups=in_groups)
    except MissingClaimError as missing:
        return str(missing)
    return ""


def claims_of(find: FindClaim, pod: Pod, *, in_groups: bool = False) -> list[ResourceClaim]:
    """Find the claims of a pod. Raise MissingClaimError if one cannot be used."""
    return [claim for _, claim in named_claims_of(find, pod, in_groups=in_groups)]


def named_claims_of(find: FindClaim, pod: Pod, *, in_groups: bool = False) -> Iterator[tuple[str, ResourceClaim]]:
    """Find the claims of a pod, each with the name by which containers refer to it. Raise MissingClaimError.

    One that was made from a template must be the pod's own, or, `in_groups`, that of its group.
    """
    for entry in pod.spec.resource_claims:
        name = _claim_name(pod, entry)
        if name is None:
            continue
        claim = find(pod.namespace, name)
        if claim is None:
            raise MissingClaimError(f'could not find ResourceClaim "{pod.namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise MissingClaimError(f'resourceclaim "{claim.name}" is being deleted')
        if entry.resource_claim_name is None:
            _check_owner(pod, claim, in_groups=in_groups)
        yield entry.name, claim


def _check_owner(pod: Pod, claim: ResourceClaim, *, in_groups: bool) -> None:
    owner = claim.controller
    if owner is not None and owner.uid == pod.uid:
        return
    group = own_group(pod) if in_groups else None
    if group is None:
        raise MissingClaimError(f"ResourceClaim {claim.key} was not created for Pod {pod.key} (Pod is not owner)")
    # Pods do not know the uid of their group, and its version may change.
    is_of_group = owner is not None and (owner.kind, owner.name) == ("PodGroup", group.name)
    if owner is None or not is_of_group or not owner.api_version.startswith(f"{OWN_GROUP}/"):
        whose = f"neither Pod nor PodGroup {group.name} is the owner"
        raise MissingClaimError(f"ResourceClaim {claim.key} was not created for Pod {pod.key} ({whose})")


def _claim_name(pod: Pod, entry: PodResourceClaim) -> str | None:
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


def can_be_reserved(claim: ResourceClaim) -> bool:
    """Say whether the claim can take one consumer more."""
    return len(claim.status.reserved_for) < MAX_CONSUMERS


def is_reserved_for(pod: Pod, claim: ResourceClaim, *, in_groups: bool = False) -> bool:
    """Say whether a claim is reserved for a pod, or, `in_groups`, for its group."""
    consumers = claim.status.reserved_for
    if not consumers:
        return False
    if any(consumer.uid == pod.uid for consumer in consumers):
        return True
    group = own_group(pod) if in_groups else None
    return group is not None and any(
        (consumer.api_group, consumer.resource, consumer.name) == (OWN_GROUP, GROUPS, group.name)
        for consumer in consumers
    )


def consumer_of(pod: Pod) -> ClaimConsumer:
    """Return a pod as it stands in the claims that are reserved for it."""
    return ClaimConsumer(resource="pods", name=pod.name, uid=pod.uid)


def is_idle_but_for(pod: Pod, claim: ResourceClaim) -> bool:
    """Say whether nobody but perhaps `pod` would miss the devices of a claim."""
    consumers = claim.status.reserved_for
    return not consumers or (len(consumers) == 1 and consumers[0].uid == pod.uid)


def request_key(claims: Iterable[ResourceClaim], alike: Mapping[str, str] = NO_CLASSES) -> tuple[bytes, ...]:
    """Return what claims have in common that are given the same devices, whatever they are called.

    `alike` has classes in whose place another can stand.
    """
    specs = [claim.spec for claim in claims]
    if alike:
        specs = [_with_classes(spec, alike) for spec in specs]
    return tuple([_spec_encoder.encode(spec) for spec in specs])


def _with_classes(spec: ResourceClaimSpec, alike: Mapping[str, str]) -> ResourceClaimSpec:
    """Return what a claim asks for, with other classes in the places of those that it names."""

    def exchanged(asked: Asked) -> Asked:
        name = asked.device_class_name
        return replace(asked, device_class_name=alike[name]) if name in alike else asked

    requests = tuple(
        replace(
            request,
            exactly=request.exactly and exchanged(request.exactly),
            first_available=tuple(map(exchanged, request.first_available)),
        )
        for request in spec.devices.requests
    )
    return replace(spec, devices=replace(spec.devices, requests=requests))


def alike_classes(classes: Iterable[DeviceClass]) -> dict[str, str]:
    """Return, of classes that ask the same of a device, all but the first by name, and in its place the first."""
    first: dict[bytes, str] = {}
    found = {one.name: first.setdefault(_spec_encoder.encode(_asked_by(one)), one.name) for one in classes}
    return {name: other for name, other in found.items() if name != other}


def _asked_by(device_class: DeviceClass) -> DeviceClassSpec:
    return replace(device_class.spec, extended_resource_name=None)


def problem_with_requests(claim: ResourceClaim, find_class: FindClass, *, allows_alternatives: bool) -> str:
    """Return why nothing can be allocated for a claim, "" if its requests can be tried.

    Raise WordedError for a request without a class.
    """
    for request in claim.spec.devices.requests:
        where = f"resource claim {claim.key}, request {request.name}"
        if request.exactly is not None:
            asked = [(request.name, request.exactly.device_class_name)]
        elif not request.first_available:
            return f"{where}: unknown request type"
        elif not allows_alternatives:
            return f"{where}: has subrequests, but the DRAPrioritizedList feature is disabled"
        else:
            asked = [(f"{request.name}/{one.name}", one.device_class_name) for one in request.first_available]
        for name, class_name in asked:
            if not class_name:
                raise WordedError(f"request {name}: unsupported request type")
            if find_class(class_name) is None:
                return f"request {name}: device class {class_name} does not exist"
    return ""


def awaited(find: FindClaim, *, hears_deletions: bool = True, in_groups: bool = False) -> tuple[Awaited, ...]:
    """Return the changes that a pod without devices waits for."""
    is_better = partial(is_claim_better, find, in_groups=in_groups)
    has_all = partial(has_all_claims, find, in_groups=in_groups)
    of_claims = Action.ADD | Action.UPDATE | (Action.DELETE if hears_deletions else Action(0))
    return (
        Awaited(changes.NODE, Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE),
        Awaited(changes.RESOURCE_CLAIM, of_claims, is_better, who_refers_to),
        Awaited(changes.TARGET_POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, has_all),
        Awaited(changes.DEVICE_CLASS, Action.ADD | Action.UPDATE),
        Awaited(changes.RESOURCE_SLICE, Action.ADD | Action.UPDATE),
    )


def who_refers_to(old: ResourceClaim | None, new: ResourceClaim | None) -> Callable[[Pod], bool] | None:
    """Return which pods a change of a claim may concern: those that refer to it, or all if devices were freed."""
    claim = new or old
    is_freed = old is not None and old.status.allocation is not None
    if claim is None or (is_freed and (new is None or new.status.allocation is None)):
        return None
    return lambda pod: pod.namespace == claim.namespace and _refers_to(pod, claim.name)


def _refers_to(pod: Pod, claim_name: str) -> bool:
    for entry in pod.spec.resource_claims:
        try:
            if _claim_name(pod, entry) == claim_name:
                return True
        except MissingClaimError:
            continue
    return False


def is_claim_better(
    find: FindClaim, pod: Pod, old: ResourceClaim | None, new: ResourceClaim | None, *, in_groups: bool = False
) -> bool:
    """A claim helps if it gave back its devices, or if it is the pod's own and is new or has another status.

    One that is gone (no new) helps if it had devices when it was seen last.
    """
    if new is None:
        return old is None or old.status.allocation is not None
    try:
        is_own = any(claim.uid == new.uid for claim in claims_of(find, pod, in_groups=in_groups))
    except MissingClaimError:
        return False
    if old is not None and old.status.allocation is not None and new.status.allocation is None:
        return True
    return is_own and (old is None or old.status != new.status)


def has_all_claims(find: FindClaim, pod: Pod, old: Pod, new: Pod, *, in_groups: bool = False) -> bool:
    """A pod that was given the names of its claims helps itself, if all of them are there."""
    return not problem_with_claims(find, new, in_groups=in_groups)

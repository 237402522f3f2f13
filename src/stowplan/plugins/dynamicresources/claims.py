"""What a claim says about itself: whether it is given, to whom, and whether what it asks for exists.

How devices are chosen for it is in `allocator.py`, which claims are on their way to the cluster in `in_flight.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from stowplan.framework.verdict import WordedError
from stowplan.model.dra import ClaimConsumer, DeviceClass, ResourceClaim
from stowplan.model.pod import Pod

#: Keeps a claim from being deleted while its devices are given away.
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
#: So many consumers may share a claim.
MOST_CONSUMERS: Final = 256

FindClass = Callable[[str], DeviceClass | None]


class UnsupportedRequestError(WordedError):
    """A request that nobody can understand."""


def can_be_reserved(claim: ResourceClaim) -> bool:
    """Say whether the claim can take one consumer more."""
    return len(claim.status.reserved_for) < MOST_CONSUMERS


def is_reserved_for(pod: Pod, claim: ResourceClaim) -> bool:
    return any(consumer.uid == pod.uid for consumer in claim.status.reserved_for)


def is_idle_but_for(pod: Pod, claim: ResourceClaim) -> bool:
    """Say whether nobody but perhaps `pod` would miss the devices of a claim."""
    consumers = claim.status.reserved_for
    return not consumers or (len(consumers) == 1 and consumers[0].uid == pod.uid)


def consumer_of(pod: Pod) -> ClaimConsumer:
    return ClaimConsumer(resource="pods", name=pod.name, uid=pod.uid)


def request_key(claims: Iterable[ResourceClaim]) -> tuple[bytes, ...]:
    """Return what claims have in common that are given the same devices, whatever they are called."""
    return tuple(_spec_encoder.encode(claim.spec) for claim in claims)


def problem(claim: ResourceClaim, find_class: FindClass, *, allows_alternatives: bool) -> str:
    """Return why nothing can be allocated for a claim, "" if its requests can be tried.

    Raise UnsupportedRequestError for a request without a class.
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
                raise UnsupportedRequestError(f"request {name}: unsupported request type")
            if find_class(class_name) is None:
                return f"request {name}: device class {class_name} does not exist"
    return ""


_spec_encoder: Final = msgspec.msgpack.Encoder(enc_hook=str, order="deterministic")


def written(value: msgspec.Struct) -> dict[str, object]:
    """Return a part of a claim as it stands in a patch."""
    content: dict[str, object] = msgspec.to_builtins(value, enc_hook=str)
    return content

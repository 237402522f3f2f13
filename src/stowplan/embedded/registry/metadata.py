"""The metadata of objects on their way in: what they must say, what they are given, what they may not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from stowplan.embedded.objects.errors import Cause, bad_request, conflict, invalid
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.requests.request import Target

CHANGED_MEANWHILE: Final = "the object has been modified; please apply your changes to the latest version and try again"
#: Set by the server alone; a new object starts without them.
_OWN: Final = frozenset(
    (
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "resourceVersion",
        "selfLink",
        "uid",
    )
)
#: An update cannot change these; what it says of them is not heard.
_KEPT: Final = ("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generateName", "generation")
_ONLY_WITH_VERSION: Final = frozenset(
    (
        "customresourcedefinitions.apiextensions.k8s.io",
        "leases.coordination.k8s.io",
        "poddisruptionbudgets.policy",
        "runtimeclasses.node.k8s.io",
        "csinodes.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
    )
)
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_LONGEST_NAME: Final = 63
#: In a uid of version 4, thirteenth and seventeenth digit say what it is.
_FREE_BITS: Final = ~(0xF000_C000 << 48)
_FIXED_BITS: Final = 0x4000_8000 << 48
#: Gives that many random bits, like `random.Random.getrandbits`.
Draw = Callable[[int], int]


def check_kind(resource: Resource, obj: Object) -> None:
    """Raise StatusError 400 if an object says that it is something else than what the request is about."""
    api_version, kind = obj.setdefault("apiVersion", resource.api_version), obj.setdefault("kind", resource.kind)
    if api_version != resource.api_version:
        raise bad_request(
            f"the API version in the data ({api_version}) does not match "
            f"the expected API version ({resource.api_version})"
        )
    if kind != resource.kind:
        raise bad_request(f'{kind} in version "{resource.version}" cannot be handled as a {resource.kind}')


def place(target: Target, obj: Object) -> Object:
    """Give an object the name and namespace of the request; return its metadata. Raise StatusError 400 on others."""
    metadata: Object = obj.get("metadata") or {}
    obj["metadata"] = metadata
    if not target.resource.is_namespaced:
        metadata.pop("namespace", None)
    elif (metadata.get("namespace") or target.namespace) != target.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    else:
        metadata["namespace"] = target.namespace
    if not target.name:
        return metadata
    if metadata.setdefault("name", target.name) != target.name:
        name = metadata["name"]
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({target.name})")
    return metadata


def clear_new(metadata: Object) -> None:
    """Take off a new object what only the server gives."""
    if metadata.get("resourceVersion"):
        raise bad_request("resourceVersion should not be set on objects to be created")
    if _OWN.isdisjoint(metadata):
        return
    for key in _OWN:
        metadata.pop(key, None)


def complete_new(metadata: Object, creation_time: str, uid: str) -> None:
    """Give a new object what only the server gives."""
    metadata["uid"] = uid
    metadata["creationTimestamp"] = creation_time


def check_version(target: Target, metadata: Object, before: Object) -> None:
    """Refuse a change that was made to another version of the object, or to another object of that name."""
    resource, name = target.resource, target.name
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    if uid and uid != before["uid"]:
        problem = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {before['uid']}"
        raise conflict(resource, name, problem)
    if version in (None, "", "0"):
        if resource.is_custom or resource.qualified in _ONLY_WITH_VERSION:
            problem = "Invalid value: 0: must be specified for an update"
            raise invalid(resource, name, [Cause("FieldValueInvalid", "metadata.resourceVersion", problem)])
    elif version != before["resourceVersion"]:
        raise conflict(resource, name, CHANGED_MEANWHILE)


def carry_over(metadata: Object, before: Object) -> None:
    """Put back what a change may not touch."""
    for key in _KEPT:
        if key in before:
            metadata[key] = before[key]
        else:
            metadata.pop(key, None)
    metadata["uid"], metadata["resourceVersion"] = before["uid"], before["resourceVersion"]
    metadata.pop("selfLink", None)


def check_finalizers(resource: Resource, metadata: Object, before: Object) -> None:
    """Refuse new finalizers on an object that is being deleted."""
    if "deletionTimestamp" not in before:
        return
    new = sorted(set(metadata.get("finalizers", ())) - set(before.get("finalizers", ())))
    if new:
        listed = ", ".join(f'"{each}"' for each in new)
        problem = (
            "Forbidden: no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{listed}}}"
        )
        name = metadata["name"]
        raise invalid(resource, name, [Cause("FieldValueForbidden", "metadata.finalizers", problem)])


def make_uid(draw: Draw) -> str:
    # The version and the variant have fixed places; `uuid` would do the same at four times the price.
    digits = (draw(128) & _FREE_BITS | _FIXED_BITS).to_bytes(16, "big").hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def make_name(prefix: str, draw: Draw) -> str:
    """Complete a generateName; a prefix that leaves no room is cut."""
    return prefix[: _LONGEST_NAME - _SUFFIX_LENGTH] + spell(draw(64), _SUFFIX_LENGTH)


def spell(number: int, length: int) -> str:
    """Letters and digits for a number; no vowels are among them, so that no words come out."""
    letters = ""
    for _ in range(length):
        number, letter = divmod(number, len(_LETTERS))
        letters += _LETTERS[letter]
    return letters

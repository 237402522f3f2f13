"""How an object goes: at once, after its grace period, or when its finalizers are done. Pure; `api` acts on it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from stowplan.embedded.objects.errors import bad_request, conflict, invalid_options
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.requests.request import Target
from stowplan.model.timestamps import format_time, parse_time

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
_POLICIES: Final = {"Orphan": ORPHAN, "Foreground": FOREGROUND, "Background": None}
_FINISHED: Final = ("Succeeded", "Failed")
_LONGEST_GRACE_SECONDS: Final = 2**31
_STILL_EMPTYING: Final = (
    "The system is ensuring all content is removed from this namespace.  "
    "Upon completion, this namespace will automatically be purged by the system."
)


class Preconditions(msgspec.Struct, frozen=True):
    """Which object exactly is meant."""

    uid: str | None = None
    resourceVersion: str | None = None  # noqa: N815


class DeleteOptions(msgspec.Struct, frozen=True):
    """How to delete, as the body of a request says it."""

    gracePeriodSeconds: int | None = None  # noqa: N815
    propagationPolicy: str | None = None  # noqa: N815
    orphanDependents: bool | None = None  # noqa: N815
    preconditions: Preconditions | None = None
    dryRun: list[str] | None = None  # noqa: N815


def read_options(content: Object | None) -> DeleteOptions:
    """Read DeleteOptions. Raise StatusError if they are malformed."""
    try:
        options = msgspec.convert(content or {}, DeleteOptions)
    except msgspec.ValidationError as error:
        raise bad_request(f"DeleteOptions cannot be read: {error}") from None
    if options.propagationPolicy is not None and options.propagationPolicy not in _POLICIES:
        listed = ", ".join(f'"{policy}"' for policy in (*sorted(_POLICIES), "nil"))
        problem = f'Unsupported value: "{options.propagationPolicy}": supported values: {listed}'
        raise invalid_options("DeleteOptions", f"propagationPolicy: {problem}")
    if options.propagationPolicy is not None and options.orphanDependents is not None:
        raise invalid_options(
            "DeleteOptions",
            "propagationPolicy: Invalid value: "
            f'"{options.propagationPolicy}": orphanDependents and deletionPropagation cannot be both set',
        )
    return options


def check_preconditions(target: Target, metadata: Object, options: DeleteOptions) -> None:
    wanted = options.preconditions
    if wanted is None:
        return
    for word, asked, found, what in (
        ("UID", wanted.uid, metadata["uid"], "deleted and then recreated"),
        ("ResourceVersion", wanted.resourceVersion, metadata["resourceVersion"], "modified"),
    ):
        if asked is not None and asked != found:
            problem = f"the {word} in the precondition ({asked}) does not match the {word} in record ({found})"
            raise conflict(target.resource, target.name, f"{problem}. The object might have been {what}")


def begin(resource: Resource, obj: Object, options: DeleteOptions, now: datetime) -> bool:
    """Mark an object as the options ask; say whether it goes at once. What is on its way already stays as it is."""
    if resource.qualified == "namespaces":
        return _begin_namespace(resource, obj, now)
    metadata = obj["metadata"]
    is_graceful = resource.qualified == "pods" and (metadata.get("deletionGracePeriodSeconds") or _is_new(metadata))
    if is_graceful:
        grace = _grace_seconds(obj, options)
        if grace is None:
            return False
        _mark_with_grace(metadata, grace, now)
    _set_finalizers(metadata, options)
    if not metadata.get("finalizers"):
        return not (is_graceful and metadata["deletionGracePeriodSeconds"])
    if not is_graceful:
        _mark(metadata, now)
    return False


def is_finished(resource: Resource, obj: Object) -> bool:
    """Whether an object that was marked may go now: nobody has anything left to do for it."""
    metadata = obj["metadata"]
    if _is_new(metadata) or metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds"):
        return False
    return not (resource.qualified == "namespaces" and _spec_finalizers(obj))


def _begin_namespace(resource: Resource, obj: Object, now: datetime) -> bool:
    metadata = obj["metadata"]
    if not _is_new(metadata) and _spec_finalizers(obj):
        raise conflict(resource, metadata["name"], _STILL_EMPTYING)
    _mark(metadata, now)
    del metadata["deletionGracePeriodSeconds"]
    obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}
    return not (_spec_finalizers(obj) or metadata.get("finalizers"))


def _grace_seconds(pod: Object, options: DeleteOptions) -> int | None:
    """How long a pod is given, counted from the first request to delete it; None if it has no longer anyway."""
    spec, current = pod.get("spec", {}), pod["metadata"].get("deletionGracePeriodSeconds")
    asked = options.gracePeriodSeconds
    if asked is not None:
        asked = 1 if asked < 0 else min(asked, _LONGEST_GRACE_SECONDS)
    if current is not None:
        return asked if asked is not None and asked < current else None
    if not spec.get("nodeName") or pod.get("status", {}).get("phase") in _FINISHED:
        return 0
    own = int(spec.get("terminationGracePeriodSeconds") or 0)
    return max(0, min(own, _LONGEST_GRACE_SECONDS)) if asked is None else asked


def _mark_with_grace(metadata: Object, grace: int, now: datetime) -> None:
    if _is_new(metadata):
        _count(metadata)
        began = now
    else:
        began = parse_time(metadata["deletionTimestamp"]) - timedelta(seconds=metadata["deletionGracePeriodSeconds"])
    metadata["deletionTimestamp"] = format_time(began + timedelta(seconds=grace))
    metadata["deletionGracePeriodSeconds"] = grace


def _mark(metadata: Object, now: datetime) -> None:
    if _is_new(metadata):
        _count(metadata)
        metadata["deletionTimestamp"] = format_time(now)
    metadata["deletionGracePeriodSeconds"] = 0


def _count(metadata: Object) -> None:
    """Controllers take another generation as a sign to look, and to stop looking after what goes."""
    if metadata.get("generation"):
        metadata["generation"] += 1


def _set_finalizers(metadata: Object, options: DeleteOptions) -> None:
    """Leave word for the garbage collector what becomes of the dependents."""
    current = metadata.get("finalizers", [])
    if options.orphanDependents is not None:
        wanted = ORPHAN if options.orphanDependents else None
    elif options.propagationPolicy is not None:
        wanted = _POLICIES[options.propagationPolicy]
    else:
        wanted = next((each for each in current if each in (ORPHAN, FOREGROUND)), None)
    kept = [each for each in current if each not in (ORPHAN, FOREGROUND)]
    finalizers = [*kept, wanted] if wanted else kept
    if set(finalizers) != set(current):
        metadata["finalizers"] = finalizers


def _is_new(metadata: Object) -> bool:
    """Whether nobody has asked to delete the object yet."""
    return "deletionTimestamp" not in metadata


def _spec_finalizers(obj: Object) -> list[str]:
    return list((obj.get("spec") or {}).get("finalizers") or ())

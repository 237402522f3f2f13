"""What a request is about, from its path, and how it wants to be treated, apart from how it came in."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote

import msgspec

from stowplan.embedded.identity.users import User
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.catalogue import Catalogue


class Target(msgspec.Struct, frozen=True):
    """An object, a part of one, or (without a name) a place where objects are."""

    resource: Resource
    #: "" for cluster-scoped objects, and for all namespaces at once.
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class Options(msgspec.Struct, frozen=True):
    """How a change is to be made."""

    is_dry_run: bool = False
    field_manager: str = ""
    #: Who asks, with all that is known; None for this process itself.
    requester: User | None = None
    #: What becomes of fields that the kind does not have, or that are given twice: Strict, Warn or Ignore.
    field_validation: str = ""
    #: The body that the object or the patch was read from.
    sent: bytes = b""
    #: Whether a new object is to say from the start who owns which of its fields.
    is_tracked: bool = False
    #: Whether the object has the form of its kind for sure, because it was made in this process.
    is_trusted: bool = False
    #: Whether what depends on the request and the object alone has been seen to, by `Api.ready` or `Api.ready_new`.
    is_ready: bool = False
    #: Whether it is known to break no rule of its kind, by `Api.check`.
    is_checked: bool = False
    #: What the client is to be told beside the answer; added to on the way.
    warnings: list[str] = msgspec.field(default_factory=list)
    #: Refuses what its author may not write, given what it was before; None if everybody may.
    guard: Callable[[Resource, Object, Object | None], None] | None = None


#: Changes from within this process.
TRUSTED = Options(field_manager="kube-controller-manager", is_trusted=True)


def split_path(path: str) -> list[str]:
    """The segments of a path, decoded; empty ones are left out."""
    segments = [segment for segment in path.split("/") if segment]
    return [unquote(segment) for segment in segments] if "%" in path else segments


def find_target(segments: list[str], catalogue: Catalogue) -> Target:
    """Find what the segments name. Raise StatusError 404 if that is nothing that is served."""
    if len(segments) > 2 and segments[0] == "api":
        return _within("", segments[1], segments[2:], catalogue)
    if len(segments) > 3 and segments[0] == "apis":
        return _within(segments[1], segments[2], segments[3:], catalogue)
    raise nothing_there()


def nothing_there() -> StatusError:
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def _within(group: str, version: str, rest: list[str], catalogue: Catalogue) -> Target:
    # /namespaces/X/status is a part of namespace X, and /namespaces/X/pods the pods in it.
    if rest[0] == "namespaces" and len(rest) > 2:
        resource = catalogue.find(group, version, rest[2])
        if resource is not None and resource.is_namespaced:
            return _target(resource, rest[1], rest[3:])
    resource = catalogue.find(group, version, rest[0])
    if resource is None or (resource.is_namespaced and len(rest) > 1):
        raise nothing_there()
    return _target(resource, "", rest[1:])


def _target(resource: Resource, namespace: str, rest: list[str]) -> Target:
    # What follows a subresource is for those that pass requests on, such as a proxy.
    return Target(resource, namespace, *rest[:2])

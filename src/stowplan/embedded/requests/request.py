"""What a request is about and how it wants to be treated, apart from how it came in."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from stowplan.embedded.identity.users import User
from stowplan.embedded.objects.resource import Object, Resource


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
    user: str = ""
    #: Who asks, with all that is known; None for this process itself.
    requester: User | None = None
    #: What becomes of fields that the kind does not have: Strict, Warn or Ignore.
    field_validation: str = ""
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

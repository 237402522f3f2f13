"""Who owns whom: owner references as controllers write and read them."""

from __future__ import annotations

import msgspec

from stowplan.embedded.objects.resource import Object, Resource


class Owner(msgspec.Struct, frozen=True, gc=False):
    """The controller of an object, as its owner reference names it."""

    api_version: str
    kind: str
    name: str
    uid: str


def controller_reference(resource: Resource, owner: Object) -> Object:
    """Make the reference that says `owner` is the controller."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_of(obj: Object) -> Object | None:
    """Find the reference to the controller of an object, if it has one."""
    references = obj["metadata"].get("ownerReferences") or []
    return next((reference for reference in references if reference.get("controller")), None)

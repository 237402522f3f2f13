"""What controllers read and write of any object: its resource, its controller, its finalizers."""

from __future__ import annotations

from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api

#: Namespace ("" for cluster-scoped objects) and name, or whatever else a queue holds.
ObjectKey = tuple[str, str]


def find_resource(api: Api, api_version: str, kind: str) -> Resource:
    """Find a built-in resource by what its objects say."""
    resource = api.catalogue.of_kind(api_version, kind)
    if resource is None:
        raise LookupError(f"the catalogue has no {kind} of {api_version}; add it to the built-in resources")
    return resource


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


def object_reference(api_version: str, kind: str, obj: Object) -> Object:
    """Make a reference to an object as it is now."""
    meta = obj["metadata"]
    return {
        "kind": kind,
        "namespace": meta.get("namespace", ""),
        "name": meta["name"],
        "uid": meta.get("uid", ""),
        "apiVersion": api_version,
        "resourceVersion": meta.get("resourceVersion", ""),
    }


def controller_of(obj: Object) -> Object | None:
    """Find the reference to the controller of an object, if it has one."""
    references = obj["metadata"].get("ownerReferences") or []
    return next((reference for reference in references if reference.get("controller")), None)


def remove_owner(obj: Object, uid: str) -> None:
    """Take the references to an owner off an object."""
    references = obj["metadata"].get("ownerReferences") or []
    obj["metadata"]["ownerReferences"] = [each for each in references if each.get("uid") != uid]


def remove_finalizer(obj: Object, finalizer: str) -> bool:
    """Take a finalizer off an object; return False if it has none of that name."""
    finalizers = obj["metadata"].get("finalizers") or []
    if finalizer not in finalizers:
        return False
    obj["metadata"]["finalizers"] = [each for each in finalizers if each != finalizer]
    return True


def is_terminating(obj: Object) -> bool:
    """Whether an object has been deleted, and is there only until others are done with it."""
    return "deletionTimestamp" in obj["metadata"]

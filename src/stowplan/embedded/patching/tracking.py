"""Plain updates of an object whose fields have owners: whoever changes a field owns it from then on."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.patching import field_sets, managed_fields, owning
from stowplan.embedded.patching.field_sets import FieldSet, Path
from stowplan.embedded.patching.managed_fields import Managed, Owner, Share
from stowplan.embedded.patching.owning import Difference
from stowplan.embedded.resource import Object, Resource
from stowplan.embedded.types.schema import Schema

#: What the API itself sets, or what is the same for everybody, has no owner.
OWNERLESS: Final[FieldSet] = frozenset(
    {
        ("f:apiVersion",),
        ("f:kind",),
        ("f:metadata",),
        *(
            ("f:metadata", f"f:{name}")
            for name in ("name", "namespace", "creationTimestamp", "selfLink", "uid", "generation", "resourceVersion")
        ),
    }
)


def owned(fields: FieldSet, resource: Resource, subresource: str) -> FieldSet:
    """Leave out what cannot be owned, or cannot be changed, through a resource or one of its subresources."""
    return field_sets.without(fields - OWNERLESS, *_out_of_reach(resource, subresource))


def within_reach(changes: Difference, resource: Resource, subresource: str) -> Difference:
    """The changes that a request makes; the rest of what it says is not heard."""
    roots = _out_of_reach(resource, subresource)
    sets = (changes.added, changes.changed, changes.removed)
    return Difference(*(set(field_sets.without(frozenset(paths), *roots)) for paths in sets))


def _out_of_reach(resource: Resource, subresource: str) -> tuple[Path, ...]:
    managed = ("f:metadata", "f:managedFields")
    if subresource == "status":
        return (managed, ("f:spec",))
    return (managed, ("f:status",)) if "status" in resource.subresources else (managed,)


def everything(obj: Object, schema: Schema, resource: Resource) -> FieldSet:
    """All fields that somebody may own of an object that nobody was known to own."""
    found = owning.difference({}, obj, schema)
    return owned(frozenset(found.added), resource, "")


def handed_over(managed: Managed, changes: Difference) -> Managed:
    """Take what was changed or removed from those who owned it; who owns nothing is forgotten."""
    gone = changes.added | changes.changed | changes.removed
    kept = {owner: Share(share.fields - gone, share.api_version, share.time) for owner, share in managed.items()}
    return {owner: share for owner, share in kept.items() if share.fields}


def updated(managed: Managed, changes: Difference, by: Owner, taken: FieldSet, time: str) -> Managed:
    """Let one manager own what it changed, beside what it owned before."""
    result = handed_over(managed, changes)
    if not taken:
        return result
    before = result.get(by)
    result[by] = Share(taken | (before.fields if before else field_sets.EMPTY), by.api_version, time)
    return managed_fields.capped(result)

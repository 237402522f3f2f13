"""Who owns which fields of an object: `metadata.managedFields`, read, written, and changed by updates.

Whoever changes a field owns it from then on; what an apply changes of that is in `server_side_apply`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching import field_sets, owning
from stowplan.embedded.patching.field_sets import EMPTY, FieldSet, Path
from stowplan.embedded.patching.owning import Difference
from stowplan.embedded.types.schema import Schema
from stowplan.model.timestamps import format_time

APPLY: Final = "Apply"
UPDATE: Final = "Update"

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
# So many managers that updated are kept apart; the oldest are taken together beyond that.
_MAX_UPDATERS: Final = 10


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """A manager in one of its roles. One that applies is the same in every version, so it has none here."""

    manager: str
    operation: str
    api_version: str
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """What an owner owns, and since when."""

    fields: FieldSet
    api_version: str
    #: RFC 3339, or "" if it is not known.
    time: str = ""


Managed = dict[Owner, Share]


def updater(manager: str, api_version: str, subresource: str = "") -> Owner:
    return Owner(manager or "unknown", UPDATE, api_version, subresource)


def stamp(time: datetime | None) -> str:
    """Write a time as the API does."""
    return "" if time is None else format_time(time)


def of(obj: Object) -> Any:
    """The entries that an object carries, whatever they are."""
    return reading.at(obj, "metadata", "managedFields")


def decode(entries: Any) -> Managed:
    """Read the entries of an object; those that nobody can read tell nothing, so there are no owners then."""
    if not isinstance(entries, list):
        return {}
    try:
        return dict(_decode(entry) for entry in entries)
    except (ValueError, RecursionError):
        return {}


def _decode(entry: Any) -> tuple[Owner, Share]:
    if not isinstance(entry, dict) or entry.get("fieldsType") != "FieldsV1":
        raise ValueError("an entry of managedFields needs fieldsType FieldsV1")
    manager, operation, api_version, subresource, time = (
        _text(entry, name) for name in ("manager", "operation", "apiVersion", "subresource", "time")
    )
    if operation not in (APPLY, UPDATE) or not api_version:
        raise ValueError("an entry of managedFields needs an operation and an apiVersion")
    owner = Owner(manager, operation, "" if operation == APPLY else api_version, subresource)
    return owner, Share(field_sets.decode(entry.get("fieldsV1", {})), api_version, time)


def _text(entry: Object, name: str) -> str:
    value = entry.get(name) or ""
    if not isinstance(value, str):
        raise ValueError(f"{name} of an entry of managedFields is not a string")
    return value


def encode(managed: Managed) -> list[Object]:
    """Write entries in the order of the API: by operation, time, manager."""
    ordered = sorted(managed.items(), key=lambda pair: (pair[0].operation, pair[1].time, pair[0]))
    return [_encode(owner, share) for owner, share in ordered]


def _encode(owner: Owner, share: Share) -> Object:
    return {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": share.api_version,
        **({"time": share.time} if share.time else {}),
        "fieldsType": "FieldsV1",
        "fieldsV1": field_sets.encode(share.fields),
        **({"subresource": owner.subresource} if owner.subresource else {}),
    }


def capped(managed: Managed) -> Managed:
    """Take the oldest managers that updated together as `ancient-changes`, so that there are never too many."""
    updaters = sorted((s.time, o) for o, s in managed.items() if o.operation == UPDATE)
    surplus = len(updaters) - _MAX_UPDATERS
    if surplus <= 0:
        return managed
    result = dict(managed)
    by_version: dict[str, list[Share]] = {}
    for _, owner in updaters[: surplus + 1]:
        share = result.pop(owner)
        by_version.setdefault(share.api_version, []).append(share)
    for version, shares in by_version.items():
        together = EMPTY.union(*(share.fields for share in shares))
        result[updater("ancient-changes", version)] = Share(together, version, max(share.time for share in shares))
    return result


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
    result[by] = Share(taken | (before.fields if before else EMPTY), by.api_version, time)
    return capped(result)

"""Server-side apply: a manager says all that it wants of an object, and owns exactly that.

What it no longer says goes, unless somebody else owns it. What somebody else owns and it wants otherwise is a conflict,
unless it forces. Objects of which nobody knows the owners belong to `before-first-apply`, except for what kubectl
applied on the client side: when kubectl goes over to the server side, it gives up what it no longer says of that.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import StatusError, bad_request
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching import field_sets, managed_fields, owning
from stowplan.embedded.patching.field_sets import EMPTY, FieldSet
from stowplan.embedded.patching.managed_fields import APPLY, Managed, Owner, Share
from stowplan.embedded.patching.owning import MalformedValueError
from stowplan.embedded.patching.patch import without_nulls
from stowplan.embedded.types.schema import Schema

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_LAST_APPLIED_PATH: Final = ("f:metadata", "f:annotations", f"f:{_LAST_APPLIED}")
_KUBECTL: Final = "kubectl"
_CLIENT_SIDE: Final = "kubectl-client-side-apply"


@dataclass(frozen=True, slots=True)
class Application:
    """One manager's wish for one object."""

    resource: Resource
    schema: Schema
    wanted: Object
    manager: str
    is_forced: bool = False
    subresource: str = ""
    #: RFC 3339, or "" if it is not known.
    time: str = ""

    @property
    def owner(self) -> Owner:
        return Owner(self.manager, APPLY, "", self.subresource)


def applied(application: Application, current: Object | None) -> Object:
    """Do what a manager asks for; raises StatusError 400 for a wish that cannot be read, 409 for a conflict."""
    _check(application)
    live: Object = without_nulls(_without_managed(current or {}))
    managed = managed_fields.decode(managed_fields.of(current or {}))
    if current is not None and not managed:
        managed = _before_first_apply(application, live)
    outcome, owners = _outcome(application, live, managed)
    _keep_last_applied(application, outcome)
    metadata = outcome.setdefault("metadata", {})
    # An object whose metadata is something else is refused by validation.
    if owners and isinstance(metadata, dict):
        metadata["managedFields"] = managed_fields.encode(owners)
    return outcome


def _check(application: Application) -> None:
    wanted, resource = application.wanted, application.resource
    version, kind = wanted.get("apiVersion") or "", wanted.get("kind") or ""
    if (version, kind) != (resource.api_version, resource.kind):
        group_version = version if "/" in str(version) or not version else f"/{version}"
        raise bad_request(f"invalid object type: {group_version or '/'}, Kind={kind}")
    if managed_fields.of(wanted) is not None:
        raise bad_request("metadata.managedFields must be nil")
    try:
        owning.check(wanted, application.schema)
    except MalformedValueError as fault:
        raise StatusError(
            422, "Invalid", f"failed to create typed patch object ({_naming(application)}): {fault}"
        ) from None


def _naming(application: Application) -> str:
    named, resource = reading.mapping(application.wanted, "metadata"), application.resource
    what = f"{resource.group}/{resource.version}, Kind={resource.kind}"
    return f"{named.get('namespace', '')}/{named.get('name', '')}; {what}"


def _without_managed(obj: Object) -> Object:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _before_first_apply(application: Application, live: Object) -> Managed:
    fields = managed_fields.everything(live, application.schema, application.resource)
    version = application.resource.api_version
    client_side = EMPTY
    if _annotations(live).get(_LAST_APPLIED):
        client_side = fields & (_from_last_applied(application, live) | {_LAST_APPLIED_PATH})
    shares = {"before-first-apply": fields - client_side, _CLIENT_SIDE: client_side}
    return {
        managed_fields.updater(manager, version): Share(owned, version, application.time)
        for manager, owned in shares.items()
        if owned
    }


def _outcome(application: Application, live: Object, managed: Managed) -> tuple[Object, Managed]:
    schema, owner, resource = application.schema, application.owner, application.resource
    last = managed.get(owner)
    fields = owning.fields_of(application.wanted, schema)
    own = Share(managed_fields.owned(fields, resource, application.subresource), resource.api_version, application.time)
    others = {other: share for other, share in managed.items() if other != owner}
    laid_over = owning.merged(live, application.wanted, schema)
    if last is not None:
        everybodys = managed_fields.OWNERLESS.union(own.fields, *(share.fields for share in others.values()))
        laid_over = _pruned(laid_over, last.fields, everybodys, schema)
    found = owning.difference(live, laid_over, schema)
    outcome: Object = without_nulls(laid_over)
    changes = managed_fields.within_reach(found, resource, application.subresource)
    conflicts = {o: s.fields & (changes.changed | changes.added) for o, s in others.items()}
    if not application.is_forced:
        _refuse_conflicts(application, live, {o: frozenset(paths) for o, paths in conflicts.items() if paths})
    owners = managed_fields.handed_over(others, changes)
    if own.fields:
        is_same = last is not None and last.fields == own.fields and outcome == live
        owners[owner] = last if last is not None and is_same else own
    return outcome, owners


def _pruned(value: Object, last: FieldSet, owned: FieldSet, schema: Schema) -> Object:
    """Remove what the manager said last time and nobody, itself included, says now."""

    def fields_of(part: Any) -> FieldSet:
        return field_sets.with_structs(owning.fields_of(part or {}, schema), schema)

    before, last, owned = (
        fields_of(value),
        field_sets.with_structs(last, schema),
        field_sets.with_structs(owned, schema),
    )
    remaining = fields_of(owning.removed(value, last, schema))
    # What lay in something removed comes back if it is owned, or was never this manager's.
    kept = fields_of(owning.removed(value, before - (remaining | owned), schema))
    pruned: Object | None = owning.removed(value, (before - kept) & last, schema)
    return pruned or {}


def _refuse_conflicts(application: Application, live: Object, conflicts: dict[Owner, FieldSet]) -> None:
    if application.manager == _KUBECTL and conflicts:
        # What kubectl itself applied on the client side, and nobody changed since, is its to take over.
        allowed = _from_last_applied(application, live)
        conflicts = {owner: paths - allowed for owner, paths in conflicts.items() if paths - allowed}
    if conflicts:
        raise _conflict(conflicts)


def _from_last_applied(application: Application, live: Object) -> FieldSet:
    try:
        last = json.loads(_annotations(live).get(_LAST_APPLIED, ""))
        if not isinstance(last, dict) or last.get("apiVersion") != application.resource.api_version:
            return EMPTY
        fields = owning.fields_of(last, application.schema)
        changes = owning.difference(last, live, application.schema)
    except (ValueError, TypeError, RecursionError):
        return EMPTY
    return fields - changes.added - changes.changed - changes.removed


def _annotations(obj: Object) -> Object:
    return reading.mapping(obj, "metadata", "annotations")


def _keep_last_applied(application: Application, outcome: Object) -> None:
    """Keep what client-side apply goes by in step, so that kubectl may go back to it."""
    annotations = _annotations(outcome)
    if application.manager != _KUBECTL or not annotations.get(_LAST_APPLIED):
        return
    wanted = json.loads(json.dumps(application.wanted))
    _annotations(wanted).pop(_LAST_APPLIED, None)
    annotations[_LAST_APPLIED] = json.dumps(wanted, separators=(",", ":"), sort_keys=True) + "\n"


def _conflict(conflicts: dict[Owner, FieldSet]) -> StatusError:
    found = {
        _spell(owner): [field_sets.spell(p) for p in field_sets.in_order(conflicts[owner])]
        for owner in sorted(conflicts)
    }
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": path}
        for who, paths in found.items()
        for path in paths
    ]
    if len(causes) == 1:
        told = f"1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        lines = [
            line for who, paths in found.items() for line in (f"conflicts with {who}:", *(f"- {p}" for p in paths))
        ]
        told = f"{len(causes)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", f"Apply failed with {told}", {"causes": causes})


def _spell(owner: Owner) -> str:
    named = json.dumps(owner.manager, ensure_ascii=False)
    if owner.subresource:
        named += f" with subresource {json.dumps(owner.subresource)}"
    return named if owner.operation == APPLY else f"{named} using {owner.api_version}"

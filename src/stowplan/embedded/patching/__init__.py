"""Patches: JSON patch, merge patch, strategic merge patch and server-side apply, on decoded objects.

Who owns which field (`metadata.managedFields`) is recorded from the creation of an object on if its creator names
itself, as kubectl does, and otherwise from the first server-side apply on. An object that nobody asks that for costs
nothing: a hundred thousand pods carry no list of their fields, and neither a controller nor a kubelet pays for keeping
one. The first apply of such an object gives the fields that are there to `before-first-apply`, as the API server does
for objects that it did not track, so a wish that differs from them is a conflict; those that kubectl applied on the
client side are kubectl's. From then on every change is recorded: `apply` does it for a server-side apply, whoever
changes an object in another way calls `note_update`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from stowplan.embedded.custom.resource import schema_of
from stowplan.embedded.objects.errors import StatusError, bad_request
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching import json_patch, managed_fields, owning, strategic
from stowplan.embedded.patching.patch import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Author,
    Patch,
    as_object,
    copied,
    describe,
    read_json,
    read_yaml,
    tidied,
    without_nulls,
)
from stowplan.embedded.patching.server_side_apply import Application, applied
from stowplan.embedded.types import release
from stowplan.embedded.types.schema import Schema
from stowplan.model import json_values

MAX_MANAGER_BYTES = 128


def apply(resource: Resource, current: Object | None, patch: Patch) -> Object:
    """Return an object as a patch wants it; the one given stays as it is.

    Only an apply may come without an object, which it then creates. Raises StatusError: 400 for a patch that cannot be
    read, 404 without an object, 409 for a conflict between field managers, 413 and 422 for a patch that cannot be done,
    415 for an unknown kind of patch.
    """
    check_options(resource, patch)
    try:
        return _applied(resource, current, patch)
    except RecursionError:
        raise bad_request("error decoding patch: the patch or the object is nested too deeply") from None


def check_options(resource: Resource, patch: Patch) -> None:
    """Raise StatusError: 415 for an unknown kind of patch, 422 for options that do not go with its kind."""
    accepted = [JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH]
    if resource.is_custom:
        accepted.remove(STRATEGIC_MERGE_PATCH)
    if patch.media_type not in accepted:
        told = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
        raise StatusError(415, "UnsupportedMediaType", told)
    if patch.media_type == APPLY_PATCH and not patch.field_manager:
        raise _bad_option("fieldManager", "FieldValueRequired", "Required value: is required for apply patch")
    if patch.media_type != APPLY_PATCH and patch.force is not None:
        raise _bad_option("force", "FieldValueForbidden", "Forbidden: may not be specified for non-apply patch")


def is_tracked(before: Object, after: Object) -> bool:
    """Whether it is known, or told by a change, who owns the fields of an object."""
    return bool(managed_fields.of(before) or managed_fields.of(after))


def note_creation(resource: Resource, obj: Object, author: Author) -> None:
    """Record, in a new object, that whoever made it owns all of it."""
    obj["metadata"].pop("managedFields", None)
    try:
        fields = managed_fields.everything(obj, _schema_of(resource), resource)
    except RecursionError:
        # Validation has more to say about it.
        return
    if fields:
        by = managed_fields.updater(author.manager, resource.api_version, author.subresource)
        share = managed_fields.Share(fields, resource.api_version, managed_fields.stamp(author.time))
        obj["metadata"]["managedFields"] = managed_fields.encode({by: share})


def note_update(resource: Resource, before: Object, after: Object, author: Author) -> None:
    """Record, in the new object, who owns what after an update; nothing if that `is_tracked` by neither object."""
    written, known = managed_fields.of(after), managed_fields.of(before)
    metadata = after.get("metadata")
    if not isinstance(metadata, dict):
        return
    entries = known if author.subresource or not managed_fields.decode(written) else written
    metadata.pop("managedFields", None)
    # A client asks to forget all owners with an empty list, or with one empty entry.
    is_reset = written in ([], [{}]) and not author.subresource
    owners = {} if is_reset else managed_fields.decode(entries)
    if not owners:
        return
    found = owning.difference(*(before, after), _schema_of(resource))
    changes = managed_fields.within_reach(found, resource, author.subresource)
    by = managed_fields.updater(author.manager, resource.api_version, author.subresource)
    taken = managed_fields.owned(frozenset(changes.added | changes.changed), resource, author.subresource)
    owners = managed_fields.updated(owners, changes, by, taken, managed_fields.stamp(author.time))
    if owners:
        metadata["managedFields"] = managed_fields.encode(owners)


@lru_cache(maxsize=256)
def manager_name(field_manager: str, user_agent: str) -> str:
    """The manager that a request counts for: the one that it names, or the program that sent it."""
    if field_manager:
        return field_manager
    printable = "".join(letter for letter in user_agent.partition("/")[0] if letter.isprintable())
    return printable.encode(errors="ignore")[:MAX_MANAGER_BYTES].decode(errors="ignore")


def _bad_option(field: str, reason: str, problem: str) -> StatusError:
    details = {
        "group": "meta.k8s.io",
        "kind": "PatchOptions",
        "causes": [{"reason": reason, "message": problem, "field": field}],
    }
    return StatusError(422, "Invalid", f'PatchOptions.meta.k8s.io "" is invalid: {field}: {problem}', details)


def _applied(resource: Resource, current: Object | None, patch: Patch) -> Object:
    schema = _schema_of(resource)
    if patch.media_type == APPLY_PATCH:
        return _apply(resource, current, patch, schema)
    if current is None:
        raise StatusError(404, "NotFound", f"{resource.qualified} not found: there is no object to patch")
    outcome = _patched(current, patch, schema)
    if not isinstance(outcome, dict):
        raise StatusError(422, "Invalid", f"the patch would turn the {resource.kind} into {describe(outcome)}")
    return tidied(outcome if resource.is_custom else without_nulls(outcome))


def _patched(current: Object, patch: Patch, schema: Schema) -> Any:
    wanted = read_json(patch.body)
    match patch.media_type:
        case "application/json-patch+json":
            return json_patch.patched(copied(current), wanted)
        case "application/merge-patch+json":
            return json_values.merge_patch(copied(current), as_object(wanted))
        case _:
            if wanted is None:
                return copied(current)
            merged = strategic.merged(copied(current), as_object(wanted), schema)
            # What an object is cannot be patched.
            kept = {name: current[name] for name in ("apiVersion", "kind") if name in current}
            return {**merged, **kept}


def _apply(resource: Resource, current: Object | None, patch: Patch, schema: Schema) -> Object:
    wanted = read_yaml(patch.body)
    application = Application(
        resource=resource,
        schema=schema,
        wanted={} if wanted is None else as_object(wanted, "error decoding YAML"),
        manager=patch.field_manager,
        is_forced=bool(patch.force),
        subresource=patch.subresource,
        time=managed_fields.stamp(patch.time),
    )
    return tidied(copied(applied(application, current)))


def _schema_of(resource: Resource) -> Schema:
    return release.of_kind(resource) or release.of_custom(schema_of(resource))

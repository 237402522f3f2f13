"""Puts the resources of definitions into the catalogue and takes them out again; says so in the status."""

from __future__ import annotations

from datetime import datetime

from stowplan.embedded.custom.definition import names_of, resources_of, versions
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.model.timestamps import format_time


def register(catalogue: Catalogue, definition: Object) -> None:
    """Serve what a sound definition asks for, and nothing that an earlier form of it asked for."""
    wanted = resources_of(definition)
    kept = {(resource.group, resource.version, resource.plural) for resource in wanted}
    for resource in served(catalogue, definition):
        if (resource.group, resource.version, resource.plural) not in kept:
            catalogue.remove(resource)
    for resource in wanted:
        catalogue.add(resource)


def unregister(catalogue: Catalogue, definition: Object) -> None:
    """Serve nothing of a definition any more."""
    for resource in served(catalogue, definition):
        catalogue.remove(resource)


def served(catalogue: Catalogue, definition: Object) -> list[Resource]:
    """The resources that a definition has in the catalogue now; none if its names were not accepted."""
    group, plural = reading.text(definition, "spec", "group"), reading.text(names_of(definition), "plural")
    return [each for each in catalogue.custom() if (each.group, each.plural) == (group, plural)]


def status(definition: Object, catalogue: Catalogue, now: datetime) -> Object:
    """What the status of a definition should be: its names are accepted unless others of the group have them."""
    before = reading.mapping(definition, "status")
    conflicts = name_conflicts(definition, catalogue)
    conditions = _conditions(definition, conflicts, format_time(now))
    accepted = reading.mapping(before, "acceptedNames") if conflicts else dict(names_of(definition))
    stored = [reading.text(each, "name") for each in versions(definition) if reading.is_true(each, "storage")]
    earlier = [name for name in reading.texts(before, "storedVersions") if name not in stored]
    names = {"plural": "", "kind": "", **accepted}
    return {"conditions": conditions, "acceptedNames": names, "storedVersions": [*earlier, *stored]}


def name_conflicts(definition: Object, catalogue: Catalogue) -> str:
    """Name the names that other resources of the group have already, or nothing."""
    names = names_of(definition)
    own = [resource for resource in catalogue.all() if resource.group == reading.text(definition, "spec", "group")]
    # Built-in resources are never given way to.
    others = [each for each in own if not each.is_custom or each.plural != reading.text(names, "plural")]
    taken = {name for other in others for name in (other.plural, other.singular, *other.short_names)}
    kinds = {kind for other in others for kind in (other.kind, other.list_kind)}
    wished = [reading.text(names, "plural"), reading.text(names, "singular"), *reading.texts(names, "shortNames")]
    found = [name for name in wished if name in taken]
    found += [kind for kind in (reading.text(names, "kind"), reading.text(names, "listKind")) if kind in kinds]
    return ", ".join(f'"{name}" is already in use' for name in found)


def _conditions(definition: Object, conflicts: str, now: str) -> list[Object]:
    accepted = _condition("NamesAccepted", "True", "NoConflicts", "no conflicts found")
    established = _condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
    if conflicts:
        accepted = _condition("NamesAccepted", "False", "NameConflict", conflicts)
        established = _condition("Established", "False", "NotAccepted", "not all names are accepted")
    wanted = [accepted, established]
    if reading.is_deleted(definition):
        message = "CustomResource deletion is in progress"
        wanted.append(_condition("Terminating", "True", "InstanceDeletionInProgress", message))
    return [_with_time(definition, each, now) for each in wanted]


def _condition(kind: str, status: str, reason: str, message: str) -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _with_time(definition: Object, condition: Object, now: str) -> Object:
    """Say since when a condition is as it is."""
    before = reading.condition(definition, condition["type"])
    is_as_before = before is not None and before.get("status") == condition["status"]
    since = reading.text(before, "lastTransitionTime") if is_as_before else ""
    return {**condition, "lastTransitionTime": since or now}

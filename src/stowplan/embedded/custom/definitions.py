"""CustomResourceDefinitions: which resources one adds, and whether its names are accepted; keeps the catalogue in step.

`definition_validation` checks them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from stowplan.embedded.custom.resource import CustomResource, PrinterColumn, ScalePaths
from stowplan.embedded.custom.structure import costly_bytes, has_rules
from stowplan.embedded.objects import json_path, reading
from stowplan.embedded.objects.json_path import JsonPath
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.catalogue import Catalogue, built_in
from stowplan.embedded.storage.store import Store
from stowplan.model.timestamps import format_time

DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
_AGE: Final = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_RESOURCE: Final = built_in("apiextensions.k8s.io", "customresourcedefinitions")


def register_all(catalogue: Catalogue, store: Store) -> None:
    """Serve what the definitions that are there already ask for."""
    for stored in store.list(_RESOURCE):
        register(catalogue, stored.object)


def register(catalogue: Catalogue, definition: Object) -> None:
    """Serve what a sound definition asks for if its names are accepted, and nothing that an earlier form asked for."""
    if name_conflicts(definition, catalogue):
        return
    wanted = resources_of(definition)
    kept = {(resource.group, resource.version, resource.plural) for resource in wanted}
    for resource in served(catalogue, definition):
        if (resource.group, resource.version, resource.plural) not in kept:
            catalogue.remove(resource)
    for resource in wanted:
        catalogue.add(resource)


def unregister(catalogue: Catalogue, definition: Object, store: Store) -> None:
    """Serve a definition no longer; its objects go with it."""
    for resource in served(catalogue, definition):
        for stored in store.list(resource):
            store.remove(resource, *stored.key)
        store.retire(resource)
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


def resources_of(definition: Object) -> list[CustomResource]:
    """The resources that a sound definition adds: one for each version that it serves."""
    served = [each for each in versions(definition) if reading.is_true(each, "served")]
    return [_resource(definition, version) for version in served]


def versions(definition: Object) -> list[Object]:
    return reading.entries(definition, "spec", "versions")


def names_of(definition: Object) -> Object:
    return reading.mapping(definition, "spec", "names")


def _resource(definition: Object, version: Object) -> CustomResource:
    spec, names = reading.mapping(definition, "spec"), names_of(definition)
    subresources = reading.mapping(version, "subresources")
    return CustomResource(
        group=reading.text(spec, "group"),
        version=reading.text(version, "name"),
        kind=reading.text(names, "kind"),
        plural=reading.text(names, "plural"),
        singular=reading.text(names, "singular"),
        is_namespaced=reading.text(spec, "scope") == "Namespaced",
        short_names=tuple(reading.texts(names, "shortNames")),
        categories=tuple(reading.texts(names, "categories")),
        subresources=tuple(name for name in ("scale", "status") if isinstance(subresources.get(name), dict)),
        fields=tuple(reading.text(each, "jsonPath")[1:] for each in reading.entries(version, "selectableFields")),
        is_custom=True,
        schema=reading.mapping(version, "schema", "openAPIV3Schema"),
        has_rules=has_rules(reading.at(version, "schema", "openAPIV3Schema")),
        costly_bytes=costly_bytes(reading.at(version, "schema", "openAPIV3Schema")),
        printer_columns=tuple(_printer_columns(version)),
        scale=_scale(reading.mapping(subresources, "scale")),
        deprecation=_deprecation(spec, names, version),
    )


def _printer_columns(version: Object) -> Iterator[PrinterColumn]:
    for column in reading.entries(version, "additionalPrinterColumns") or [_AGE]:
        path = reading.text(column, "jsonPath")
        yield PrinterColumn(
            name=reading.text(column, "name"),
            type=reading.text(column, "type"),
            path=JsonPath(path),
            format=reading.text(column, "format"),
            priority=reading.count(column, "priority"),
            description=reading.text(column, "description")
            or f"Custom resource definition column (in JSONPath format): {path}",
        )


def _scale(scale: Object) -> ScalePaths | None:
    if not scale:
        return None
    return ScalePaths(
        json_path.keys(reading.text(scale, "specReplicasPath")),
        json_path.keys(reading.text(scale, "statusReplicasPath")),
        json_path.keys(reading.text(scale, "labelSelectorPath")),
    )


def _deprecation(spec: Object, names: Object, version: Object) -> str:
    if not reading.is_true(version, "deprecated"):
        return ""
    default = (
        f"{reading.text(spec, 'group')}/{reading.text(version, 'name')} {reading.text(names, 'kind')} is deprecated"
    )
    return reading.text(version, "deprecationWarning") or default


def _conditions(definition: Object, conflicts: str, now: str) -> list[Object]:
    wanted = [
        ("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
        ("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
    ]
    if conflicts:
        wanted = [
            ("NamesAccepted", "False", "NameConflict", conflicts),
            ("Established", "False", "NotAccepted", "not all names are accepted"),
        ]
    if reading.is_deleted(definition):
        message = "CustomResource deletion is in progress"
        wanted.append(("Terminating", "True", "InstanceDeletionInProgress", message))
    return [_condition(definition, each, now) for each in wanted]


def _condition(definition: Object, wanted: tuple[str, str, str, str], now: str) -> Object:
    """Say since when a condition is as it is."""
    kind, status, reason, message = wanted
    before = reading.condition(definition, kind)
    is_as_before = before is not None and before.get("status") == status
    since = reading.text(before, "lastTransitionTime") if is_as_before else ""
    told = {"type": kind, "status": status, "reason": reason, "message": message}
    return {**told, "lastTransitionTime": since or now}

"""Reads CustomResourceDefinitions: the resources that one adds, and the names that it takes. `faults` checks them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stowplan.embedded.custom.resource import CustomResource, PrinterColumn, ScalePaths
from stowplan.embedded.custom.rule_check import has_rules
from stowplan.embedded.custom.structure import costly_bytes
from stowplan.embedded.objects import json_path, reading
from stowplan.embedded.objects.json_path import JsonPath
from stowplan.embedded.objects.resource import Object

_AGE: Final = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


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

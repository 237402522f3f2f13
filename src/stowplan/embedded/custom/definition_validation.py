"""What is wrong with a definition itself, in upstream's words; a definition without faults can be served."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stowplan.embedded.custom import formats, schema_validation
from stowplan.embedded.custom.causes import invalid_value, required, unsupported
from stowplan.embedded.custom.definitions import names_of, versions
from stowplan.embedded.custom.structure import RULES, levels
from stowplan.embedded.objects import json_path, reading
from stowplan.embedded.objects.errors import Cause
from stowplan.embedded.objects.json_path import JsonPath
from stowplan.embedded.objects.resource import Object

#: Each takes two milliseconds to compile; definitions in use have a few dozen.
_MOST_RULES: Final = 1000
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_STRATEGIES: Final = ("None", "Webhook")
_SCOPES: Final = ("Cluster", "Namespaced")
_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def faults(definition: Object) -> list[Cause]:
    """List everything that keeps a definition from being served."""
    return [*_naming(definition), *_versions(definition)]


def warnings(definition: Object) -> list[str]:
    """Say what of a definition is stored, but is not acted on."""
    found: list[str] = []
    for path, schema in schemas(definition):
        formats_met = map(formats.unrecognized, levels(schema))
        found += [f'unrecognized format "{name}"' for name in formats_met if name]
        found += schema_validation.not_evaluated(schema, path)
    if reading.text(definition, "spec", "conversion", "strategy") == "Webhook":
        found.append("spec.conversion: no webhook is called here; objects are served by every version as they are")
    return list(dict.fromkeys(found))


def schemas(definition: Object) -> list[tuple[str, Object]]:
    """The schemas of a definition and where they are; upstream speaks of one that all versions share as its own."""
    listed = [reading.at(version, "schema", "openAPIV3Schema") for version in versions(definition)]
    found = [
        (f"spec.versions[{index}].schema.openAPIV3Schema", schema)
        for index, schema in enumerate(listed)
        if isinstance(schema, dict)
    ]
    if found and all(schema == listed[0] for schema in listed):
        return [("spec.validation.openAPIV3Schema", found[0][1])]
    return found


def _naming(definition: Object) -> Iterator[Cause]:
    spec, names = reading.mapping(definition, "spec"), names_of(definition)
    name = reading.text(definition, "metadata", "name")
    if name != f"{reading.text(names, 'plural')}.{reading.text(spec, 'group')}":
        yield invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    if not reading.text(spec, "group"):
        yield required("spec.group")
    scope = reading.text(spec, "scope")
    if not scope:
        yield required("spec.scope")
    elif scope not in _SCOPES:
        yield unsupported("spec.scope", scope, _SCOPES)
    for key in ("plural", "singular", "kind", "listKind"):
        if not reading.text(names, key):
            yield required(f"spec.names.{key}")
    strategy = reading.text(spec, "conversion", "strategy")
    if strategy not in ("", *_STRATEGIES):
        yield unsupported("spec.conversion.strategy", strategy, _STRATEGIES)


def _versions(definition: Object) -> Iterator[Cause]:
    listed = versions(definition)
    stored = [each for each in listed if reading.is_true(each, "storage")]
    if len(stored) != 1:
        named = [reading.text(each, "name") for each in stored]
        yield invalid_value("spec.versions", named, "must have exactly one version marked as storage version")
    seen: set[str] = set()
    rules = sum(len(reading.entries(level, RULES)) for _, schema in schemas(definition) for level in levels(schema))
    if rules > _MOST_RULES:
        what = f"must not have more than {_MOST_RULES} validation rules in all its schemas"
        yield invalid_value("spec.versions", rules, what)
        return
    for path, schema in schemas(definition):
        yield from schema_validation.faults(schema, path)
    for index, version in enumerate(listed):
        field = f"spec.versions[{index}]"
        name = reading.text(version, "name")
        if not _LABEL.fullmatch(name):
            yield invalid_value(f"{field}.name", name, "must be a DNS label that starts with a letter, such as v1")
        if name in seen:
            yield invalid_value(f"{field}.name", name, "must be unique among the versions")
        seen.add(name)
        yield from _version(version, field)


def _version(version: Object, field: str) -> Iterator[Cause]:
    schema = reading.at(version, "schema", "openAPIV3Schema")
    if not isinstance(schema, dict):
        yield required(f"{field}.schema.openAPIV3Schema")
        return
    yield from _columns(version, field)
    yield from _scale_paths(version, field)
    for index, selected in enumerate(reading.entries(version, "selectableFields")):
        if _type_at(schema, reading.text(selected, "jsonPath")) not in ("string", "boolean", "integer"):
            yield invalid_value(
                f"{field}.selectableFields[{index}].jsonPath",
                reading.text(selected, "jsonPath"),
                "must point to a field of type string, boolean or integer. "
                "Enum string fields and strings with formats are allowed.",
            )


def _columns(version: Object, field: str) -> Iterator[Cause]:
    for index, column in enumerate(reading.entries(version, "additionalPrinterColumns")):
        where = f"{field}.additionalPrinterColumns[{index}]"
        if not reading.text(column, "name"):
            yield required(f"{where}.name")
        if reading.text(column, "type") not in _COLUMN_TYPES:
            wanted = f"must be one of {','.join(_COLUMN_TYPES)}"
            yield invalid_value(f"{where}.type", reading.text(column, "type"), wanted)
        try:
            JsonPath(reading.text(column, "jsonPath"))
        except ValueError:
            path = reading.text(column, "jsonPath")
            yield invalid_value(f"{where}.JSONPath", path, "must be a simple json path starting with .")


def _scale_paths(version: Object, field: str) -> Iterator[Cause]:
    scale = reading.mapping(version, "subresources", "scale")
    wanted = {"specReplicasPath": ".spec", "statusReplicasPath": ".status"}
    for name, start in wanted.items() if scale else ():
        path = reading.text(scale, name)
        if not path.startswith(f"{start}."):
            yield invalid_value(f"{field}.subresources.scale.{name}", path, f"should be a json path under {start}")
    for name in (*wanted, "labelSelectorPath"):
        if _keys(reading.text(scale, name)) is None:
            problem = "must be a simple json path of keys"
            yield invalid_value(f"{field}.subresources.scale.{name}", reading.text(scale, name), problem)


def _type_at(schema: Object, path: str) -> str:
    for key in _keys(path) or ():
        schema = reading.mapping(schema, "properties", key)
    return reading.text(schema, "type")


def _keys(path: str) -> tuple[str, ...] | None:
    try:
        return json_path.keys(path)
    except ValueError:
        return None

"""Schemas of the kinds that are served: upstream's of the built-in ones, those of their definitions of custom ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from stowplan.embedded.custom.resource import CustomResource
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.types import release, structural

KIND: Final = "x-kubernetes-group-version-kind"


def described(resources: Iterable[Resource]) -> dict[str, Object]:
    """Describe the kinds of resources, and every type that they consist of, by name."""
    found: dict[str, Object] = {}
    waiting = []
    for resource in resources:
        waiting.append(release.OBJECT_META if resource.is_custom else name_of(resource))
        if isinstance(resource, CustomResource):
            found[name_of(resource)] = _custom(resource)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = release.openapi_schema(name)
            waiting += _references(found[name])
    return found


def name_of(resource: Resource) -> str:
    """The name under which documents describe the kind of a resource."""
    schema = release.of_kind(resource)
    if schema is not None:
        return schema.name
    return f"{'.'.join(reversed(resource.group.split('.')))}.{resource.version}.{resource.kind}"


def _references(schema: Object) -> Iterator[str]:
    if name := structural.referenced(schema):
        yield name
    for part in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(part, dict):
            yield from _references(part)


def _custom(resource: CustomResource) -> Object:
    """What a definition says of a custom resource, and the fields that every object has."""
    text = {"type": "string"}
    metadata = {"allOf": [{"$ref": f"{structural.REFERENCE}{release.OBJECT_META}"}]}
    schema = {"type": "object", **resource.schema}
    declared = schema.get("properties")
    fields = declared if isinstance(declared, dict) else {}
    return {
        **schema,
        "properties": {**fields, "apiVersion": text, "kind": text, "metadata": metadata},
        KIND: [{"group": resource.group, "version": resource.version, "kind": resource.kind}],
    }

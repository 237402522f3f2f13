"""OpenAPI version 3: an index, and one document for each version of each group.

`described` has the schemas: upstream's of the built-in kinds, those of their definitions of custom ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

import msgspec

from stowplan.embedded.custom.resource import CustomResource, schema_of
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.requests.discovery import version_of
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.types import release, structural

_PATCHES: Final = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
#: Not for custom resources.
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_ON_WRITE: Final = ("dryRun", "fieldManager", "fieldValidation")
_ACTIONS: Final = {
    "get": ("get", "get", ()),
    "put": ("put", "update", _ON_WRITE),
    "patch": ("patch", "patch", (*_ON_WRITE, "force")),
    "delete": ("delete", "delete", ("dryRun", "gracePeriodSeconds", "propagationPolicy")),
}
_COLLECTION_ACTIONS: Final = {
    "get": ("list", "list", ("continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "watch")),
    "post": ("post", "create", _ON_WRITE),
    "delete": ("deletecollection", "deletecollection", ("dryRun", "fieldSelector", "labelSelector")),
}
KIND: Final = "x-kubernetes-group-version-kind"
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


def index(catalogue: Catalogue) -> Object:
    """Answer GET /openapi/v3: where the documents are, each with a hash that changes when it does."""
    paths = {}
    for group, version in dict.fromkeys((each.group, each.version) for each in catalogue.all()):
        root = _root(group, version)
        url = f"/openapi/v3/{root}?hash={_hash(_resources(catalogue, group, version), version_of(catalogue))}"
        paths[root] = {"serverRelativeURL": url}
    return {"paths": paths}


def document(catalogue: Catalogue, group: str, version: str) -> bytes | None:
    """Answer GET /openapi/v3/api/v1 and /openapi/v3/apis/GROUP/VERSION as JSON, or nothing if there is none."""
    resources = _resources(catalogue, group, version)
    if not resources:
        return None
    if not any(resource.is_custom for resource in resources):
        return _built_in(resources, version_of(catalogue))
    return _write(resources, version_of(catalogue))


@cache
def _built_in(resources: tuple[Resource, ...], served: str) -> bytes:
    return _write(resources, served)


def _write(resources: tuple[Resource, ...], served: str) -> bytes:
    content = {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": served},
        "paths": {path: item for resource in resources for path, item in _paths(resource).items()},
        "components": {"schemas": described(resources)},
    }
    return _ENCODER.encode(content)


def _resources(catalogue: Catalogue, group: str, version: str) -> tuple[Resource, ...]:
    return tuple(each for each in catalogue.all() if (each.group, each.version) == (group, version))


def _hash(resources: tuple[Resource, ...], served: str) -> str:
    told: list[Any] = [served]
    for resource in resources:
        told.append([resource.plural, name_of(resource), resource.is_namespaced, schema_of(resource)])
    return hashlib.sha256(_ENCODER.encode(told)).hexdigest().upper()


def _root(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _paths(resource: Resource) -> dict[str, Object]:
    place = "/namespaces/{namespace}" if resource.is_namespaced else ""
    collection = f"/{_root(resource.group, resource.version)}{place}/{resource.plural}"
    found = {collection: _operations(resource, _COLLECTION_ACTIONS, collection)}
    if "get" in resource.verbs:
        found[f"{collection}/{{name}}"] = _operations(resource, _ACTIONS, f"{collection}/{{name}}")
    return found


def _operations(resource: Resource, actions: dict[str, tuple[str, str, tuple[str, ...]]], path: str) -> Object:
    item: Object = {"parameters": [_parameter(name, "path") for name in ("namespace", "name") if f"{{{name}}}" in path]}
    for method, (action, verb, queries) in actions.items():
        if verb in resource.verbs:
            item[method] = _operation(resource, action, queries)
    return item


def _operation(resource: Resource, action: str, queries: tuple[str, ...]) -> Object:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    content = {"application/json": {"schema": {"$ref": f"{structural.REFERENCE}{name_of(resource)}"}}}
    operation: Object = {
        "parameters": [_parameter(name, "query") for name in queries],
        "responses": {"200": {"description": "OK", "content": content}},
        "x-kubernetes-action": action,
        KIND: kind,
    }
    if action in ("post", "put"):
        operation["requestBody"] = {"content": content, "required": True}
    if action == "patch":
        taken = _PATCHES if resource.is_custom else (*_PATCHES, _STRATEGIC)
        operation["requestBody"] = {"content": {each: {"schema": {"type": "object"}} for each in taken}}
    return operation


def _parameter(name: str, place: str) -> Object:
    return {"name": name, "in": place, "required": place == "path", "schema": {"type": "string"}}


def described(resources: Iterable[Resource]) -> dict[str, Object]:
    """Describe the kinds of resources, and every type that they consist of, by name."""
    found: dict[str, Object] = {}
    waiting = []
    for resource in resources:
        waiting.append((release.OBJECT_META if resource.is_custom else name_of(resource), resource.release))
        if isinstance(resource, CustomResource):
            found[name_of(resource)] = _custom(resource)
    while waiting:
        name, of = waiting.pop()
        if name not in found:
            found[name] = release.openapi_schema(name, of)
            waiting += [(each, of) for each in _references(found[name])]
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
    fields = reading.mapping(schema, "properties")
    return {
        **schema,
        "properties": {**fields, "apiVersion": text, "kind": text, "metadata": metadata},
        KIND: [{"group": resource.group, "version": resource.version, "kind": resource.kind}],
    }

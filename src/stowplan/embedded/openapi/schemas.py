"""Schemas of the built-in kinds, from the models of the official client library: fields, types, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from stowplan.embedded.custom.resource import CustomResource
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.openapi import models
from stowplan.embedded.openapi.models import Model

_MODEL_NAME: Final = re.compile(r"([A-Z][a-z]+)??V(\d+(?:(?:alpha|beta)\d+)?)([A-Z].*)")
_LIST: Final = re.compile(r"list\[(.+)\]")
_MAP: Final = re.compile(r"dict[\[(]str, (.+)[\])]")
_ANYTHING: Final = {"x-kubernetes-preserve-unknown-fields": True}
_PLAIN: Final[dict[str, Object]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "float": {"type": "number"},
    "datetime": {"type": "string", "format": "date-time"},
}
_META: Final = "V1ObjectMeta"


def described(resources: Iterable[Resource]) -> dict[str, Object]:
    """Describe the kinds of resources, and every type that they consist of, by the names that `reference` takes."""
    found: dict[str, Object] = {}
    waiting = []
    for resource in resources:
        name = _META if resource.is_custom else _model_of(resource)
        waiting.append(name)
        if not resource.is_custom:
            found[_component(name)] = _with_kind(_schema(models.find(name)), resource)
    while waiting:
        name = waiting.pop()
        model = models.find(name)
        found.setdefault(_component(name), _schema(model))
        waiting += [each for each in _mentioned(model) if _component(each) not in found]
    return found


def custom(resource: CustomResource) -> Object:
    """Describe a custom resource: what its definition says, and the fields that every object has."""
    properties = {"apiVersion": _PLAIN["str"], "kind": _PLAIN["str"], "metadata": _to(_META)}
    schema = {"type": "object", **resource.schema}
    return _with_kind({**schema, "properties": {**schema.get("properties", {}), **properties}}, resource)


def name_of(resource: Resource) -> str:
    """The name under which a document describes the kind of a resource."""
    if resource.is_custom:
        return f"{'.'.join(reversed(resource.group.split('.')))}.{resource.version}.{resource.kind}"
    return _component(_model_of(resource))


def reference(name: str) -> str:
    return f"#/components/schemas/{name}"


def _model_of(resource: Resource) -> str:
    """Models whose names two groups have in common are named after their group as well."""
    plain = f"V{resource.version[1:]}{resource.kind}"
    group = (resource.group.partition(".")[0] or "core").capitalize()
    return f"{group}{plain}" if models.exists(f"{group}{plain}") else plain


def _component(model: str) -> str:
    """Turn `V1PodSpec` into `v1.PodSpec`: clients show what follows the last dot."""
    match = _MODEL_NAME.fullmatch(model)
    if match is None:
        return model
    group, version, kind = match.groups()
    return f"{group.lower()}.v{version}.{kind}" if group else f"v{version}.{kind}"


def _schema(model: Model | None) -> Object:
    if model is None:
        return {"type": "object", **_ANYTHING}
    properties = {name: _property(model, name, kind) for name, kind in model.types.items()}
    schema: Object = {"type": "object", "properties": properties}
    required = [name for name in model.types if name in model.required]
    return {**schema, "required": required} if required else schema


def _property(model: Model, name: str, kind: str) -> Object:
    text = model.texts.get(name)
    return {"description": text, **_typed(kind)} if text else dict(_typed(kind))


def _typed(kind: str) -> Object:
    if kind in _PLAIN:
        return _PLAIN[kind]
    if match := _LIST.fullmatch(kind):
        return {"type": "array", "items": _typed(match[1])}
    if match := _MAP.fullmatch(kind):
        return {"type": "object", "additionalProperties": _typed(match[1])}
    return dict(_ANYTHING) if kind == "object" else _to(kind)


def _to(model: str) -> Object:
    return {"allOf": [{"$ref": reference(_component(model))}]}


def _mentioned(model: Model | None) -> Iterator[str]:
    """The other models that a model's fields are of."""
    for kind in model.types.values() if model is not None else ():
        inner = kind
        while match := _LIST.fullmatch(inner) or _MAP.fullmatch(inner):
            inner = match[1]
        if inner not in _PLAIN and inner != "object":
            yield inner


def _with_kind(schema: Object, resource: Resource) -> Object:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    return {**schema, "x-kubernetes-group-version-kind": [kind]}

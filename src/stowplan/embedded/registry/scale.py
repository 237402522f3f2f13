"""Scale: the number of replicas of anything that has replicas, in one form for all of them."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from stowplan.embedded import patching
from stowplan.embedded.admission import shapes
from stowplan.embedded.custom.resource import CustomResource, ScalePaths
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import Cause, bad_request, invalid
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching.patch import Patch
from stowplan.embedded.registry import metadata
from stowplan.embedded.registry.api import Api
from stowplan.embedded.requests.request import Options, Target
from stowplan.model.meta import LabelSelector
from stowplan.model.selectors import SelectorError, compile_label_selector, from_labels

SCALES: Final = Resource("autoscaling", "v1", "Scale", "scales", "scale")
_USUAL: Final = ScalePaths(("spec", "replicas"), ("status", "replicas"))
_SHOWN_METADATA: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def read(api: Api, target: Target) -> Object:
    """How many replicas an object wants and has."""
    return _show(target.resource, api.found(target).object)


def replace(api: Api, target: Target, obj: Object, options: Options) -> Object:
    """Ask for another number of replicas."""
    return _put(api, target, api.found(target).object, obj, options)


def amend(api: Api, target: Target, patch: Patch, options: Options) -> Object:
    """Ask for another number of replicas by a patch of the scale."""
    found = api.found(target).object
    return _put(api, target, found, patching.apply(SCALES, _show(target.resource, found), patch), options)


def _put(api: Api, target: Target, found: Object, scale: Object, options: Options) -> Object:
    shapes.read(SCALES, scale)
    wanted = scale.get("metadata") or {}
    if (name := wanted.get("name", target.name)) != target.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({target.name})")
    current = found["metadata"]
    metadata.check_version(target, {"resourceVersion": current["resourceVersion"], **wanted}, current)
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas < 0:
        problem = f"Invalid value: {replicas}: must be greater than or equal to 0"
        raise invalid(SCALES, target.name, [Cause("FieldValueInvalid", "spec.replicas", problem)])
    obj = found
    *parents, last = _paths(target.resource).spec_replicas
    for key in parents:
        child = obj.get(key)
        if not isinstance(child, dict):
            child = obj[key] = {}
        obj = child
    obj[last] = replicas
    return _show(target.resource, api.replace(target, found, options))


def _show(resource: Resource, obj: Object) -> Object:
    paths = _paths(resource)
    selector = _selector_text(resource, obj)
    return {
        "kind": SCALES.kind,
        "apiVersion": SCALES.api_version,
        "metadata": {name: obj["metadata"][name] for name in _SHOWN_METADATA if name in obj["metadata"]},
        "spec": {"replicas": _number(reading.at(obj, *paths.spec_replicas))},
        "status": {
            "replicas": _number(reading.at(obj, *paths.status_replicas)),
            **({"selector": selector} if selector else {}),
        },
    }


def _paths(resource: Resource) -> ScalePaths:
    return resource.scale or _USUAL if isinstance(resource, CustomResource) else _USUAL


def _selector_text(resource: Resource, obj: Object) -> str:
    if isinstance(resource, CustomResource):
        text = reading.at(obj, *_paths(resource).label_selector) if _paths(resource).label_selector else ""
        return text if isinstance(text, str) else ""
    selector = obj.get("spec", {}).get("selector")
    if resource.qualified == "replicationcontrollers":
        return str(from_labels(selector or {}))
    try:
        return str(compile_label_selector(msgspec.convert(selector or {}, LabelSelector)))
    except SelectorError:
        return ""


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0

"""Objects about devices as plain data: classes, the devices of a node, claims, and what claims were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.e2e.api import Object

VERSION: Final = "resource.k8s.io/v1"
FINALIZER: Final = "resource.kubernetes.io/delete-protection"


def driver_of(name: str) -> str:
    """Return who drives the devices of a class."""
    return f"{name}.example.test"


def device_class(name: str, serves: str = "") -> Object:
    """Describe a class of all devices of one driver; `serves` is the extended resource that they stand for."""
    spec = {"selectors": [cel(f'device.driver == "{driver_of(name)}"')]}
    extended = {"extendedResourceName": serves} if serves else {}
    return {"apiVersion": VERSION, "kind": "DeviceClass", "metadata": {"name": name}, "spec": {**spec, **extended}}


def devices_on(node: str, device_class: str, *devices: str | Object, **spec: Any) -> Object:
    """Describe the devices of one class on a node, by name or in full."""
    full = [{"name": device} if isinstance(device, str) else device for device in devices]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    content = {"driver": driver_of(device_class), "pool": pool, "nodeName": node, "devices": full, **spec}
    metadata = {"name": f"{node}-{device_class}"}
    return {"apiVersion": VERSION, "kind": "ResourceSlice", "metadata": metadata, "spec": content}


def model(name: str, model: str) -> Object:
    """Describe a device that tells its model."""
    return {"name": name, "attributes": {"model": {"string": model}}}


def request(device_class: str, name: str = "main", **fields: Any) -> Object:
    return {"name": name, "exactly": {"deviceClassName": device_class, **fields}}


def device_claim(namespace: str, name: str, *requests: Object, **devices: Any) -> Object:
    spec = {"devices": {"requests": list(requests), **devices}}
    metadata = {"namespace": namespace, "name": name}
    return {"apiVersion": VERSION, "kind": "ResourceClaim", "metadata": metadata, "spec": spec}


def template(namespace: str, name: str, *requests: Object) -> Object:
    """Describe what claims look like that are made for a pod each."""
    metadata = {"namespace": namespace, "name": name}
    spec = {"spec": {"devices": {"requests": list(requests)}}}
    return {"apiVersion": VERSION, "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec}


def given(claim: Object, node: str, *devices: str, user: str = "") -> Object:
    """Describe a claim that was given devices of a node, for a pod if one is named."""
    [asked] = claim["spec"]["devices"]["requests"]
    place = {"driver": driver_of(asked["exactly"]["deviceClassName"]), "pool": node, "request": asked["name"]}
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    allocation = {
        "devices": {"results": [{**place, "device": device} for device in devices]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
        # Without, a scheduler would add it later, which the server does not take.
        "allocationTimestamp": "2026-01-01T00:00:00Z",
    }
    users = [{"resource": "pods", "name": user, "uid": f"uid-of-{user}"}] if user else []
    metadata = {**claim["metadata"], "finalizers": [FINALIZER]}
    return {**claim, "metadata": metadata, "status": {"allocation": allocation, "reservedFor": users}}


def cel(expression: str) -> Object:
    return {"cel": {"expression": expression}}


def of_model(device_class: str, model: str) -> Object:
    """Describe a selector for devices that tell their model."""
    return cel(f'device.attributes["{driver_of(device_class)}"].model == "{model}"')


def claims_of(*claims: str) -> Mapping[str, Any]:
    """Describe the part of a pod's spec that names claims, and the container that uses them."""
    users = [{"name": name} for name in claims]
    named = [{"name": name, "resourceClaimName": name} for name in claims]
    return {"resourceClaims": named, "containers": [using(users)]}


def claims_from(*templates: str) -> Mapping[str, Any]:
    """Describe the part of a pod's spec that has claims made for the pod."""
    users = [{"name": name} for name in templates]
    named = [{"name": name, "resourceClaimTemplateName": name} for name in templates]
    return {"resourceClaims": named, "containers": [using(users)]}


def using(claims: Sequence[Object], requests: Mapping[str, str] | None = None) -> Object:
    resources = {"claims": list(claims), "requests": dict(requests or {})}
    return {"name": "main", "image": "example.test/app:1", "resources": resources}

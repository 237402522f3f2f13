"""What an object takes of a resource quota: itself, and what it asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from stowplan.embedded.objects.resource import Object, Resource
from stowplan.model import decode, requests
from stowplan.model.meta import ResourceList
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity
from stowplan.model.requests import CPU, EPHEMERAL_STORAGE, HUGE_PAGES_PREFIX, MEMORY, is_extended

Usage = dict[str, Quantity]

_ONE: Final = Quantity.of(1)
_COMPUTE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
#: Counted under a name of their own beside `count/...`.
_OLD_NAMES: Final = frozenset(
    ("configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets", "services")
)
_FINISHED: Final = ("Succeeded", "Failed")


def of(resource: Resource, obj: Object) -> Usage:
    """What one object uses."""
    used: Usage = {f"count/{resource.qualified}": _ONE}
    if resource.qualified in _OLD_NAMES:
        used[resource.qualified] = _ONE
    match resource.qualified:
        case "pods":
            if (obj.get("status") or {}).get("phase") not in _FINISHED:
                used.update(_of_pod(decode.convert(Pod, obj)))
        case "services":
            used.update(_of_service(obj["spec"]))
        case "persistentvolumeclaims":
            used.update(_of_claim(obj["spec"]))
    return used


def total(usages: Iterable[Usage]) -> Usage:
    """The sum of several."""
    result: Usage = {}
    for usage in usages:
        for name, amount in usage.items():
            result[name] = result[name] + amount if name in result else amount
    return result


def difference(after: Usage, before: Usage) -> Usage:
    """What is used more, or less; nothing where nothing changed."""
    zero = Quantity.zero()
    names = sorted(after.keys() | before.keys())
    changes = {name: after.get(name, zero) - before.get(name, zero) for name in names}
    return {name: change for name, change in changes.items() if not change.is_zero}


def _of_pod(pod: Pod) -> Usage:
    used: Usage = {"pods": _ONE}
    asked, limited = requests.request_list(pod), requests.limit_list(pod)
    for name, amount in asked.items():
        if name in _COMPUTE:
            used[name] = amount
        if name in _COMPUTE or name.startswith(HUGE_PAGES_PREFIX) or is_extended(name):
            used[f"requests.{name}"] = amount
        if name.startswith(HUGE_PAGES_PREFIX):
            used[name] = amount
    return used | _limits(limited)


def _limits(limited: ResourceList) -> Usage:
    return {f"limits.{name}": amount for name, amount in limited.items() if name in _COMPUTE}


def _of_service(spec: Object) -> Usage:
    ports = Quantity.of(len(spec.get("ports", ())))
    match spec.get("type"):
        case "NodePort":
            return {"services.nodeports": ports}
        case "LoadBalancer":
            used = {"services.loadbalancers": _ONE}
            return used | ({"services.nodeports": ports} if spec.get("allocateLoadBalancerNodePorts", True) else {})
    return {}


def _of_claim(spec: Object) -> Usage:
    sizes: Mapping[str, str] = spec["resources"].get("requests", {})
    size = Quantity.parse(sizes.get("storage", "0"))
    used = {"requests.storage": size}
    if storage_class := spec.get("storageClassName"):
        prefix = f"{storage_class}.storageclass.storage.k8s.io"
        used |= {f"{prefix}/requests.storage": size, f"{prefix}/persistentvolumeclaims": _ONE}
    return used

"""Resource quotas: refuse what would exceed one, and keep the books of what is used.

`check` is asked before an object is written, `account` told after; a dry run only asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from stowplan.embedded.admission.cluster_view import ClusterView
from stowplan.embedded.objects.errors import forbidden
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.catalogue import built_in
from stowplan.embedded.storage.stored import Stored
from stowplan.model import decode, requests
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity
from stowplan.model.requests import CPU, EPHEMERAL_STORAGE, HUGE_PAGES_PREFIX, MEMORY, is_extended

_Usage = dict[str, Quantity]

_ONE: Final = Quantity.of(1)
_COMPUTE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
_QUOTAS: Final = "resourcequotas"
_QUOTA: Final = built_in("", _QUOTAS)
#: What quotas count that is not called after a resource.
_SOURCES: Final = {"services.nodeports": "services", "services.loadbalancers": "services"}
#: Counted under a name of their own beside `count/...`.
_OLD_NAMES: Final = frozenset(
    ("configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets", "services")
)


def check(resource: Resource, obj: Object, before: Object | None, api: ClusterView) -> None:
    """Refuse an object that would exceed a quota of its namespace, or does not say what a quota must know."""
    quotas = api.store.list(_QUOTA, obj["metadata"].get("namespace", ""))
    if not quotas or (resource.qualified == _QUOTAS and before is not None):
        return
    change = _difference(_usage_of(resource, obj), _usage_of(resource, before) if before else {})
    for stored in sorted(quotas, key=lambda each: each.name):
        quota = stored.object
        if _concerns(quota, resource, obj):
            if resource.qualified == "pods" and before is None:
                _check_specified(resource, obj, quota)
            _check_room(resource, obj, quota, change)


def account(resource: Resource, before: Stored | None, after: Stored | None, api: ClusterView) -> None:
    """Write down what a change of one object means for the quotas of its namespace."""
    concerned = after or before
    if concerned is None or not resource.is_namespaced or resource.is_custom:
        return
    quotas = api.store.list(_QUOTA, concerned.namespace)
    if resource.qualified == _QUOTAS:
        for stored in quotas:
            _save(_QUOTA, stored, _counted(stored.object, api), api)
        return
    for stored in quotas:
        quota = stored.object
        was, now = (
            _usage_of(resource, each.object) if each is not None and _concerns(quota, resource, each.object) else {}
            for each in (before, after)
        )
        change = _difference(now, was)
        if change.keys() & _hard(quota).keys():
            used = quota.get("status", {}).get("used", {})
            zero = Quantity.zero()
            counted = {name: Quantity.parse(used.get(name, "0")) + change.get(name, zero) for name in _hard(quota)}
            _save(_QUOTA, stored, counted, api)


def _save(resource: Resource, stored: Stored, used: _Usage, api: ClusterView) -> None:
    quota = stored.object
    hard = _hard(quota)
    status = {"hard": dict(sorted(hard.items())), "used": {name: str(used[name]) for name in sorted(hard)}}
    if quota.get("status") != status:
        quota["status"] = status
        api.store.write(resource, quota)


def _counted(quota: Object, api: ClusterView) -> _Usage:
    """What is used of a quota, counted anew."""
    namespace, hard = quota["metadata"]["namespace"], _hard(quota)
    found = _total(
        _usage_of(resource, obj)
        for resource in _sources(hard, api)
        for obj in (stored.object for stored in api.store.list(resource, namespace))
        if _concerns(quota, resource, obj)
    )
    return {name: found.get(name, Quantity.zero()) for name in hard}


def _sources(hard: dict[str, str], api: ClusterView) -> Iterator[Resource]:
    """The resources whose objects a quota counts."""
    wanted = {_source(name) for name in hard}
    seen = set()
    for resource in api.catalogue.all():
        if resource.qualified in wanted and resource.qualified not in seen:
            seen.add(resource.qualified)
            yield resource


def _source(name: str) -> str:
    if name.startswith("count/"):
        return name.removeprefix("count/")
    if name == "requests.storage" or ".storageclass.storage.k8s.io/" in name:
        return "persistentvolumeclaims"
    return _SOURCES.get(name, name if name in _OLD_NAMES else "pods")


def _hard(quota: Object) -> dict[str, str]:
    hard: dict[str, str] = quota.get("spec", {}).get("hard", {})
    return hard


def _check_room(resource: Resource, obj: Object, quota: Object, change: _Usage) -> None:
    hard, used = _hard(quota), quota.get("status", {}).get("used", {})
    exceeded = [
        name
        for name in sorted(change.keys() & hard.keys())
        if change[name].sign > 0 and Quantity.parse(used.get(name, "0")) + change[name] > Quantity.parse(hard[name])
    ]
    if not exceeded:
        return
    requested = ",".join(f"{name}={change[name]}" for name in exceeded)
    already = ",".join(f"{name}={used.get(name, '0')}" for name in exceeded)
    limited = ",".join(f"{name}={hard[name]}" for name in exceeded)
    problem = (
        f"exceeded quota: {quota['metadata']['name']}, requested: {requested}, used: {already}, limited: {limited}"
    )
    raise forbidden(resource, obj["metadata"]["name"], problem)


def _check_specified(resource: Resource, pod: Object, quota: Object) -> None:
    """A quota on what pods ask for needs every container to say it."""
    missing = []
    for name in sorted(_hard(quota)):
        field, _, what = name.rpartition(".")
        if what not in _COMPUTE or field not in ("", "requests", "limits"):
            continue
        containers = (*pod["spec"].get("containers", ()), *pod["spec"].get("initContainers", ()))
        silent = [each["name"] for each in containers if what not in each["resources"].get(field or "requests", {})]
        if silent:
            missing.append(f"{name} for: {','.join(silent)}")
    if missing:
        problem = f"failed quota: {quota['metadata']['name']}: must specify {'; '.join(missing)}"
        raise forbidden(resource, pod["metadata"]["name"], problem)


def _concerns(quota: Object, resource: Resource, obj: Object) -> bool:
    """Whether a quota with scopes is about this object; one without is about all."""
    spec = quota.get("spec", {})
    selected = (spec.get("scopeSelector") or {}).get("matchExpressions", [])
    expressions = [*({"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes", ())), *selected]
    if not expressions:
        return True
    return resource.qualified == "pods" and all(_is_in_scope(expression, obj) for expression in expressions)


def _is_in_scope(expression: Object, pod: Object) -> bool:
    spec = pod["spec"]
    is_best_effort = (pod.get("status") or {}).get("qosClass") == "BestEffort"
    match expression.get("scopeName"):
        case "Terminating":
            return "activeDeadlineSeconds" in spec
        case "NotTerminating":
            return "activeDeadlineSeconds" not in spec
        case "BestEffort":
            return is_best_effort
        case "NotBestEffort":
            return not is_best_effort
        case "PriorityClass":
            return _names_class(expression, spec.get("priorityClassName", ""))
    return False


def _names_class(expression: Object, name: str) -> bool:
    values = expression.get("values", [])
    match expression.get("operator"):
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "Exists":
            return bool(name)
    return not name


def _usage_of(resource: Resource, obj: Object) -> _Usage:
    """What one object uses."""
    used: _Usage = {f"count/{resource.qualified}": _ONE}
    if resource.qualified in _OLD_NAMES:
        used[resource.qualified] = _ONE
    match resource.qualified:
        case "pods":
            if (obj.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
                used.update(_of_pod(decode.convert(Pod, obj)))
        case "services":
            used.update(_of_service(obj["spec"]))
        case "persistentvolumeclaims":
            used.update(_of_claim(obj["spec"]))
    return used


def _total(usages: Iterable[_Usage]) -> _Usage:
    """The sum of several."""
    result: _Usage = {}
    for usage in usages:
        for name, amount in usage.items():
            result[name] = result[name] + amount if name in result else amount
    return result


def _difference(after: _Usage, before: _Usage) -> _Usage:
    """What is used more, or less; nothing where nothing changed."""
    zero = Quantity.zero()
    names = sorted(after.keys() | before.keys())
    changes = {name: after.get(name, zero) - before.get(name, zero) for name in names}
    return {name: change for name, change in changes.items() if not change.is_zero}


def _of_pod(pod: Pod) -> _Usage:
    used: _Usage = {"pods": _ONE}
    asked, limited = requests.request_list(pod), requests.limit_list(pod)
    for name, amount in asked.items():
        if name in _COMPUTE:
            used[name] = amount
        if name in _COMPUTE or name.startswith(HUGE_PAGES_PREFIX) or is_extended(name):
            used[f"requests.{name}"] = amount
        if name.startswith(HUGE_PAGES_PREFIX):
            used[name] = amount
    return used | {f"limits.{name}": amount for name, amount in limited.items() if name in _COMPUTE}


def _of_service(spec: Object) -> _Usage:
    ports = Quantity.of(len(spec.get("ports", ())))
    match spec.get("type"):
        case "NodePort":
            return {"services.nodeports": ports}
        case "LoadBalancer":
            used = {"services.loadbalancers": _ONE}
            return used | ({"services.nodeports": ports} if spec.get("allocateLoadBalancerNodePorts", True) else {})
    return {}


def _of_claim(spec: Object) -> _Usage:
    sizes: Mapping[str, str] = spec["resources"].get("requests", {})
    size = Quantity.parse(sizes.get("storage", "0"))
    used = {"requests.storage": size}
    if storage_class := spec.get("storageClassName"):
        prefix = f"{storage_class}.storageclass.storage.k8s.io"
        used |= {f"{prefix}/requests.storage": size, f"{prefix}/persistentvolumeclaims": _ONE}
    return used

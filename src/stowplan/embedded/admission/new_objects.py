"""What new objects need and are given, kind by kind; pods have a module of their own.

Upstream's plugins for it are NamespaceLifecycle, TaintNodesByCondition, DefaultStorageClass,
StorageObjectInUseProtection, PodGroupProtection, PodGroupWorkloadExists and, for requests for certificates, the
strategy of their registry.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from stowplan.embedded.admission.cluster_view import ClusterView
from stowplan.embedded.identity.users import ADMIN, User
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import StatusError, forbidden, not_found
from stowplan.embedded.objects.releases import changed
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.catalogue import built_in
from stowplan.model.label_syntax import quoted
from stowplan.model.timestamps import format_time

_NAMESPACES: Final = built_in("", "namespaces")
CERTIFICATE_REQUESTS: Final = "certificatesigningrequests.certificates.k8s.io"
_LASTING: Final = frozenset(("default", "kube-system", "kube-public"))
_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
_FINALIZERS: Final = {
    "PersistentVolumeClaim": "kubernetes.io/pvc-protection",
    "PersistentVolume": "kubernetes.io/pv-protection",
    "PodGroup": "scheduling.k8s.io/podgroup-protection",
}


def check_namespace(resource: Resource, obj: Object, api: ClusterView) -> None:
    """Refuse a new object whose namespace is not there, or is on its way out."""
    if not resource.is_namespaced:
        return
    name = obj["metadata"].get("namespace", "")
    namespace = api.store.get(_NAMESPACES, "", name)
    if namespace is None:
        raise not_found(_NAMESPACES, name)
    # The phase is the one field that namespaces are selected by.
    if namespace.fields == ("Terminating",):
        raise _terminating(resource, obj["metadata"].get("name", ""), name)


def check_namespace_stays(resource: Resource, name: str) -> None:
    """Refuse to delete a namespace that a cluster cannot do without."""
    if resource.qualified == "namespaces" and name in _LASTING:
        raise forbidden(resource, name, "this namespace may not be deleted")


def _terminating(resource: Resource, name: str, namespace: str) -> StatusError:
    problem = f"unable to create new content in namespace {namespace} because it is being terminated"
    refusal = forbidden(resource, name, problem)
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    return StatusError(403, refusal.reason, refusal.message, {**(refusal.details or {}), "causes": [cause]})


def taint_unless_ready(node: Object) -> None:
    """Taint a new node, unless it says at once that it is ready; `controllers.node_lifecycle` lifts that again."""
    if reading.has_condition(node, "Ready"):
        return
    taints = node["spec"].setdefault("taints", [])
    if not any(taint.get("key") == _NOT_READY["key"] and taint.get("effect") == "NoSchedule" for taint in taints):
        taints.append(dict(_NOT_READY))


def assign_storage_class(claim: Object, api: ClusterView) -> None:
    """Give a new claim the default class, of several the youngest; "" asks for none."""
    if "storageClassName" in claim["spec"]:
        return
    classes = [stored.object["metadata"] for stored in api.store.list(built_in("storage.k8s.io", "storageclasses"))]
    defaults = [each for each in classes if (each.get("annotations") or {}).get(_DEFAULT_CLASS) == "true"]
    if defaults:
        defaults.sort(key=lambda each: str(each["name"]))
        # Of those that were made in the same second the first by name.
        youngest = max(defaults, key=lambda each: str(each.get("creationTimestamp", "")))
        claim["spec"]["storageClassName"] = youngest["name"]


def protect(obj: Object) -> None:
    """Give a new claim, volume or group of pods a finalizer: it stays while it is used; its controller takes it off."""
    finalizer = _FINALIZERS[obj["kind"]]
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)


def check_workload(resource: Resource, group: Object, api: ClusterView) -> None:
    """Refuse a new group of pods whose workload, or the template in it, is not there; since 1.37 nobody asks."""
    reference = reading.mapping(group, "spec", "podGroupTemplateRef", "workload")
    if changed("GroupsWithoutWorkload", resource.release) or not reference:
        return
    name, template = reading.text(reference, "workloadName"), reading.text(reference, "podGroupTemplateName")
    workloads = api.catalogue.of_kind(resource.api_version, "Workload")
    stored = api.store.get(workloads, group["metadata"]["namespace"], name) if workloads is not None else None
    if stored is None:
        problem = f"Workload {quoted(name)} not found"
    elif reading.is_deleted(stored.object):
        problem = f"Workload {quoted(name)} is being deleted"
    elif any(one.get("name") == template for one in reading.entries(stored.object, "spec", "podGroupTemplates")):
        return
    else:
        problem = f"PodGroupTemplate {quoted(template)} not found in Workload {quoted(name)}"
    raise forbidden(resource, group["metadata"]["name"], f"PodGroup rejected: {problem}")


def credit_requester(request: Object, requester: User | None) -> None:
    """Write down who asks; what the request says of it is not believed."""
    spec = request.setdefault("spec", {})
    for field in ("username", "uid", "groups", "extra"):
        spec.pop(field, None)
    # What this process itself puts in comes from whoever started it.
    spec.update((requester or ADMIN).described())


def date_conditions(request: Object, before: Object, now: datetime) -> None:
    """Say of each condition when it was written, and since when it holds."""
    known = {_kind(each): each for each in (before.get("status") or {}).get("conditions", ())}
    for condition in (request.get("status") or {}).get("conditions", ()):
        moment = format_time(now)
        condition["lastUpdateTime"] = condition.get("lastUpdateTime") or moment
        since = known.get(_kind(condition), {}).get("lastTransitionTime") or moment
        condition["lastTransitionTime"] = condition.get("lastTransitionTime") or since


def _kind(condition: Object) -> tuple[str, str]:
    return condition.get("type", ""), condition.get("status", "")

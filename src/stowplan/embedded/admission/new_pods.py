"""What a new pod is given beyond its defaults: service account, runtime class, labels, its first status.

Upstream's plugins for it are ServiceAccount, RuntimeClass and PodTopologyLabels. No token is mounted: nothing runs in
the pods of this cluster. `chain` has the order; the priority of a pod comes from `priority`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stowplan.embedded.admission.cluster_view import ClusterView
from stowplan.embedded.objects.errors import forbidden
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.catalogue import built_in
from stowplan.model import decode
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity
from stowplan.model.requests import BEST_EFFORT, BURSTABLE, CPU, MEMORY, qos_class
from stowplan.model.timestamps import format_time

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_ACCOUNTS: Final = built_in("", "serviceaccounts")
_USUAL_ACCOUNT: Final = "default"
_PULL_SECRETS: Final = "imagePullSecrets"
_COPIED: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def assign_service_account(resource: Resource, pod: Object, api: ClusterView) -> None:
    """Give a new pod its service account. Raise StatusError if there is none of that name."""
    spec, metadata = pod["spec"], pod["metadata"]
    name = spec.get("serviceAccountName") or _USUAL_ACCOUNT
    account = api.store.get(_ACCOUNTS, metadata["namespace"], name)
    if account is None:
        where = f"{metadata['namespace']}/{name}"
        problem = f'error looking up service account {where}: serviceaccount "{name}" not found'
        raise forbidden(resource, metadata["name"], problem)
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    # Few accounts have secrets; the text is looked at first, because this is on the way of every pod.
    if _PULL_SECRETS not in spec and _PULL_SECRETS.encode() in account.body:
        secrets = account.object.get(_PULL_SECRETS)
        if secrets:
            spec[_PULL_SECRETS] = secrets


def apply_runtime_class(resource: Resource, pod: Object, api: ClusterView) -> None:
    """Add to a new pod what its runtime class says. Raise StatusError if there is no such class."""
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    name = spec.get("runtimeClassName")
    found: Object = {}
    if name:
        stored = api.store.get(built_in("node.k8s.io", "runtimeclasses"), "", name)
        if stored is None:
            raise forbidden(resource, pod_name, f'pod rejected: RuntimeClass "{name}" not found')
        found = stored.object
    overhead = (found.get("overhead") or {}).get("podFixed")
    if overhead is None:
        if spec.get("overhead"):
            problem = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            raise forbidden(resource, pod_name, problem)
    elif spec.setdefault("overhead", overhead) != overhead:
        problem = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        raise forbidden(resource, pod_name, problem)
    if "scheduling" in found:
        _narrow(resource, pod, found["scheduling"])


def _narrow(resource: Resource, pod: Object, scheduling: Object) -> None:
    spec = pod["spec"]
    for key, value in scheduling.get("nodeSelector", {}).items():
        chosen = spec.setdefault("nodeSelector", {}).setdefault(key, value)
        if chosen != value:
            wanted = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}"
            problem = f"conflict: {wanted}; pod.spec.nodeSelector[{key}] = {chosen}"
            raise forbidden(resource, pod["metadata"]["name"], problem)
    more = [each for each in scheduling.get("tolerations", ()) if each not in spec.get("tolerations", ())]
    if more:
        spec["tolerations"] = [*spec.get("tolerations", ()), *more]


def label_after_node(metadata: Object, node_name: str, api: ClusterView) -> None:
    """Label a pod after its node; a node that is not there has no labels."""
    node = api.store.get(built_in("", "nodes"), "", node_name)
    found = {key: node.labels[key] for key in _COPIED if key in node.labels} if node is not None else {}
    if found:
        metadata["labels"] = {**metadata.get("labels", {}), **found}


def resolve_label_keys(pod: Object) -> None:
    """Write the values of the labels that a pod names by their keys into its selectors."""
    spec, labels = pod["spec"], pod["metadata"].get("labels", {})
    for constraint in spec.get("topologySpreadConstraints", ()):
        _resolve(constraint, labels)
    if "affinity" in spec:
        for term in _pod_terms(spec["affinity"]):
            _resolve(term, labels)


def begin_status(pod: Object, api: ClusterView) -> None:
    """Let a new pod wait; one with gates says why."""
    status: Object = {"phase": "Pending", "qosClass": _qos(pod)}
    if pod["spec"].get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastTransitionTime": format_time(api.now()),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    pod["status"] = status


def keep(pod: Object, before: Object) -> None:
    """Let a changed pod that does not mention what it was given keep it."""
    for part, fields in (("spec", ("priority", "preemptionPolicy")), ("status", ("qosClass",))):
        for field in fields:
            if field in (before.get(part) or {}):
                pod.setdefault(part, {}).setdefault(field, before[part][field])


def _resolve(term: Object, labels: dict[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(field, ()):
            if key in labels:
                expression = {"key": key, "operator": operator, "values": [labels[key]]}
                selector.setdefault("matchExpressions", []).append(expression)


def _pod_terms(affinity: Object) -> Iterator[Object]:
    for kind in ("podAffinity", "podAntiAffinity"):
        found = affinity.get(kind) or {}
        yield from found.get(_REQUIRED, ())
        yield from (each["podAffinityTerm"] for each in found.get(_PREFERRED, ()) if "podAffinityTerm" in each)


def _qos(pod: Object) -> str:
    """The class of a pod. Without limits it is simple, and most pods have none."""
    spec, asks = pod["spec"], False
    if "resources" in spec:
        return qos_class(decode.convert(Pod, pod))
    for field in ("containers", "initContainers"):
        for container in spec.get(field, ()):
            resources = container["resources"]
            if "limits" in resources:
                return qos_class(decode.convert(Pod, pod))
            if not asks and "requests" in resources:
                requests = resources["requests"]
                asks = _is_something(requests.get(CPU)) or _is_something(requests.get(MEMORY))
    return BURSTABLE if asks else BEST_EFFORT


def _is_something(amount: str | None) -> bool:
    return amount is not None and Quantity.parse(amount).sign > 0

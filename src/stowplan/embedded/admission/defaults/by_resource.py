"""Which defaults the objects of a resource get: those of their types, then what depends on more than one field."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Final

from stowplan.embedded.admission.defaults import pods, workloads
from stowplan.embedded.admission.defaults.declared import fill_declared, fill_empty, fill_missing, part
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object, Resource

_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_ACCESS_GROUP: Final = "rbac.authorization.k8s.io"
_EXACT: Final = "ExactCount"
_STICKY_SECONDS: Final = 10800
#: Kept as they are written, though their types have defaults.
_LEFT_ALONE: Final = frozenset(("podtemplates", "volumeattachments.storage.k8s.io"))


def complete(resource: Resource, obj: Object) -> None:
    """Fill in an object, in place. What is filled in already stays as it is."""
    if resource.is_custom or resource.qualified in _LEFT_ALONE:
        return
    fill_declared(resource, obj)
    fill = _BY_RESOURCE.get(resource.qualified)
    if fill is not None:
        fill(obj)


def _complete_namespace(namespace: Object) -> None:
    """Let the label of a namespace always say its name."""
    metadata = namespace["metadata"]
    metadata.setdefault("labels", {})[_NAME_LABEL] = metadata.get("name", "")


def _complete_node(node: Object) -> None:
    """Fill in a node: what it has, it can give away."""
    spec, status = node["spec"], node["status"]
    if spec.get("podCIDR"):
        spec["podCIDRs"] = [spec["podCIDR"], *spec.get("podCIDRs", ())[1:]]
    elif spec.get("podCIDRs"):
        spec["podCIDR"] = spec["podCIDRs"][0]
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])


def _complete_secret(secret: Object) -> None:
    """Keep what is given as text with the rest."""
    texts = secret.pop("stringData", None)
    if texts:
        data = secret.setdefault("data", {})
        for key, text in texts.items():
            data[key] = base64.b64encode(text.encode(errors="surrogatepass")).decode()


def _complete_limit_range(limit_range: Object) -> None:
    """Fill in a limit range: the most allowed is the default limit, and that the default request."""
    for item in limit_range["spec"].get("limits", ()):
        if item.get("type") != "Container":
            continue
        limits = {**item.get("max", {}), **item.get("default", {})}
        requests = {**item.get("min", {}), **limits, **item.get("defaultRequest", {})}
        if limits:
            item["default"] = limits
        if requests:
            item["defaultRequest"] = requests


def _complete_role_binding(binding: Object) -> None:
    """Fill in what binds a role: users and groups are names of the same group of the API as the role."""
    for subject in binding.get("subjects", ()):
        if subject.get("kind") in ("User", "Group"):
            fill_empty(subject, apiGroup=_ACCESS_GROUP)


def _complete_definition(definition: Object) -> None:
    """Fill in the names of a custom resource that follow from its kind."""
    names = definition["spec"]["names"]
    if kind := names.get("kind"):
        fill_empty(names, singular=kind.lower(), listKind=f"{kind}List")


def _complete_device_claim(claim: Object) -> None:
    """Fill in a claim for devices: one of each, if nothing else is said."""
    for request in reading.entries(claim, "spec", "devices", "requests"):
        exactly = [request["exactly"]] if "exactly" in request else []
        for way in (*exactly, *reading.entries(request, "firstAvailable")):
            if way.setdefault("allocationMode", _EXACT) == _EXACT:
                fill_missing(way, count=1)


def _complete_service(service: Object) -> None:
    """Fill in a service. Addresses are given out by `admission.addresses`."""
    spec = service["spec"]
    if spec["sessionAffinity"] == "ClientIP":
        fill_missing(part(spec, "sessionAffinityConfig", "clientIP"), timeoutSeconds=_STICKY_SECONDS)
    else:
        spec.pop("sessionAffinityConfig", None)
    for port in spec.get("ports", ()):
        fill_empty(port, targetPort=port.get("port", 0))
    if spec["type"] != "ExternalName":
        fill_empty(spec, internalTrafficPolicy="Cluster", ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack")
    if spec["type"] in ("NodePort", "LoadBalancer"):
        fill_empty(spec, externalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        fill_missing(spec, allocateLoadBalancerNodePorts=True)


def _complete_network_policy(policy: Object) -> None:
    """Fill in a network policy: without a word it is about what comes in, and about what goes out if it says so."""
    spec = policy["spec"]
    fill_empty(spec, policyTypes=["Ingress", "Egress"] if spec.get("egress") else ["Ingress"])
    for rule in (*spec.get("ingress", ()), *spec.get("egress", ())):
        for port in rule.get("ports", ()):
            fill_empty(port, protocol="TCP")


_BY_RESOURCE: Final[Mapping[str, Callable[[Object], object]]] = {
    "pods": pods.complete_pod,
    "replicationcontrollers": workloads.complete_replication_controller,
    "deployments.apps": workloads.complete_deployment,
    "replicasets.apps": workloads.complete_template,
    "statefulsets.apps": workloads.complete_stateful_set,
    "daemonsets.apps": workloads.complete_daemon_set,
    "jobs.batch": workloads.complete_job,
    "cronjobs.batch": workloads.complete_cron_job,
    "horizontalpodautoscalers.autoscaling": workloads.complete_autoscaler,
    "services": _complete_service,
    "networkpolicies.networking.k8s.io": _complete_network_policy,
    "rolebindings.rbac.authorization.k8s.io": _complete_role_binding,
    "clusterrolebindings.rbac.authorization.k8s.io": _complete_role_binding,
    "persistentvolumeclaims": lambda claim: part(claim, "spec", "resources"),
    "storageclasses.storage.k8s.io": lambda storage_class: fill_empty(
        storage_class, reclaimPolicy="Delete", volumeBindingMode="Immediate"
    ),
    "csidrivers.storage.k8s.io": lambda driver: fill_empty(
        driver["spec"], volumeLifecycleModes=["Persistent"], fsGroupPolicy="ReadWriteOnceWithFSType"
    ),
    "resourceclaims.resource.k8s.io": _complete_device_claim,
    "resourceclaimtemplates.resource.k8s.io": lambda template: _complete_device_claim(template["spec"]),
    "namespaces": _complete_namespace,
    "nodes": _complete_node,
    "secrets": _complete_secret,
    "limitranges": _complete_limit_range,
    "priorityclasses.scheduling.k8s.io": lambda priority_class: fill_empty(
        priority_class, preemptionPolicy="PreemptLowerPriority"
    ),
    "customresourcedefinitions.apiextensions.k8s.io": _complete_definition,
}

"""Defaults of what a cluster consists of: namespaces, nodes, secrets, limits, classes, storage, devices."""

from __future__ import annotations

import base64
from typing import Final

from stowplan.embedded.admission.defaults.filling import fill_empty, fill_missing, part
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object

_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_ACCESS_GROUP: Final = "rbac.authorization.k8s.io"
_EXACT: Final = "ExactCount"


def complete_namespace(namespace: Object) -> None:
    """Fill in a namespace; its own label always says its name."""
    metadata = namespace["metadata"]
    metadata.setdefault("labels", {})[_NAME_LABEL] = metadata.get("name", "")
    namespace.setdefault("spec", {})
    fill_empty(namespace, status={"phase": "Active"})


def complete_node(node: Object) -> None:
    """Fill in a node: what it has, it can give away."""
    spec, status = part(node, "spec"), part(node, "status")
    if spec.get("podCIDR"):
        spec["podCIDRs"] = [spec["podCIDR"], *spec.get("podCIDRs", ())[1:]]
    elif spec.get("podCIDRs"):
        spec["podCIDR"] = spec["podCIDRs"][0]
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])


def complete_secret(secret: Object) -> None:
    """Fill in a secret; what is given as text is kept with the rest."""
    fill_empty(secret, type="Opaque")
    texts = secret.pop("stringData", None)
    if texts:
        data = secret.setdefault("data", {})
        for key, text in texts.items():
            data[key] = base64.b64encode(text.encode(errors="surrogatepass")).decode()


def complete_limit_range(limit_range: Object) -> None:
    """Fill in a limit range: the most allowed is the default limit, and that the default request."""
    for item in limit_range.setdefault("spec", {}).get("limits", ()):
        if item.get("type") != "Container":
            continue
        limits = {**item.get("max", {}), **item.get("default", {})}
        requests = {**item.get("min", {}), **limits, **item.get("defaultRequest", {})}
        if limits:
            item["default"] = limits
        if requests:
            item["defaultRequest"] = requests


def complete_quota(quota: Object) -> None:
    """Fill in a resource quota."""
    fill_missing(quota, spec={}, status={})


def complete_priority_class(priority_class: Object) -> None:
    """Fill in a priority class."""
    fill_missing(priority_class, value=0)
    fill_empty(priority_class, preemptionPolicy="PreemptLowerPriority")


def complete_budget(budget: Object) -> None:
    """Fill in a disruption budget: until its controller has counted, it allows nothing."""
    part(budget, "spec")
    fill_missing(part(budget, "status"), disruptionsAllowed=0, currentHealthy=0, desiredHealthy=0, expectedPods=0)


def complete_role_binding(binding: Object) -> None:
    """Fill in what binds a role: users and groups are names of the same group of the API as the role."""
    fill_empty(part(binding, "roleRef"), apiGroup=_ACCESS_GROUP)
    for subject in binding.get("subjects", ()):
        if subject.get("kind") in ("User", "Group"):
            fill_empty(subject, apiGroup=_ACCESS_GROUP)


def complete_definition(definition: Object) -> None:
    """Fill in a custom resource definition."""
    names = part(definition, "spec", "names")
    if kind := names.get("kind"):
        fill_empty(names, singular=kind.lower(), listKind=f"{kind}List")
    fill_missing(definition["spec"], conversion={"strategy": "None"})


def complete_event(event: Object) -> None:
    """Fill in an event of the core group."""
    fill_missing(event, involvedObject={}, source={}, reportingComponent="", reportingInstance="")


def complete_claim(claim: Object) -> None:
    """Fill in a claim for a volume."""
    fill_missing(part(claim, "spec"), resources={}, volumeMode="Filesystem")
    fill_empty(claim, status={"phase": "Pending"})


def complete_volume(volume: Object) -> None:
    """Fill in a persistent volume."""
    spec = fill_empty(part(volume, "spec"), persistentVolumeReclaimPolicy="Retain")
    fill_missing(spec, volumeMode="Filesystem")
    if "hostPath" in spec:
        fill_missing(spec["hostPath"], type="")
    fill_empty(volume, status={"phase": "Pending"})


def complete_storage_class(storage_class: Object) -> None:
    """Fill in a storage class."""
    fill_empty(storage_class, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def complete_csi_driver(driver: Object) -> None:
    """Fill in a CSI driver."""
    spec = fill_missing(part(driver, "spec"), attachRequired=True, podInfoOnMount=False, storageCapacity=False)
    fill_missing(spec, requiresRepublish=False, seLinuxMount=False)
    fill_empty(spec, volumeLifecycleModes=["Persistent"], fsGroupPolicy="ReadWriteOnceWithFSType")


def complete_device_claim(claim: Object) -> None:
    """Fill in a claim for devices: one of each, if nothing else is said."""
    part(claim, "spec", "devices")
    for request in reading.entries(claim, "spec", "devices", "requests"):
        exactly = [request["exactly"]] if "exactly" in request else []
        for way in (*exactly, *reading.entries(request, "firstAvailable")):
            if way.setdefault("allocationMode", _EXACT) == _EXACT:
                fill_missing(way, count=1)


def complete_device_claim_template(template: Object) -> None:
    """Fill in a template of such claims."""
    part(template, "spec", "metadata")
    complete_device_claim(template["spec"])

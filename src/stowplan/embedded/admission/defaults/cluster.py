"""Defaults of what a cluster consists of: namespaces, nodes, secrets, limits, budgets, classes, definitions."""

from __future__ import annotations

import base64
from typing import Final

from stowplan.embedded.objects.resource import Object

NAME_LABEL: Final = "kubernetes.io/metadata.name"
_ACCESS_GROUP: Final = "rbac.authorization.k8s.io"


def complete_namespace(namespace: Object) -> None:
    """Fill in a namespace; its own label always says its name."""
    metadata = namespace["metadata"]
    metadata.setdefault("labels", {})[NAME_LABEL] = metadata.get("name", "")
    namespace.setdefault("spec", {})
    if not namespace.get("status"):
        namespace["status"] = {"phase": "Active"}


def complete_node(node: Object) -> None:
    """Fill in a node: what it has, it can give away."""
    spec, status = node.setdefault("spec", {}), node.setdefault("status", {})
    if spec.get("podCIDR"):
        spec["podCIDRs"] = [spec["podCIDR"], *spec.get("podCIDRs", ())[1:]]
    elif spec.get("podCIDRs"):
        spec["podCIDR"] = spec["podCIDRs"][0]
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])


def complete_secret(secret: Object) -> None:
    """Fill in a secret; what is given as text is kept with the rest."""
    secret["type"] = secret.get("type") or "Opaque"
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
    quota.setdefault("spec", {})
    quota.setdefault("status", {})


def complete_priority_class(priority_class: Object) -> None:
    """Fill in a priority class."""
    priority_class.setdefault("value", 0)
    priority_class["preemptionPolicy"] = priority_class.get("preemptionPolicy") or "PreemptLowerPriority"


def complete_budget(budget: Object) -> None:
    """Fill in a disruption budget: until its controller has counted, it allows nothing."""
    budget.setdefault("spec", {})
    status = budget.setdefault("status", {})
    for name in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        status.setdefault(name, 0)


def complete_role_binding(binding: Object) -> None:
    """Fill in what binds a role: users and groups are names of the same group of the API as the role."""
    reference = binding.setdefault("roleRef", {})
    reference["apiGroup"] = reference.get("apiGroup") or _ACCESS_GROUP
    for subject in binding.get("subjects", ()):
        if subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = subject.get("apiGroup") or _ACCESS_GROUP


def complete_definition(definition: Object) -> None:
    """Fill in a custom resource definition."""
    spec = definition.setdefault("spec", {})
    names = spec.setdefault("names", {})
    if names.get("kind"):
        names["singular"] = names.get("singular") or names["kind"].lower()
        names["listKind"] = names.get("listKind") or f"{names['kind']}List"
    spec.setdefault("conversion", {"strategy": "None"})


def complete_event(event: Object) -> None:
    """Fill in an event of the core group: its own namespace is that of what it is about, if nothing else is said."""
    event.setdefault("involvedObject", {})
    event.setdefault("source", {})
    event.setdefault("reportingComponent", "")
    event.setdefault("reportingInstance", "")

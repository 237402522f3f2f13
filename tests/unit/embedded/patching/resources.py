"""Resources and objects that the tests patch."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching.patch import APPLY_PATCH, Patch

POD = Resource("", "v1", "Pod", "pods", "pod", subresources=("status", "binding"))
CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps", "configmap")
DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments", "deployment", subresources=("status", "scale"))
BUDGET = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "poddisruptionbudget")
WIDGET = Resource("example.com", "v1", "Widget", "widgets", "widget", is_custom=True)

NOON = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)


def make(resource: Resource, **parts: Any) -> Object:
    """An object of a kind, named `x`."""
    metadata = {"name": "x", "namespace": "default", **parts.pop("metadata", {})}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **parts}


def applying(wanted: Any, manager: str = "kubectl", **options: Any) -> Patch:
    """A server-side apply."""
    return Patch(APPLY_PATCH, json.dumps(wanted).encode(), field_manager=manager, time=NOON, **options)


def owners(obj: Object) -> dict[str, Any]:
    """Who owns what, by manager and operation."""
    entries = obj["metadata"].get("managedFields", [])
    return {f"{entry['manager']} {entry['operation']}": entry["fieldsV1"] for entry in entries}

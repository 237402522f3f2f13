"""Resources and objects that tests of the embedded API server begin with."""

from __future__ import annotations

from typing import Any

from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.catalogue import BUILT_IN

_BY_NAME = {(resource.qualified, resource.version): resource for resource in BUILT_IN}


def resource(qualified: str, version: str = "v1") -> Resource:
    """A built-in resource, such as `deployments.apps`."""
    return _BY_NAME[qualified, version]


PODS = resource("pods")
NODES = resource("nodes")
CONFIG_MAPS = resource("configmaps")
NAMESPACES = resource("namespaces")
DEPLOYMENTS = resource("deployments.apps")
CORE_EVENTS = resource("events")
NEW_EVENTS = resource("events.events.k8s.io")


def made(of: Resource, name: str, namespace: str = "default", **content: Any) -> Object:
    """An object as the store wants it; `metadata` adds to its metadata."""
    metadata = {"name": name, "uid": f"uid-of-{name}", **content.pop("metadata", {})}
    if of.is_namespaced:
        metadata["namespace"] = namespace
    return {"apiVersion": of.api_version, "kind": of.kind, "metadata": metadata, **content}

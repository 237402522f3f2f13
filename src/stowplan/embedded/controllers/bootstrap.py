"""What a new cluster has before anybody asks: four namespaces, their service accounts, the system priority classes."""

from __future__ import annotations

from stowplan.embedded.following import resources
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_PRIORITY_CLASSES = (
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
)


def ensure(api: Api) -> None:
    """Create what is missing."""
    namespaces, accounts = resources.namespaces(api), resources.find(api, "v1", "ServiceAccount")
    for name in NAMESPACES:
        _create(api, namespaces, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        # At once, so that the first pod is not refused for want of it.
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}}
        _create(api, accounts, account)
    classes = resources.find(api, "scheduling.k8s.io/v1", "PriorityClass")
    for name, value, description in _PRIORITY_CLASSES:
        _create(api, classes, {"metadata": {"name": name}, "value": value, "description": description})


def _create(api: Api, resource: Resource, obj: Object) -> None:
    try:
        api.create(resource, obj["metadata"].get("namespace", ""), obj)
    except StatusError as error:
        if error.reason != "AlreadyExists":
            raise

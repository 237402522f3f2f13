"""Volumes, claims and classes as tests of a small cluster write them, and what is seen of them."""

from __future__ import annotations

from typing import Any

from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import SmallCluster
from tests.unit.embedded.given import PODS, resource

CLAIMS = resource("persistentvolumeclaims")
VOLUMES = resource("persistentvolumes")
CLASSES = resource("storageclasses.storage.k8s.io")
SELECTED_NODE = "volume.kubernetes.io/selected-node"


def add_class(cluster: SmallCluster, name: str, **content: Any) -> Object:
    """Make a class, by default one whose claims are served at once."""
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if content.pop("is_default", False) else {}
    made = {"metadata": {"name": name, "annotations": annotations}, "provisioner": "disks.example.com", **content}
    return cluster.api.create(CLASSES, "", made)


def add_volume(cluster: SmallCluster, name: str, size: str = "10Gi", **spec: Any) -> Object:
    """Make a volume without a class, on a path of the host unless it is a driver's."""
    source = {} if "csi" in spec else {"hostPath": {"path": "/data"}}
    content = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], **source}
    return cluster.create(VOLUMES, name, content | spec)


def add_claim(cluster: SmallCluster, name: str, size: str = "1Gi", **spec: Any) -> Object:
    """Make a claim for a volume without a class."""
    metadata = {"annotations": spec.pop("annotations", {})}
    content = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, "storageClassName": ""}
    return cluster.create(CLAIMS, name, content | spec, **metadata)


def add_pod(cluster: SmallCluster, name: str, *volumes: Object, **spec: Any) -> Object:
    """Make a pod with volumes."""
    content = {"containers": [{"name": "main", "image": "app:1"}], "volumes": list(volumes)}
    return cluster.create(PODS, name, content | spec)


def select_node(cluster: SmallCluster, claim: str, node: str) -> None:
    """Choose a node for a claim, as a scheduler does."""
    cluster.edit(CLAIMS, claim, lambda obj: obj["metadata"].setdefault("annotations", {}).update({SELECTED_NODE: node}))


def phase(cluster: SmallCluster, claim: str) -> str:
    return str(cluster.get(CLAIMS, claim)["status"]["phase"])


def volume_phase(cluster: SmallCluster, volume: str) -> str:
    return str(cluster.get(VOLUMES, volume)["status"]["phase"])


def bound_to(cluster: SmallCluster, claim: str) -> str:
    """The volume that a claim names; "" for none."""
    return str(cluster.get(CLAIMS, claim)["spec"].get("volumeName", ""))


def marks(obj: Object) -> dict[str, str]:
    """The annotations that tell how a claim or a volume was bound."""
    annotations: dict[str, str] = obj["metadata"].get("annotations", {})
    return {key: value for key, value in annotations.items() if key.startswith("pv.kubernetes.io/")}

"""Volumes, claims and classes written shortly, and pods that use them."""

from __future__ import annotations

from typing import Any

from stowplan.model import decode
from stowplan.model.pod import Pod
from stowplan.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)

LOCAL = "local"
FAST = "fast"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
DRIVER = "disks.example.com"
SELECTED = "volume.kubernetes.io/selected-node"
COMPLETED = "pv.kubernetes.io/bind-completed"
BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"

Fields = dict[str, Any]


def where(key: str, *values: str, operator: str = "In") -> Fields:
    """Write a condition on a label of a node."""
    return {"key": key, "operator": operator, "values": list(values)}


def affinity(*terms: list[Fields]) -> Fields:
    """Write the node affinity of a volume: lists of conditions of which one must hold."""
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}}


def on(*names: str) -> Fields:
    return affinity([where(HOSTNAME, *names)])


def volume(name: str, size: str = "10Gi", **fields: Any) -> PersistentVolume:
    """Make a free volume of the local class; `metadata`, `status` and the fields of the spec can be given."""
    metadata = {"name": name, **fields.pop("metadata", {})}
    status = fields.pop("status", {"phase": "Available"})
    spec = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": LOCAL, **fields}
    return decode.convert(PersistentVolume, {"metadata": metadata, "spec": spec, "status": status})


def claim(name: str = "data", size: str = "10Gi", **fields: Any) -> PersistentVolumeClaim:
    """Make an unbound claim of the local class; `metadata`, `status` and the fields of the spec can be given."""
    metadata = {"name": name, "namespace": "default", "uid": f"uid-of-{name}", **fields.pop("metadata", {})}
    status = fields.pop("status", {})
    spec = {"resources": {"requests": {"storage": size}}, "accessModes": ["ReadWriteOnce"], "storageClassName": LOCAL}
    return decode.convert(PersistentVolumeClaim, {"metadata": metadata, "spec": spec | fields, "status": status})


def bound(name: str = "data", to: str = "disk", **fields: Any) -> PersistentVolumeClaim:
    """Make a claim that has its volume."""
    metadata = {"annotations": {COMPLETED: "yes"}, **fields.pop("metadata", {})}
    return claim(name, volumeName=to, metadata=metadata, status={"phase": "Bound"}, **fields)


def selected(name: str, node: str, **fields: Any) -> PersistentVolumeClaim:
    """Make a claim whose volume is being made on a node."""
    return claim(name, metadata={"annotations": {SELECTED: node}}, **fields)


def meant_for(name: str, namespace: str = "default", **fields: Any) -> Fields:
    """Write the reference of a volume to a claim."""
    return {"claimRef": {"name": name, "namespace": namespace, **fields}}


def storage_class(name: str = LOCAL, provisioner: str = "kubernetes.io/no-provisioner", **fields: Any) -> StorageClass:
    """Make a class that waits for the first consumer."""
    content = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
    return decode.convert(StorageClass, content | fields)


def driver(name: str = DRIVER, *, storage_capacity: bool = True) -> CSIDriver:
    return decode.convert(CSIDriver, {"metadata": {"name": name}, "spec": {"storageCapacity": storage_capacity}})


def capacity(name: str, free: str | None, topology: Fields | None, **fields: Any) -> CSIStorageCapacity:
    """Make a report of free space of the fast class."""
    content: Fields = {"metadata": {"name": name, "namespace": "default"}, "storageClassName": FAST, **fields}
    if free is not None:
        content["capacity"] = free
    if topology is not None:
        content["nodeTopology"] = topology
    return decode.convert(CSIStorageCapacity, content)


def csi_node(name: str, *plugins: str) -> CSINode:
    """Make what a node says of its drivers: the plugins that they have taken over."""
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(plugins)}
    return decode.convert(CSINode, {"metadata": {"name": name, "annotations": annotations}})


def user_of(*claims: str, name: str = "pod") -> Pod:
    """Make a pod with a volume for each claim."""
    volumes = [{"name": f"v{place}", "persistentVolumeClaim": {"claimName": each}} for place, each in enumerate(claims)]
    metadata = {"name": name, "namespace": "default", "uid": f"uid-of-{name}"}
    return decode.convert(Pod, {"metadata": metadata, "spec": {"volumes": volumes}})


def ephemeral_user(name: str = "pod", volume_name: str = "scratch") -> Pod:
    """Make a pod with a volume that lives as long as it does."""
    volumes = [{"name": volume_name, "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    metadata = {"name": name, "namespace": "default", "uid": f"uid-of-{name}"}
    return decode.convert(Pod, {"metadata": metadata, "spec": {"volumes": volumes}})

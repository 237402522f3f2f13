"""Objects about volumes as plain data: classes, volumes, claims, and what drivers tell about themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.e2e.api import Object
from tests.e2e.manifests import HOST

SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
NOBODY: Final = "kubernetes.io/no-provisioner"


def storage_class(name: str, provisioner: str = NOBODY, *, waits: bool = True, **fields: Any) -> Object:
    """Describe a class whose claims wait for their first consumer, unless told otherwise."""
    mode = "WaitForFirstConsumer" if waits else "Immediate"
    heading = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    return {**heading, "provisioner": provisioner, "volumeBindingMode": mode, **fields}


def volume(name: str, storage_class: str, nodes: Sequence[str] = (), size: str = "1Gi", **spec: Any) -> Object:
    """Describe a free volume that is reached from some nodes, or from everywhere if none is named."""
    spec = {
        "storageClassName": storage_class,
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        **({"nodeAffinity": reached_from(HOST, *nodes)} if nodes else {}),
        **({} if "csi" in spec else {"local": {"path": f"/disks/{name}"}} if nodes else {"hostPath": {"path": "/d"}}),
        **spec,
    }
    heading = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}}
    return {**heading, "spec": spec, "status": {"phase": "Available"}}


def reached_from(key: str, *values: str) -> Object:
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}
    return {"required": {"nodeSelectorTerms": [term]}}


def claim(namespace: str, name: str, storage_class: str, size: str = "1Gi", **spec: Any) -> Object:
    spec = {
        "storageClassName": storage_class,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        **spec,
    }
    metadata = {"namespace": namespace, "name": name}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def bound(claim: Object, volume: Object) -> list[Object]:
    """Describe a claim and its volume as a controller leaves them; without one, nobody else would."""
    modes = {"accessModes": claim["spec"]["accessModes"]}
    metadata = {**claim["metadata"], "annotations": {BIND_COMPLETED: "yes"}}
    mine = {**claim, "metadata": metadata, "spec": {**claim["spec"], "volumeName": volume["metadata"]["name"]}}
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim["metadata"]}
    spec = {**volume["spec"], **modes, "claimRef": reference}
    return [mine, {**volume, "spec": spec, "status": {"phase": "Bound"}}]


def attachable(driver: str, handle: str) -> Object:
    """Describe the source of a volume that a driver attaches to nodes."""
    return {"driver": driver, "volumeHandle": handle}


def csi_node(name: str, driver: str, limit: int) -> Object:
    """Describe what a driver can do on a node; the node need not be there yet."""
    found = {"name": driver, "nodeID": name, "topologyKeys": None, "allocatable": {"count": limit}}
    metadata = {"name": name}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": {"drivers": [found]}}


def csi_driver(name: str) -> Object:
    """Describe a driver that says how much space it has where."""
    spec = {"storageCapacity": True, "attachRequired": False}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": spec}


def free_space(namespace: str, name: str, storage_class: str, node: str, size: str) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"namespace": namespace, "name": name},
        "storageClassName": storage_class,
        "nodeTopology": {"matchLabels": {HOST: node}},
        "capacity": size,
    }


def volumes_of(*claims: str) -> list[Object]:
    """Describe the volumes of a pod that uses these claims."""
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]


def scratch(name: str, storage_class: str, **spec: Any) -> list[Object]:
    """Describe a volume for which a claim is made that goes with the pod."""
    template = {"spec": claim("", "", storage_class, **spec)["spec"]}
    return [{"name": name, "ephemeral": {"volumeClaimTemplate": template}}]


def labelled(item: Object, labels: Mapping[str, str]) -> Object:
    return {**item, "metadata": {**item["metadata"], "labels": dict(labels)}}

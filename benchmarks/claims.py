"""What pods with volumes and devices need beside nodes: for each pod a claim of its own, and what serves it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from stowplan.model.decode import decode_object

DRIVER: Final = "disks.example.com"
GPU: Final = "gpu"
DEVICES_PER_NODE: Final = 8
VOLUMES_PER_NODE: Final = 39

Object = dict[str, Any]


def volume(number: int) -> Object:
    """Return what a pod says that has a volume of its own."""
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{number}"}}]}


def device(number: int) -> Object:
    """Return what a pod says that has a device of its own."""
    return {"resourceClaims": [{"name": "gpu", "resourceClaimName": f"gpu-{number}"}]}


def disks(nodes: int, pods: int) -> Iterator[Any]:
    """Yield a bound claim for each pod, and how many volumes each node can attach."""
    for number in range(nodes):
        limit = {"name": DRIVER, "nodeID": f"n{number}", "allocatable": {"count": VOLUMES_PER_NODE}}
        yield _made("storage.k8s.io/v1", "CSINode", f"n{number}", {"spec": {"drivers": [limit]}})
    modes, size = ["ReadWriteOnce"], {"storage": "1Gi"}
    for number in range(pods):
        name = f"data-{number}"
        csi = {"driver": DRIVER, "volumeHandle": name}
        claim_ref = {"namespace": "default", "name": name}
        spec = {"accessModes": modes, "capacity": size, "csi": csi, "claimRef": claim_ref}
        yield _made("v1", "PersistentVolume", name, {"spec": spec, "status": {"phase": "Bound"}})
        wish = {"accessModes": modes, "resources": {"requests": size}, "volumeName": name}
        bound = {"pv.kubernetes.io/bind-completed": "yes"}
        content = {"spec": wish, "status": {"phase": "Bound"}}
        yield _made("v1", "PersistentVolumeClaim", name, content, namespace="default", annotations=bound)


def devices(nodes: int, pods: int) -> Iterator[Any]:
    """Yield devices on every node, a class that selects them, and a claim for each pod."""
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].model == "a"'}}
    yield _made("resource.k8s.io/v1", "DeviceClass", GPU, {"spec": {"selectors": [selector]}})
    offered = [{"name": f"d{each}", "attributes": {"model": {"string": "a"}}} for each in range(DEVICES_PER_NODE)]
    for number in range(nodes):
        pool = {"name": f"n{number}", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": f"n{number}", "pool": pool, "devices": offered}
        yield _made("resource.k8s.io/v1", "ResourceSlice", f"n{number}", {"spec": spec})
    request = {"name": "one", "exactly": {"deviceClassName": GPU}}
    for number in range(pods):
        wish = {"spec": {"devices": {"requests": [request]}}}
        name = f"gpu-{number}"
        yield _made("resource.k8s.io/v1", "ResourceClaim", name, wish, namespace="default", uid=name)


def _made(version: str, kind: str, name: str, content: Object, **metadata: Any) -> Any:
    return decode_object({"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, **content})

"""Claims, classes, slices and pods that need them, written as briefly as the rules about them."""

from __future__ import annotations

from typing import Any

from stowplan.model import decode
from stowplan.model.device_pool import ResourceSlice
from stowplan.model.dra import DeviceClass, ResourceClaim
from stowplan.model.pod import Pod

DRIVER = "gpu.example.com"


def device_class(
    name: str = "gpu", *expressions: str, serves: str | None = None, created: str | None = None
) -> DeviceClass:
    """Make a class of the devices that all these expressions in CEL are true of."""
    metadata = {"name": name} | ({"creationTimestamp": created} if created else {})
    selectors: dict[str, Any] = {"selectors": [{"cel": {"expression": one}} for one in expressions]}
    spec = selectors | ({"extendedResourceName": serves} if serves else {})
    return decode.convert(DeviceClass, {"metadata": metadata, "spec": spec})


def slice_of(node: str, *devices: str, **device: Any) -> ResourceSlice:
    """Make the slice of a node, with devices that are alike but for their names."""
    spec = {
        "driver": DRIVER,
        "nodeName": node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": name, **device} for name in devices],
    }
    return decode.convert(ResourceSlice, {"metadata": {"name": f"{node}-slice"}, "spec": spec})


def exactly(count: int = 1, class_name: str = "gpu", name: str = "r") -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": class_name, "count": count}}


def first_of(*counts: int, name: str = "r") -> dict[str, Any]:
    """Make a request that takes the first of some numbers of devices that can be had."""
    alternatives = [{"name": f"a{count}", "deviceClassName": "gpu", "count": count} for count in counts]
    return {"name": name, "firstAvailable": alternatives}


def given(node: str, *devices: str, **result: Any) -> dict[str, Any]:
    """Make what was given of the devices of a node, for that node only."""
    results = [{"request": "r", "driver": DRIVER, "pool": node, "device": name, **result} for name in devices]
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]}}


def claim(name: str = "claim", *requests: dict[str, Any], **content: Any) -> ResourceClaim:
    """Make a claim of requests; `allocation`, `reserved` (uids), `devices` and fields of its metadata are optional."""
    status: dict[str, Any] = {}
    if "allocation" in content:
        status["allocation"] = content.pop("allocation")
    if "reserved" in content:
        uids = content.pop("reserved")
        status["reservedFor"] = [{"resource": "pods", "name": uid, "uid": uid} for uid in uids]
    if "devices" in content:
        status["devices"] = content.pop("devices")
    metadata = {"name": name, "namespace": "default", "uid": name, **content}
    spec = {"devices": {"requests": list(requests or (exactly(),))}}
    return decode.convert(ResourceClaim, {"metadata": metadata, "spec": spec, "status": status})


def user_of(*claims: str, name: str = "pod", requests: dict[str, str] | None = None) -> Pod:
    """Make a pod that names claims, with one container that requests something."""
    container = {"name": "c", "resources": {"requests": requests or {}}}
    spec = {
        "containers": [container],
        "resourceClaims": [{"name": f"c{index}", "resourceClaimName": one} for index, one in enumerate(claims)],
    }
    return decode.convert(Pod, {"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": spec})

"""Claims, volumes, classes and what CSI says about nodes, each in one line. And pods that use them."""

from __future__ import annotations

from typing import Any

from stowplan.model import decode
from stowplan.model.pod import Pod
from stowplan.model.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

EBS, PD = "ebs.csi.aws.com", "pd.csi.storage.gke.io"


def pod(name: str, *sources: Any, uid: str = "") -> Pod:
    """Make a pod of volumes: the names of claims, or sources as in a manifest."""
    volumes = [{"name": f"v{number}", **_source(source)} for number, source in enumerate(sources)]
    metadata = {"name": name, "namespace": "default", "uid": uid or f"uid-{name}"}
    return decode.convert(Pod, {"metadata": metadata, "spec": {"volumes": volumes}})


def _source(source: Any) -> dict[str, Any]:
    return {"persistentVolumeClaim": {"claimName": source}} if isinstance(source, str) else source


EPHEMERAL: dict[str, Any] = {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}


def claim(name: str, volume: str = "", storage_class: str | None = None, owner: str = "") -> PersistentVolumeClaim:
    """Make a claim: bound to a volume, or of a class; made for the pod with the uid `owner`."""
    owners = [{"apiVersion": "v1", "kind": "Pod", "uid": owner, "controller": True}] if owner else []
    metadata = {"name": name, "namespace": "default", "ownerReferences": owners}
    spec = {"volumeName": volume, "storageClassName": storage_class}
    return decode.convert(PersistentVolumeClaim, {"metadata": metadata, "spec": spec})


def volume(
    name: str, driver: str = EBS, handle: str = "", labels: dict[str, str] | None = None, **source: Any
) -> PersistentVolume:
    """Make a volume of a driver, its handle like its name if not given; or of another source."""
    csi = {} if source else {"csi": {"driver": driver, "volumeHandle": handle or f"handle-{name}"}}
    metadata = {"name": name, "labels": labels or {}}
    return decode.convert(PersistentVolume, {"metadata": metadata, "spec": {**csi, **source}})


def bound(*names: str, driver: str = EBS) -> list[PersistentVolumeClaim | PersistentVolume]:
    """Make claims that are bound to volumes of a driver, each to its own."""
    return [each for name in names for each in (claim(name, f"of-{name}"), volume(f"of-{name}", driver))]


def storage_class(name: str, provisioner: str = EBS, mode: str = "Immediate") -> StorageClass:
    content = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode}
    return decode.convert(StorageClass, content)


def csi_node(name: str, annotations: dict[str, str] | None = None, /, **limits: int | None) -> CSINode:
    """Make a CSINode with drivers and their limits: `ebs=2`, `pd=None` for no limit."""
    drivers = [
        {"name": {"ebs": EBS, "pd": PD}.get(driver, driver), "allocatable": {} if limit is None else {"count": limit}}
        for driver, limit in limits.items()
    ]
    metadata = {"name": name, "annotations": annotations or {}}
    return decode.convert(CSINode, {"metadata": metadata, "spec": {"drivers": drivers}})


def csi_driver(name: str = EBS, *, must_be_there: bool = False) -> CSIDriver:
    spec = {"preventPodSchedulingIfMissing": must_be_there}
    return decode.convert(CSIDriver, {"metadata": {"name": name}, "spec": spec})


def attachment(node: str, volume_name: str | None, attacher: str = EBS, name: str = "") -> VolumeAttachment:
    spec = {"attacher": attacher, "nodeName": node, "source": {"persistentVolumeName": volume_name}}
    metadata = {"name": name or f"{node}-{volume_name}"}
    return decode.convert(VolumeAttachment, {"metadata": metadata, "spec": spec})

"""What a kubelet waits for before it starts a pod: volumes that are bound, devices that are reserved for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stowplan.embedded.following import resources
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api

#: How often a kubelet looks again.
LOOK_AGAIN_SECONDS: Final = 0.3


@dataclass(frozen=True, slots=True)
class Need:
    """Something that is not there yet, as the event of a kubelet tells it."""

    reason: str
    message: str


def missing(api: Api, pod: Object) -> Need | None:
    """Find what a pod that is bound to a node cannot be started without."""
    spec = pod["spec"]
    if not spec.get("volumes") and not spec.get("resourceClaims"):
        return None
    volume = _missing_volume(api, pod)
    if volume:
        return Need("FailedMount", f"Unable to attach or mount volumes: {volume}")
    devices = _missing_devices(api, pod)
    return Need("FailedPrepareDynamicResources", f"Failed to prepare dynamic resources: {devices}") if devices else None


def _missing_volume(api: Api, pod: Object) -> str:
    meta, resource = pod["metadata"], resources.find(api, "v1", "PersistentVolumeClaim")
    for volume in reading.entries(pod, "spec", "volumes"):
        name = reading.text(volume, "persistentVolumeClaim", "claimName")
        if "ephemeral" in volume:
            name = f"{meta['name']}-{volume['name']}"
        if not name:
            continue
        stored = api.store.get(resource, meta["namespace"], name)
        if stored is None:
            return f'persistentvolumeclaim "{name}" not found'
        if reading.text(stored.object, "status", "phase") != "Bound":
            return f'persistentvolumeclaim "{name}" is not bound'
    return ""


def _missing_devices(api: Api, pod: Object) -> str:
    made = {
        each.get("name"): reading.text(each, "resourceClaimName")
        for each in reading.entries(pod, "status", "resourceClaimStatuses")
    }
    for entry in reading.entries(pod, "spec", "resourceClaims"):
        name = reading.text(entry, "resourceClaimName") or made.get(entry.get("name"))
        if name is None:
            return f'resource claim of entry "{entry.get("name")}" has not been made'
        if name and not _is_reserved(api, pod, name):
            return f'resourceclaim "{name}" is not allocated and reserved for the pod'
    return ""


def _is_reserved(api: Api, pod: Object, name: str) -> bool:
    meta, resource = pod["metadata"], resources.find(api, "resource.k8s.io/v1", "ResourceClaim")
    stored = api.store.get(resource, meta["namespace"], name)
    claim = stored.object if stored is not None else {}
    consumers = reading.entries(claim, "status", "reservedFor")
    is_allocated = bool(reading.mapping(claim, "status", "allocation"))
    return is_allocated and any(each.get("uid") == meta["uid"] for each in consumers)

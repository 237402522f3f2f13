"""Begins a cluster as a copy of another one: a dump in YAML, or a live cluster that a kubeconfig leads to.

Copied is what decides where pods go and what makes pods. Secrets, config maps, leases and events stay where they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from stowplan.app import clients
from stowplan.app.release import USER_AGENT
from stowplan.kube import credentials
from stowplan.kube.client import ApiRequest, Client, ClientSettings
from stowplan.kube.credentials import CredentialsError
from stowplan.kube.errors import ApiError, RequestError
from stowplan.local import manifest_files
from stowplan.local.manifest_files import Manifest, ManifestError
from stowplan.model import json_values

_PAGE: Final = 500
_SILENCE_SECONDS: Final = 60.0
#: Collections in the order in which they are copied, each with the kind of its objects.
_COPIED: Final = (
    ("/api/v1/namespaces", "Namespace"),
    ("/apis/scheduling.k8s.io/v1/priorityclasses", "PriorityClass"),
    ("/apis/node.k8s.io/v1/runtimeclasses", "RuntimeClass"),
    ("/apis/storage.k8s.io/v1/storageclasses", "StorageClass"),
    ("/apis/storage.k8s.io/v1/csidrivers", "CSIDriver"),
    ("/apis/resource.k8s.io/v1/deviceclasses", "DeviceClass"),
    ("/api/v1/nodes", "Node"),
    ("/apis/storage.k8s.io/v1/csinodes", "CSINode"),
    ("/apis/storage.k8s.io/v1/csistoragecapacities", "CSIStorageCapacity"),
    ("/apis/resource.k8s.io/v1/resourceslices", "ResourceSlice"),
    ("/apis/storage.k8s.io/v1/volumeattachments", "VolumeAttachment"),
    ("/api/v1/persistentvolumes", "PersistentVolume"),
    ("/api/v1/persistentvolumeclaims", "PersistentVolumeClaim"),
    ("/apis/resource.k8s.io/v1/resourceclaims", "ResourceClaim"),
    ("/apis/resource.k8s.io/v1/resourceclaimtemplates", "ResourceClaimTemplate"),
    ("/api/v1/serviceaccounts", "ServiceAccount"),
    ("/api/v1/limitranges", "LimitRange"),
    ("/api/v1/resourcequotas", "ResourceQuota"),
    ("/api/v1/services", "Service"),
    ("/api/v1/replicationcontrollers", "ReplicationController"),
    ("/apis/apps/v1/deployments", "Deployment"),
    ("/apis/apps/v1/replicasets", "ReplicaSet"),
    ("/apis/apps/v1/controllerrevisions", "ControllerRevision"),
    ("/apis/apps/v1/statefulsets", "StatefulSet"),
    ("/apis/apps/v1/daemonsets", "DaemonSet"),
    ("/apis/batch/v1/cronjobs", "CronJob"),
    ("/apis/batch/v1/jobs", "Job"),
    ("/apis/policy/v1/poddisruptionbudgets", "PodDisruptionBudget"),
    ("/api/v1/pods", "Pod"),
)


async def read(path: str, tell: Callable[[str], None]) -> list[Manifest]:
    """Read the objects of another cluster; `tell` hears what is left out. Raise ManifestError if there is no way."""
    text = manifest_files.read_text(path)
    if _is_kubeconfig(text):
        return await _from_cluster(path, tell)
    found = manifest_files.read([path])
    left = sorted({one.kind for one in found if one.kind in ("Secret", "ConfigMap", "Lease", "Event")})
    if left:
        tell(f"{path}: {', '.join(left)} objects are not copied")
    return [one for one in found if one.kind not in left]


def _is_kubeconfig(text: str) -> bool:
    # A dump may be large, and a kubeconfig is not: looked at only as far as needed.
    lines = {line.rstrip() for line in text[:100_000].splitlines()}
    return "kind: Config" in lines and any(line.startswith("clusters:") for line in lines)


async def _from_cluster(path: str, tell: Callable[[str], None]) -> list[Manifest]:
    try:
        found = await credentials.load(path, os.environ, clients.now)
    except CredentialsError as error:
        raise ManifestError(str(error)) from None
    client = Client(found, ClientSettings(USER_AGENT, qps=-1))
    try:
        listed: list[Manifest] = []
        for collection, kind in _COPIED:
            listed += await _list(client, collection, kind, tell)
        return listed
    except RequestError as error:
        raise ManifestError(f"{path}: {error.describe()}") from None
    finally:
        await client.close()


async def _list(client: Client, collection: str, kind: str, tell: Callable[[str], None]) -> list[Manifest]:
    version = collection.removeprefix("/apis/").removeprefix("/api/").rpartition("/")[0]
    found: list[Manifest] = []
    parameters = {"limit": str(_PAGE)}
    while True:
        request = ApiRequest("GET", collection, parameters, silence_seconds=_SILENCE_SECONDS)
        try:
            page = json_values.read_object(await client.send(request))
        except ApiError as error:
            if not error.is_unavailable:
                raise
            tell(f"{collection} is left out: {error.message}")
            return found
        items = page.get("items") or ()
        found += [Manifest(collection, {**item, "apiVersion": version, "kind": kind}) for item in items]
        parameters = {"limit": str(_PAGE), "continue": page["metadata"].get("continue", "")}
        if not parameters["continue"]:
            return found

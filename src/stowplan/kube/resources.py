"""Where each kind of object is served, and how its objects are read.

The table holds what kube-scheduler lists and watches; `dynamic` takes any other `resource.version.group` that a plugin
asks for, whose objects stay the dicts they came as.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import msgspec

from stowplan.model import decode, json_values
from stowplan.model.device_pool import BetaDeviceTaintRule, DeviceTaintRule, ResourceSlice
from stowplan.model.dra import DeviceClass, ResourceClaim
from stowplan.model.json_values import MalformedObject
from stowplan.model.kinds import Namespace, PodDisruptionBudget, ReplicaSet, ReplicationController, Service, StatefulSet
from stowplan.model.meta import ApiObject, ObjectMeta
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.pod_group import COMMUNITY_GROUP, CommunityPodGroup, CompositePodGroup, PodGroup
from stowplan.model.received import with_text
from stowplan.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)


class DynamicObject(msgspec.Struct, frozen=True):
    """An object of a kind that we have no struct for: its metadata, and all of it as a dict."""

    api_version: str
    kind: str
    metadata: ObjectMeta
    content: Mapping[str, Any]


class ApiResource(msgspec.Struct, frozen=True):
    """A collection of an API server: `prefix` is its group and version, `plural` its name there."""

    kind: str
    prefix: str
    plural: str
    model: Any = None
    field_selector: str = ""
    #: Whether nothing can be decided without it.
    is_essential: bool = False
    #: Which objects keep the text that they came as; None for none, which costs nothing.
    keeps_text: Callable[[Any], bool] | None = None
    #: The feature gate that an API server needs to serve it.
    gate: str = ""

    @property
    def name(self) -> str:
        """`pods` or `statefulsets.apps`, as kubectl writes it."""
        group = self.prefix.split("/")[2] if self.prefix.startswith("/apis/") else ""
        return f"{self.plural}.{group}" if group else self.plural

    @property
    def path(self) -> str:
        """The objects of all namespaces."""
        return f"{self.prefix}/{self.plural}"

    def path_in(self, namespace: str) -> str:
        """The objects of one namespace."""
        return f"{self.prefix}/namespaces/{_quoted(namespace)}/{self.plural}"

    def path_of(self, namespace: str, name: str) -> str:
        """One object; namespace "" for those that have none."""
        within = f"namespaces/{_quoted(namespace)}/" if namespace else ""
        return f"{self.prefix}/{within}{self.plural}/{quote(name, safe='')}"

    @property
    def remedy(self) -> str:
        """What to do where it is not served."""
        version = self.prefix.removeprefix("/apis/")
        group = version.partition("/")[0]
        if group == COMMUNITY_GROUP or not group.endswith(".k8s.io"):
            return "install what serves it, and it will be picked up"
        gate = f"--feature-gates={self.gate}=true " if self.gate else ""
        serving = f"start the API server with {gate}--runtime-config={version}=true, and it will be picked up"
        return f"{serving}; if it is of another release, start the scheduler without --emulated-version"

    def decode(self, data: bytes) -> Any:
        """Read one object; raise MalformedObject if it cannot be read."""
        if self.model is None:
            return _decode_dynamic(self.kind, data)
        read = decode.decode_as(self.model, data)
        return read if self.keeps_text is None or not self.keeps_text(read) else with_text(read, data)


@lru_cache
def _quoted(namespace: str) -> str:
    return quote(namespace, safe="")


def _decode_dynamic(kind: str, data: bytes) -> DynamicObject:
    try:
        content = json_values.read_object(data)
        heading = msgspec.convert(content, ApiObject)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as fault:
        raise MalformedObject(f"{kind}: {fault}; check what wrote it") from None
    return DynamicObject(heading.api_version, heading.kind or kind, heading.metadata, content)


def dynamic(text: str) -> ApiResource:
    """Find the resource a `resource.version.group` names: `foos.v1.example.com`, `pods.v1.` for the core group."""
    plural, _, rest = text.partition(".")
    version, dot, group = rest.partition(".")
    if not (plural and version and dot):
        raise ValueError(f'resource "{text}": expected resource.version.group, such as foos.v1.example.com')
    prefix = f"/apis/{group}/{version}" if group else f"/api/{version}"
    known = next((one for one in RESOURCES.values() if (one.prefix, one.plural) == (prefix, plural)), None)
    return known if known is not None else ApiResource(text, prefix, plural)


_CORE, _APPS, _POLICY = "/api/v1", "/apis/apps/v1", "/apis/policy/v1"
_STORAGE, _RESOURCE = "/apis/storage.k8s.io/v1", "/apis/resource.k8s.io/v1"

PODS = ApiResource("Pod", _CORE, "pods", Pod, "status.phase!=Succeeded,status.phase!=Failed", is_essential=True)

#: Where 1.36 has the rules that taint devices.
BETA_TAINT_RULES = ApiResource(
    "DeviceTaintRule",
    "/apis/resource.k8s.io/v1beta2",
    "devicetaintrules",
    BetaDeviceTaintRule,
    gate="DRADeviceTaintRules",
)
#: Where 1.36 has pod groups.
ALPHA_POD_GROUPS = ApiResource(
    "PodGroup", "/apis/scheduling.k8s.io/v1alpha2", "podgroups", PodGroup, gate="GenericWorkload"
)

#: Another API than Kubernetes' own has pod groups, too; their kind is the same.
COMMUNITY_POD_GROUP = "CommunityPodGroup"

RESOURCES: Mapping[str, ApiResource] = MappingProxyType(
    {COMMUNITY_POD_GROUP: ApiResource("PodGroup", f"/apis/{COMMUNITY_GROUP}/v1alpha1", "podgroups", CommunityPodGroup)}
    | {
        resource.kind: resource
        for resource in (
            PODS,
            ApiResource("Node", _CORE, "nodes", Node, is_essential=True),
            ApiResource("Namespace", _CORE, "namespaces", Namespace),
            ApiResource("Service", _CORE, "services", Service),
            ApiResource("ReplicationController", _CORE, "replicationcontrollers", ReplicationController),
            ApiResource("ReplicaSet", _APPS, "replicasets", ReplicaSet),
            ApiResource("StatefulSet", _APPS, "statefulsets", StatefulSet),
            ApiResource("PodDisruptionBudget", _POLICY, "poddisruptionbudgets", PodDisruptionBudget),
            ApiResource("PersistentVolume", _CORE, "persistentvolumes", PersistentVolume),
            ApiResource("PersistentVolumeClaim", _CORE, "persistentvolumeclaims", PersistentVolumeClaim),
            ApiResource("StorageClass", _STORAGE, "storageclasses", StorageClass),
            ApiResource("CSINode", _STORAGE, "csinodes", CSINode),
            ApiResource("CSIDriver", _STORAGE, "csidrivers", CSIDriver),
            ApiResource("CSIStorageCapacity", _STORAGE, "csistoragecapacities", CSIStorageCapacity),
            ApiResource("VolumeAttachment", _STORAGE, "volumeattachments", VolumeAttachment),
            ApiResource("ResourceClaim", _RESOURCE, "resourceclaims", ResourceClaim),
            ApiResource("ResourceSlice", _RESOURCE, "resourceslices", ResourceSlice),
            ApiResource("DeviceClass", _RESOURCE, "deviceclasses", DeviceClass),
            ApiResource("DeviceTaintRule", _RESOURCE, "devicetaintrules", DeviceTaintRule),
            ApiResource("PodGroup", "/apis/scheduling.k8s.io/v1beta1", "podgroups", PodGroup, gate="GenericWorkload"),
            ApiResource(
                "CompositePodGroup",
                "/apis/scheduling.k8s.io/v1alpha3",
                "compositepodgroups",
                CompositePodGroup,
                gate="CompositePodGroup",
            ),
        )
    }
)

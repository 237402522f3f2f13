"""Which resources the API serves: the built-in ones, and the custom ones that come and go while it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypedDict, Unpack

from stowplan.embedded.objects.resource import ALL_VERBS, Resource


class Catalogue:
    """The resources that are served now, in the order in which clients prefer their groups."""

    def __init__(self) -> None:
        self._by_path: dict[tuple[str, str, str], Resource] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        for resource in BUILT_IN:
            self.add(resource)

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """Find the resource that a path names; the core group is ""."""
        return self._by_path.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        """Find the resource of an object by what the object says of itself."""
        return self._by_kind.get((api_version, kind))

    def all(self) -> tuple[Resource, ...]:
        return tuple(self._by_path.values())

    def custom(self) -> tuple[Resource, ...]:
        return tuple(resource for resource in self._by_path.values() if resource.is_custom)

    def add(self, resource: Resource) -> None:
        """Serve a resource from now on, in place of the one with the same path if there is one."""
        before = self.find(resource.group, resource.version, resource.plural)
        if before is not None:
            self._by_kind.pop((before.api_version, before.kind), None)
        self._by_path[resource.group, resource.version, resource.plural] = resource
        self._by_kind[resource.api_version, resource.kind] = resource

    def remove(self, resource: Resource) -> None:
        """Serve a resource no longer; removing one that is not served changes nothing."""
        served = self._by_path.pop((resource.group, resource.version, resource.plural), None)
        if served is not None:
            self._by_kind.pop((served.api_version, served.kind), None)


def unserved_subresource(resource: Resource, name: str) -> str | None:
    """Say why a subresource that a real cluster has is not served here, or nothing if there is no such subresource."""
    if resource.is_custom:
        return None
    return _UNSERVED.get((resource.qualified, name))


_NO_CONTAINERS: Final = "pods do not run containers in this cluster"
_NO_PROXY: Final = "this cluster has no network to pass requests on to"

_UNSERVED: Final = {
    ("pods", "log"): f"there are no logs: {_NO_CONTAINERS}",
    ("pods", "exec"): f"there is nothing to execute commands in: {_NO_CONTAINERS}",
    ("pods", "attach"): f"there is nothing to attach to: {_NO_CONTAINERS}",
    ("pods", "portforward"): f"there are no ports to forward to: {_NO_CONTAINERS}",
    ("pods", "ephemeralcontainers"): f"containers cannot be added to debug a pod: {_NO_CONTAINERS}",
    ("pods", "proxy"): _NO_PROXY,
    ("services", "proxy"): _NO_PROXY,
    ("nodes", "proxy"): _NO_PROXY,
}


class _Details(TypedDict, total=False):
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    verbs: tuple[str, ...]
    subresources: tuple[str, ...]
    fields: tuple[str, ...]


def _namespaced(kind: str, plural: str, **details: Unpack[_Details]) -> Resource:
    return Resource("", "v1", kind, plural, kind.lower(), **details)


def _cluster(kind: str, plural: str, **details: Unpack[_Details]) -> Resource:
    return Resource("", "v1", kind, plural, kind.lower(), is_namespaced=False, **details)


def _of(group: str, version: str, *resources: Resource) -> tuple[Resource, ...]:
    return tuple(replace(resource, group=group, version=version) for resource in resources)


def _event_fields(about: str, reporter: str) -> tuple[str, ...]:
    """Name what events are selected by; both forms do so in one order, so that they can share what is stored."""
    parts = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    return (*(f"{about}.{part}" for part in parts), "reason", reporter, "type")


_STATUS: Final = ("status",)
_STATUS_AND_SCALE: Final = ("scale", "status")
_ALL: Final = ("all",)
_API_EXTENSIONS: Final = ("api-extensions",)
_CREATED_ONLY: Final = ("create",)

_POD_FIELDS: Final = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
)

_CORE: Final = (
    _namespaced("Binding", "bindings", verbs=_CREATED_ONLY),
    _namespaced("ConfigMap", "configmaps", short_names=("cm",)),
    _namespaced("Endpoints", "endpoints", short_names=("ep",)),
    _namespaced(
        "Event",
        "events",
        short_names=("ev",),
        fields=(*_event_fields("involvedObject", "reportingComponent"), "source"),
    ),
    _namespaced("LimitRange", "limitranges", short_names=("limits",)),
    _cluster(
        "Namespace",
        "namespaces",
        short_names=("ns",),
        verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
        subresources=("finalize", "status"),
        fields=("status.phase",),
    ),
    _cluster("Node", "nodes", short_names=("no",), fields=("spec.unschedulable",), subresources=_STATUS),
    _namespaced("PersistentVolumeClaim", "persistentvolumeclaims", short_names=("pvc",), subresources=_STATUS),
    _cluster("PersistentVolume", "persistentvolumes", short_names=("pv",), subresources=_STATUS),
    _namespaced(
        "Pod",
        "pods",
        short_names=("po",),
        subresources=("binding", "eviction", "resize", "status"),
        fields=_POD_FIELDS,
        categories=_ALL,
    ),
    _namespaced("PodTemplate", "podtemplates"),
    _namespaced(
        "ReplicationController",
        "replicationcontrollers",
        short_names=("rc",),
        fields=("status.replicas",),
        subresources=_STATUS_AND_SCALE,
        categories=_ALL,
    ),
    _namespaced("ResourceQuota", "resourcequotas", short_names=("quota",), subresources=_STATUS),
    _namespaced("Secret", "secrets", fields=("type",)),
    _namespaced("ServiceAccount", "serviceaccounts", short_names=("sa",), subresources=("token",)),
    _namespaced(
        "Service",
        "services",
        short_names=("svc",),
        fields=("spec.clusterIP", "spec.type"),
        subresources=_STATUS,
        categories=_ALL,
    ),
)

_WORKLOADS: Final = (
    *_of(
        "apps",
        "v1",
        _namespaced("ControllerRevision", "controllerrevisions"),
        _namespaced("DaemonSet", "daemonsets", short_names=("ds",), subresources=_STATUS, categories=_ALL),
        _namespaced(
            "Deployment", "deployments", short_names=("deploy",), subresources=_STATUS_AND_SCALE, categories=_ALL
        ),
        _namespaced(
            "ReplicaSet",
            "replicasets",
            short_names=("rs",),
            fields=("status.replicas",),
            subresources=_STATUS_AND_SCALE,
            categories=_ALL,
        ),
        _namespaced(
            "StatefulSet", "statefulsets", short_names=("sts",), subresources=_STATUS_AND_SCALE, categories=_ALL
        ),
    ),
    *_of(
        "events.k8s.io",
        "v1",
        _namespaced("Event", "events", short_names=("ev",), fields=_event_fields("regarding", "reportingController")),
    ),
)

_ACCESS: Final = (
    *_of(
        "authentication.k8s.io",
        "v1",
        _cluster("SelfSubjectReview", "selfsubjectreviews", verbs=_CREATED_ONLY),
        _cluster("TokenReview", "tokenreviews", verbs=_CREATED_ONLY),
    ),
    *_of(
        "authorization.k8s.io",
        "v1",
        _namespaced("LocalSubjectAccessReview", "localsubjectaccessreviews", verbs=_CREATED_ONLY),
        _cluster("SelfSubjectAccessReview", "selfsubjectaccessreviews", verbs=_CREATED_ONLY),
        _cluster("SelfSubjectRulesReview", "selfsubjectrulesreviews", verbs=_CREATED_ONLY),
        _cluster("SubjectAccessReview", "subjectaccessreviews", verbs=_CREATED_ONLY),
    ),
)

_AUTOSCALER: Final = _namespaced(
    "HorizontalPodAutoscaler", "horizontalpodautoscalers", short_names=("hpa",), subresources=_STATUS, categories=_ALL
)

_BATCH_AND_NETWORK: Final = (
    *_of("autoscaling", "v2", _AUTOSCALER),
    *_of("autoscaling", "v1", _AUTOSCALER),
    *_of(
        "batch",
        "v1",
        _namespaced("CronJob", "cronjobs", short_names=("cj",), subresources=_STATUS, categories=_ALL),
        _namespaced("Job", "jobs", fields=("status.successful",), subresources=_STATUS, categories=_ALL),
    ),
    *_of(
        "networking.k8s.io",
        "v1",
        _cluster("IngressClass", "ingressclasses"),
        _namespaced("Ingress", "ingresses", short_names=("ing",), subresources=_STATUS),
        _cluster("IPAddress", "ipaddresses", short_names=("ip",)),
        _namespaced("NetworkPolicy", "networkpolicies", short_names=("netpol",)),
        _cluster("ServiceCIDR", "servicecidrs", subresources=_STATUS),
    ),
    *_of(
        "policy",
        "v1",
        _namespaced("PodDisruptionBudget", "poddisruptionbudgets", short_names=("pdb",), subresources=_STATUS),
    ),
    *_of(
        "rbac.authorization.k8s.io",
        "v1",
        _cluster("ClusterRoleBinding", "clusterrolebindings"),
        _cluster("ClusterRole", "clusterroles"),
        _namespaced("RoleBinding", "rolebindings"),
        _namespaced("Role", "roles"),
    ),
)

_STORAGE_AND_SCHEDULING: Final = (
    *_of(
        "storage.k8s.io",
        "v1",
        _cluster("CSIDriver", "csidrivers"),
        _cluster("CSINode", "csinodes"),
        _namespaced("CSIStorageCapacity", "csistoragecapacities"),
        _cluster("StorageClass", "storageclasses", short_names=("sc",)),
        _cluster("VolumeAttachment", "volumeattachments", subresources=_STATUS),
        _cluster("VolumeAttributesClass", "volumeattributesclasses", short_names=("vac",)),
    ),
    *_of(
        "apiextensions.k8s.io",
        "v1",
        _cluster(
            "CustomResourceDefinition",
            "customresourcedefinitions",
            short_names=("crd", "crds"),
            categories=_API_EXTENSIONS,
            subresources=_STATUS,
        ),
    ),
    *_of("scheduling.k8s.io", "v1", _cluster("PriorityClass", "priorityclasses", short_names=("pc",))),
    *_of(
        "scheduling.k8s.io",
        "v1alpha2",
        _namespaced("PodGroup", "podgroups", subresources=_STATUS),
        _namespaced("Workload", "workloads"),
    ),
    *_of("coordination.k8s.io", "v1", _namespaced("Lease", "leases")),
    *_of("node.k8s.io", "v1", _cluster("RuntimeClass", "runtimeclasses")),
    *_of("discovery.k8s.io", "v1", _namespaced("EndpointSlice", "endpointslices")),
    *_of(
        "resource.k8s.io",
        "v1",
        _cluster("DeviceClass", "deviceclasses"),
        _namespaced("ResourceClaim", "resourceclaims", subresources=_STATUS),
        _namespaced("ResourceClaimTemplate", "resourceclaimtemplates"),
        _cluster("ResourceSlice", "resourceslices", fields=("spec.nodeName", "spec.driver")),
    ),
    *_of("resource.k8s.io", "v1beta2", _cluster("DeviceTaintRule", "devicetaintrules", subresources=_STATUS)),
)

#: What tells an API server how to treat requests; here it is only kept.
_SERVER_SETTINGS: Final = (
    *_of(
        "admissionregistration.k8s.io",
        "v1",
        _cluster("MutatingAdmissionPolicy", "mutatingadmissionpolicies", categories=_API_EXTENSIONS),
        _cluster("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", categories=_API_EXTENSIONS),
        _cluster("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", categories=_API_EXTENSIONS),
        _cluster(
            "ValidatingAdmissionPolicy",
            "validatingadmissionpolicies",
            categories=_API_EXTENSIONS,
            subresources=_STATUS,
        ),
        _cluster("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", categories=_API_EXTENSIONS),
        _cluster("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", categories=_API_EXTENSIONS),
    ),
    *_of(
        "apiregistration.k8s.io",
        "v1",
        _cluster("APIService", "apiservices", categories=_API_EXTENSIONS, subresources=_STATUS),
    ),
    *_of(
        "certificates.k8s.io",
        "v1",
        _cluster(
            "CertificateSigningRequest",
            "certificatesigningrequests",
            short_names=("csr",),
            subresources=("approval", "status"),
            fields=("spec.signerName",),
        ),
    ),
    *_of(
        "flowcontrol.apiserver.k8s.io",
        "v1",
        _cluster("FlowSchema", "flowschemas", subresources=_STATUS),
        _cluster("PriorityLevelConfiguration", "prioritylevelconfigurations", subresources=_STATUS),
    ),
)

#: Core first; where two groups have a name in common, clients that give no group mean the earlier one.
BUILT_IN: Final = (
    *_CORE,
    *_WORKLOADS,
    *_ACCESS,
    *_BATCH_AND_NETWORK,
    *_STORAGE_AND_SCHEDULING,
    *_SERVER_SETTINGS,
)

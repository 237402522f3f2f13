"""Which resources the API serves: the built-in ones, and the custom ones that come and go while it runs.

The built-in ones are in a table at the end, written as `kubectl api-resources` prints it. A release serves some of
them, and some only if a feature gate is on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from stowplan.embedded.objects.releases import RELEASE, VERSIONS
from stowplan.embedded.objects.resource import ALL_VERBS, Resource


class Catalogue:
    """The resources that are served now, in the order in which clients prefer their groups."""

    def __init__(self, release: str = RELEASE, gates: frozenset[str] = frozenset()) -> None:
        self.release = release
        #: The feature gates that are on, by name.
        self.gates = gates
        self._by_path: dict[tuple[str, str, str], Resource] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        for row in _TABLE:
            if row.is_of(release) and row.gate in ("", *gates):
                self.add(_released(row.resource, release))

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """Find the resource that a path names; the core group is ""."""
        return self._by_path.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        """Find the resource of an object by what the object says of itself."""
        return self._by_kind.get((api_version, kind))

    def gate_of(self, api_version: str, kind: str) -> str:
        """The feature gate that a kind of the release is only served with, if that gate is off; else nothing."""
        for row in _TABLE:
            if (row.resource.api_version, row.resource.kind) == (api_version, kind) and row.is_of(self.release):
                return "" if row.gate in self.gates else row.gate
        return ""

    def all(self) -> tuple[Resource, ...]:
        return tuple(self._by_path.values())

    def built_in(self) -> tuple[Resource, ...]:
        return tuple(resource for resource in self._by_path.values() if not resource.is_custom)

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


@cache
def built_in(group: str, plural: str, version: str = "v1") -> Resource:
    """The built-in resource of that name, as the usual release has it."""
    for resource in BUILT_IN:
        if (resource.group, resource.version, resource.plural) == (group, version, plural):
            return resource
    raise LookupError(f"{plural}.{group} is not in the catalogue of built-in resources")


@cache
def all_of(release: str) -> tuple[Resource, ...]:
    """The built-in resources of a release, whichever feature gates are on."""
    return tuple(_released(row.resource, release) for row in _TABLE if row.is_of(release))


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


@dataclass(frozen=True, slots=True)
class _Row:
    """A resource, and who serves it."""

    resource: Resource
    #: The first and the last release that serve it; "" if there is no such.
    since: str
    until: str
    #: The feature gate that it is only served with.
    gate: str

    def is_of(self, release: str) -> bool:
        number = _ORDER.index(release)
        return (not self.since or _ORDER.index(self.since) <= number) and (
            not self.until or number <= _ORDER.index(self.until)
        )


_ORDER: Final = tuple(VERSIONS)


def _released(resource: Resource, release: str) -> Resource:
    return resource if release == RELEASE else replace(resource, release=release)


def _read(table: str) -> Iterator[_Row]:
    """Read a table of resources: below each group and version a line for each.

    A line has the scope (N is namespaced, C is of the cluster), the kind, the name in paths, and what applies of: short
    names, the verbs that it has or is without if they are not all, its parts (subresources), the categories it is in,
    the releases since and until which it is served, and the feature gate that has to be on.
    """
    group = version = ""
    for line in table.strip().splitlines():
        if not line.startswith(" "):
            group, _, version = line.rpartition("/")
            continue
        scope, kind, plural, *details = line.split()
        said = {name: tuple(words.split(",")) for name, _, words in (each.partition("=") for each in details)}
        resource = Resource(
            group,
            version,
            kind,
            plural,
            kind.lower(),
            is_namespaced=scope == "N",
            short_names=said.get("short", ()),
            categories=said.get("in", ()),
            verbs=tuple(verb for verb in said.get("verbs", ALL_VERBS) if verb not in said.get("without", ())),
            subresources=said.get("parts", ()),
            fields=_FIELDS.get(f"{plural}.{group}".rstrip("."), ()),
        )
        yield _Row(resource, *(said.get(word, ("",))[0] for word in ("since", "until", "gate")))


def _event_fields(about: str, reporter: str) -> tuple[str, ...]:
    """Name what events are selected by; both forms do so in one order, so that they can share what is stored."""
    parts = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    return (*(f"{about}.{part}" for part in parts), "reason", reporter, "type")


#: What objects can be selected by beside their name and namespace.
_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "certificatesigningrequests.certificates.k8s.io": ("spec.signerName",),
    "events": (*_event_fields("involvedObject", "reportingComponent"), "source"),
    "events.events.k8s.io": _event_fields("regarding", "reportingController"),
    "jobs.batch": ("status.successful",),
    "namespaces": ("status.phase",),
    "nodes": ("spec.unschedulable",),
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    "replicasets.apps": ("status.replicas",),
    "replicationcontrollers": ("status.replicas",),
    "resourceslices.resource.k8s.io": ("spec.nodeName", "spec.driver"),
    "secrets": ("type",),
    "services": ("spec.clusterIP", "spec.type"),
}

#: Core first; where two groups have a name in common, clients that give no group mean the earlier one. Of the last
#: groups, which tell an API server how to treat requests, objects are only kept.
_TABLE: Final = tuple(
    _read("""
v1
  N Binding                          bindings verbs=create
  N ConfigMap                        configmaps short=cm
  N Endpoints                        endpoints short=ep
  N Event                            events short=ev
  N LimitRange                       limitranges short=limits
  C Namespace                        namespaces short=ns without=deletecollection parts=finalize,status
  C Node                             nodes short=no parts=status
  N PersistentVolumeClaim            persistentvolumeclaims short=pvc parts=status
  C PersistentVolume                 persistentvolumes short=pv parts=status
  N Pod                              pods short=po parts=binding,eviction,resize,status in=all
  N PodTemplate                      podtemplates
  N ReplicationController            replicationcontrollers short=rc parts=scale,status in=all
  N ResourceQuota                    resourcequotas short=quota parts=status
  N Secret                           secrets
  N ServiceAccount                   serviceaccounts short=sa parts=token
  N Service                          services short=svc parts=status in=all
apps/v1
  N ControllerRevision               controllerrevisions
  N DaemonSet                        daemonsets short=ds parts=status in=all
  N Deployment                       deployments short=deploy parts=scale,status in=all
  N ReplicaSet                       replicasets short=rs parts=scale,status in=all
  N StatefulSet                      statefulsets short=sts parts=scale,status in=all
events.k8s.io/v1
  N Event                            events short=ev
authentication.k8s.io/v1
  C SelfSubjectReview                selfsubjectreviews verbs=create
  C TokenReview                      tokenreviews verbs=create
authorization.k8s.io/v1
  N LocalSubjectAccessReview         localsubjectaccessreviews verbs=create
  C SelfSubjectAccessReview          selfsubjectaccessreviews verbs=create
  C SelfSubjectRulesReview           selfsubjectrulesreviews verbs=create
  C SubjectAccessReview              subjectaccessreviews verbs=create
autoscaling/v2
  N HorizontalPodAutoscaler          horizontalpodautoscalers short=hpa parts=status in=all
autoscaling/v1
  N HorizontalPodAutoscaler          horizontalpodautoscalers short=hpa parts=status in=all
batch/v1
  N CronJob                          cronjobs short=cj parts=status in=all
  N Job                              jobs parts=status in=all
networking.k8s.io/v1
  C IngressClass                     ingressclasses
  N Ingress                          ingresses short=ing parts=status
  C IPAddress                        ipaddresses short=ip
  N NetworkPolicy                    networkpolicies short=netpol
  C ServiceCIDR                      servicecidrs parts=status
policy/v1
  N PodDisruptionBudget              poddisruptionbudgets short=pdb parts=status
rbac.authorization.k8s.io/v1
  C ClusterRoleBinding               clusterrolebindings
  C ClusterRole                      clusterroles
  N RoleBinding                      rolebindings
  N Role                             roles
storage.k8s.io/v1
  C CSIDriver                        csidrivers
  C CSINode                          csinodes
  N CSIStorageCapacity               csistoragecapacities
  C StorageClass                     storageclasses short=sc
  C VolumeAttachment                 volumeattachments parts=status
  C VolumeAttributesClass            volumeattributesclasses short=vac
apiextensions.k8s.io/v1
  C CustomResourceDefinition         customresourcedefinitions short=crd,crds parts=status in=api-extensions
scheduling.k8s.io/v1
  C PriorityClass                    priorityclasses short=pc
scheduling.k8s.io/v1beta1
  N PodGroup                         podgroups parts=status since=1.37 gate=GenericWorkload
  N Workload                         workloads since=1.37 gate=GenericWorkload
scheduling.k8s.io/v1alpha3
  N CompositePodGroup                compositepodgroups parts=status since=1.37 gate=CompositePodGroup
  N PodGroup                         podgroups parts=status since=1.37 gate=GenericWorkload
  N Workload                         workloads since=1.37 gate=GenericWorkload
scheduling.k8s.io/v1alpha2
  N PodGroup                         podgroups parts=status until=1.36 gate=GenericWorkload
  N Workload                         workloads until=1.36 gate=GenericWorkload
coordination.k8s.io/v1
  N Lease                            leases
node.k8s.io/v1
  C RuntimeClass                     runtimeclasses
discovery.k8s.io/v1
  N EndpointSlice                    endpointslices
resource.k8s.io/v1
  C DeviceClass                      deviceclasses
  C DeviceTaintRule                  devicetaintrules parts=status since=1.37
  N ResourceClaim                    resourceclaims parts=status
  N ResourceClaimTemplate            resourceclaimtemplates
  C ResourceSlice                    resourceslices
resource.k8s.io/v1beta2
  C DeviceTaintRule                  devicetaintrules parts=status until=1.36 gate=DRADeviceTaintRules
admissionregistration.k8s.io/v1
  C MutatingAdmissionPolicy          mutatingadmissionpolicies in=api-extensions
  C MutatingAdmissionPolicyBinding   mutatingadmissionpolicybindings in=api-extensions
  C MutatingWebhookConfiguration     mutatingwebhookconfigurations in=api-extensions
  C ValidatingAdmissionPolicy        validatingadmissionpolicies parts=status in=api-extensions
  C ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings in=api-extensions
  C ValidatingWebhookConfiguration   validatingwebhookconfigurations in=api-extensions
apiregistration.k8s.io/v1
  C APIService                       apiservices parts=status in=api-extensions
certificates.k8s.io/v1
  C CertificateSigningRequest        certificatesigningrequests short=csr parts=approval,status
  C ClusterTrustBundle               clustertrustbundles since=1.37
  N PodCertificateRequest            podcertificaterequests parts=status since=1.37
flowcontrol.apiserver.k8s.io/v1
  C FlowSchema                       flowschemas parts=status
  C PriorityLevelConfiguration       prioritylevelconfigurations parts=status
storagemigration.k8s.io/v1
  C StorageVersionMigration          storageversionmigrations parts=status since=1.37
""")
)

BUILT_IN: Final = all_of(RELEASE)

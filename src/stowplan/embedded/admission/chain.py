"""The order in which an object is looked at before it may be stored: defaults, rules of its kind and of its namespace.

`check_fields` sees to its form, `prepare` may change it further, `validate` only refuses it; `quota.account` is told
when it has been stored or removed. The order is upstream's: namespace (404, 403), what depends on other objects (403),
fields (422), amounts that a namespace allows (403).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stowplan.embedded.admission import (
    addresses,
    disabled_fields,
    limits,
    new_objects,
    new_pods,
    pod_level,
    priority,
    quota,
    shapes,
)
from stowplan.embedded.admission.cluster_view import ClusterView
from stowplan.embedded.admission.defaults.by_resource import complete
from stowplan.embedded.admission.defaults.workloads import select_own_pods
from stowplan.embedded.admission.pod_security import enforcement as pod_security
from stowplan.embedded.admission.validation import by_resource, metadata
from stowplan.embedded.admission.validation.field import Field, Problems
from stowplan.embedded.custom import admission
from stowplan.embedded.identity.users import User
from stowplan.embedded.objects.errors import invalid
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.model import json_values

#: So many fields that a kind does not have, or that are given twice, are told; an object may have a hundred thousand.
#: Each warning is a header, of which some clients take a hundred at most.
_MOST_TOLD: Final = 100
_MOST_WARNINGS: Final = 50
_STRICT: Final = "Strict"
_IGNORE: Final = "Ignore"
_WITH_QUOTA_ON_UPDATE: Final = frozenset(("persistentvolumeclaims", "pods", "services"))


def check_fields(resource: Resource, obj: Object, field_validation: str, sent: bytes = b"") -> list[str]:
    """Bring what a client sent into its usual form, and return the warnings to send with the answer.

    Raise StatusError 400 for a value of the wrong type, and in strict mode for a field that the kind does not have, or
    that is `sent` twice.
    """
    unknown = [*shapes.read(resource, obj), *admission.unknown_fields(resource, obj)]
    if field_validation == _IGNORE:
        return []
    repeated = json_values.repeated(sent)
    if not (unknown or repeated):
        return []
    problems = [f'duplicate field "{path}"' for path in repeated]
    problems += [f'unknown field "{path}"' for path in unknown[:_MOST_TOLD]]
    if problems and field_validation == _STRICT:
        raise shapes.strict_error(resource, problems[:_MOST_TOLD])
    return problems[:_MOST_WARNINGS]


def credit(resource: Resource, obj: Object, requester: User | None) -> None:
    """Note who made a new object, where the object itself says so; whatever it says of that already counts nothing."""
    if resource.qualified == new_objects.CERTIFICATE_REQUESTS:
        new_objects.credit_requester(obj, requester)


def prepare(
    resource: Resource, obj: Object, before: Object | None, api: ClusterView, *, is_filled_in: bool = False
) -> None:
    """Fill in an object on its way in, in place. Raise StatusError if it cannot be read or has no place to be."""
    if before is None:
        new_objects.check_namespace(resource, obj, api)
    if not is_filled_in:
        fill_in(resource, obj)
    if resource.is_custom:
        return
    disabled_fields.drop(resource, obj, before, api.catalogue.gates)
    if before is None:
        _give(resource, obj, api)
    elif resource.qualified == "pods":
        new_pods.keep(obj, before)
        if pod_level.FIXED in api.catalogue.gates:
            pod_level.keep(obj["spec"], before["spec"])
    elif resource.qualified == new_objects.CERTIFICATE_REQUESTS:
        new_objects.date_conditions(obj, before, api.now())
    if resource.qualified == "services":
        addresses.assign(resource, obj, before, api)


def fill_in(resource: Resource, obj: Object) -> None:
    """Give an object the defaults of its kind, in place; they depend on nothing else, and come but once."""
    admission.complete(resource, obj)
    complete(resource, obj)


def check(resource: Resource, obj: Object, before: Object | None, gates: frozenset[str]) -> None:
    """Refuse an object that breaks a rule of its kind. Raise StatusError 422; nothing else is looked at."""
    problems = by_resource.find_problems(resource, obj, before, gates)
    causes = problems.causes + admission.problems(resource, obj, before)
    if resource.qualified == "namespaces":
        causes += pod_security.label_problems(obj, before)
    if causes:
        # What several rules complain about in the same words is said once.
        raise invalid(resource, obj["metadata"].get("name", ""), list(dict.fromkeys(causes)))


def validate(resource: Resource, obj: Object, before: Object | None, api: ClusterView) -> None:
    """Refuse an object that breaks a rule of its namespace, or of the cluster."""
    if resource.is_custom or not (before is None or resource.qualified in _WITH_QUOTA_ON_UPDATE):
        return
    match resource.qualified:
        case "pods" if before is None:
            limits.check_pod(resource, obj, api)
            pod_security.check_pod(resource, obj, api)
        case "persistentvolumeclaims":
            limits.check_claim(resource, obj, api)
        case "priorityclasses.scheduling.k8s.io":
            priority.check_one_default(resource, obj, api)
        case "podgroups.scheduling.k8s.io":
            new_objects.check_workload(resource, obj, api)
    if resource.is_namespaced:
        quota.check(resource, obj, before, api)


def warnings(resource: Resource, obj: Object, before: Object | None, api: ClusterView) -> list[str]:
    """What is worth telling whoever writes an object though it is taken."""
    found = [*_stored_only(resource), *admission.warnings(resource, obj)]
    return found + pod_security.warnings(resource, obj, before, api) if pod_security.warns_of(resource) else found


def check_status(resource: Resource, obj: Object) -> None:
    """Refuse a status with items that cannot be told apart. Raise StatusError 422."""
    problems = Problems()
    by_resource.check_keys(Field(problems, "", obj), resource)
    if problems.causes:
        raise invalid(resource, obj["metadata"].get("name", ""), problems.causes)


def check_annotations(resource: Resource, obj: Object) -> None:
    """Refuse annotations that nobody may have, of an object whose form may not be known yet. Raise StatusError 422."""
    found = obj.get("metadata")
    meta = found if isinstance(found, dict) else {}
    annotations = meta.get("annotations")
    if not isinstance(annotations, dict) or not all(isinstance(value, str) for value in annotations.values()):
        return
    problems = Problems()
    metadata.check_annotations(Field(problems, "metadata.annotations", annotations))
    if problems.causes:
        raise invalid(resource, str(meta.get("name", "")), problems.causes)


def check_deletion(resource: Resource, name: str) -> None:
    """Refuse to delete what a cluster cannot do without."""
    new_objects.check_namespace_stays(resource, name)
    priority.check_stays(resource, name)


def _give(resource: Resource, obj: Object, api: ClusterView) -> None:
    """Give a new object what depends on its kind and on what else is there."""
    match resource.qualified:
        case "pods":
            _give_pod(resource, obj, api)
        case "podgroups.scheduling.k8s.io" | "compositepodgroups.scheduling.k8s.io":
            priority.assign_to_group(resource, obj, api)
            if resource.kind == "PodGroup":
                new_objects.protect(obj)
        case "nodes":
            new_objects.taint_unless_ready(obj)
        case "namespaces":
            obj["spec"].setdefault("finalizers", ["kubernetes"])
        case "jobs.batch":
            select_own_pods(obj)
        case "persistentvolumeclaims":
            new_objects.assign_storage_class(obj, api)
            new_objects.protect(obj)
        case "persistentvolumes":
            new_objects.protect(obj)


def _give_pod(resource: Resource, pod: Object, api: ClusterView) -> None:
    is_fixed = pod_level.FIXED in api.catalogue.gates
    if not is_fixed:
        pod_level.complete(pod["spec"], is_fixed=False)
    limits.set_defaults(pod, api)
    new_pods.assign_service_account(resource, pod, api)
    priority.assign(resource, pod, api)
    new_pods.apply_runtime_class(resource, pod, api)
    if pod["spec"].get("nodeName"):
        new_pods.label_after_node(pod["metadata"], pod["spec"]["nodeName"], api)
    new_pods.resolve_label_keys(pod)
    if is_fixed:
        pod_level.complete(pod["spec"], is_fixed=True)
    new_pods.begin_status(pod, api)


def _stored_only(resource: Resource) -> tuple[str, ...]:
    """Tell whoever writes an object that it is kept and checked, but that nothing in this cluster acts upon it."""
    words = _STORED_ONLY.get(resource.qualified)
    return (f"stored only: {words}",) if words is not None and not resource.is_custom else ()


_NO_CERTIFICATES: Final = "pods do not run containers that would use certificates in this cluster"
_NO_NETWORK: Final = "there is no network in this cluster"
_NO_POLICIES: Final = "no admission policy is evaluated in this cluster"
_NO_QUEUES: Final = "requests are not queued by priority in this cluster"
_NO_WEBHOOKS: Final = "no admission webhook is called in this cluster"
_OWN_ADDRESSES: Final = "this cluster gives services their addresses without asking"

_STORED_ONLY: Final[Mapping[str, str]] = {
    "apiservices.apiregistration.k8s.io": "requests are not passed on to other API servers in this cluster",
    "certificatesigningrequests.certificates.k8s.io": "no certificate is signed in this cluster",
    "endpoints": _NO_NETWORK,
    "endpointslices.discovery.k8s.io": _NO_NETWORK,
    "flowschemas.flowcontrol.apiserver.k8s.io": _NO_QUEUES,
    "horizontalpodautoscalers.autoscaling": "nobody measures or scales in this cluster",
    "ingressclasses.networking.k8s.io": _NO_NETWORK,
    "ingresses.networking.k8s.io": _NO_NETWORK,
    "clustertrustbundles.certificates.k8s.io": _NO_CERTIFICATES,
    "ipaddresses.networking.k8s.io": _OWN_ADDRESSES,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": _NO_POLICIES,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _NO_POLICIES,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _NO_WEBHOOKS,
    "networkpolicies.networking.k8s.io": _NO_NETWORK,
    "podcertificaterequests.certificates.k8s.io": _NO_CERTIFICATES,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": _NO_QUEUES,
    "servicecidrs.networking.k8s.io": _OWN_ADDRESSES,
    "storageversionmigrations.storagemigration.k8s.io": "objects are kept in one form in this cluster",
    "validatingadmissionpolicies.admissionregistration.k8s.io": _NO_POLICIES,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _NO_POLICIES,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _NO_WEBHOOKS,
    "volumeattachments.storage.k8s.io": "volumes are not attached in this cluster",
    "volumeattributesclasses.storage.k8s.io": "volumes do not change in this cluster",
}

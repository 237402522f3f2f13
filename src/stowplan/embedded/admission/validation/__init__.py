"""Whether the fields of an object make sense, in upstream's words. What depends on other objects is decided elsewhere.

Types are known to be right here: `shapes` has been asked before, and `defaults` has filled in the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from stowplan.embedded.admission.validation import (
    access,
    admission_policies,
    api_services,
    autoscalers,
    certificate_requests,
    devices,
    endpoints,
    flow_control,
    holdings,
    ingresses,
    jobs,
    metadata,
    network_policies,
    nodes,
    persistent_volumes,
    pod_updates,
    pods,
    policies,
    runtime_classes,
    services,
    storage,
    updates,
    webhooks,
    workloads,
)
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage import keyed_lists

_Check = Callable[[Problems, Object], None]
_Compare = Callable[[Problems, Object, Object], None]


def find_problems(
    resource: Resource, obj: Object, before: Object | None, gates: frozenset[str] = frozenset()
) -> Problems:
    """Everything that is wrong with an object, or with how it differs from what it was."""
    problems = Problems(gates)
    meta = obj["metadata"]
    if before is None:
        metadata.check(problems, resource, meta)
    elif meta is not before["metadata"]:
        metadata.check_changeable(problems, meta)
    if resource.is_custom:
        return problems
    if obj.get("status") != (before or {}).get("status"):
        check_keys(problems, resource, obj)
    if before is None and resource.qualified in _CHECKS_OF_NEW:
        _CHECKS_OF_NEW[resource.qualified](problems, obj)
    check = _CHECKS.get(resource.qualified)
    if check is not None and not (before is not None and _is_same(obj, before)):
        check(problems, obj)
    compare = _COMPARISONS.get(resource.qualified)
    if compare is not None and before is not None:
        compare(problems, obj, before)
    return problems


def check_annotations(problems: Problems, annotations: Mapping[str, str]) -> None:
    """Refuse annotations with keys that are none, or too much of them."""
    metadata.check_annotations(problems, annotations, "metadata.annotations")


def check_keys(problems: Problems, resource: Resource, obj: Object) -> None:
    """Refuse conditions without a type, and whatever else in a status is not told apart from others."""
    for path in keyed_lists.keyless(resource, obj):
        problems.required(path)


def _is_same(obj: Object, before: Object) -> bool:
    """Whether only the metadata changed, or the status of something whose status nobody checks."""
    keys = (obj.keys() | before.keys()) - {"metadata"}
    changed = {key for key in keys if obj.get(key) != before.get(key)}
    return not changed or (changed == {"status"} and obj.get("kind") not in _WITH_CHECKED_STATUS)


_WITH_CHECKED_STATUS: Final = frozenset(("CertificateSigningRequest", "Node", "PodDisruptionBudget"))

_CHECKS_OF_NEW: Final[Mapping[str, _Check]] = MappingProxyType(
    {"pods": pods.check_new_pod, "ingresses.networking.k8s.io": ingresses.check_new_ingress}
)

_CHECKS: Final[Mapping[str, _Check]] = MappingProxyType(
    {
        "pods": pods.check_pod,
        "nodes": nodes.check_node,
        "services": services.check_service,
        "configmaps": holdings.check_config_map,
        "secrets": holdings.check_secret,
        "persistentvolumeclaims": holdings.check_claim,
        "persistentvolumes": persistent_volumes.check_volume,
        "storageclasses.storage.k8s.io": persistent_volumes.check_class,
        "resourceclaims.resource.k8s.io": devices.check_claim,
        "resourceclaimtemplates.resource.k8s.io": devices.check_template,
        "resourceslices.resource.k8s.io": devices.check_slice,
        "limitranges": policies.check_limit_range,
        "resourcequotas": policies.check_quota,
        "replicationcontrollers": workloads.check_replication_controller,
        "deployments.apps": workloads.check_deployment,
        "replicasets.apps": workloads.check_replica_set,
        "statefulsets.apps": workloads.check_stateful_set,
        "daemonsets.apps": workloads.check_daemon_set,
        "jobs.batch": jobs.check_job,
        "cronjobs.batch": jobs.check_cron_job,
        "poddisruptionbudgets.policy": policies.check_budget,
        "priorityclasses.scheduling.k8s.io": policies.check_priority_class,
        "networkpolicies.networking.k8s.io": network_policies.check_policy,
        "ingresses.networking.k8s.io": ingresses.check_ingress,
        "ingressclasses.networking.k8s.io": ingresses.check_class,
        "endpoints": endpoints.check_endpoints,
        "endpointslices.discovery.k8s.io": endpoints.check_slice,
        "servicecidrs.networking.k8s.io": endpoints.check_service_range,
        "ipaddresses.networking.k8s.io": endpoints.check_service_address,
        "roles.rbac.authorization.k8s.io": access.check_role,
        "clusterroles.rbac.authorization.k8s.io": access.check_cluster_role,
        "rolebindings.rbac.authorization.k8s.io": access.check_role_binding,
        "clusterrolebindings.rbac.authorization.k8s.io": access.check_cluster_role_binding,
        "horizontalpodautoscalers.autoscaling": autoscalers.check_autoscaler,
        "runtimeclasses.node.k8s.io": runtime_classes.check_class,
        "leases.coordination.k8s.io": runtime_classes.check_lease,
        "csidrivers.storage.k8s.io": storage.check_driver,
        "volumeattachments.storage.k8s.io": storage.check_attachment,
        "volumeattributesclasses.storage.k8s.io": storage.check_attributes,
        "mutatingwebhookconfigurations.admissionregistration.k8s.io": webhooks.check_webhooks,
        "validatingwebhookconfigurations.admissionregistration.k8s.io": webhooks.check_webhooks,
        "mutatingadmissionpolicies.admissionregistration.k8s.io": admission_policies.check_mutating_policy,
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io": admission_policies.check_mutating_binding,
        "validatingadmissionpolicies.admissionregistration.k8s.io": admission_policies.check_validating_policy,
        "validatingadmissionpolicybindings.admissionregistration.k8s.io": admission_policies.check_validating_binding,
        "apiservices.apiregistration.k8s.io": api_services.check_api_service,
        "certificatesigningrequests.certificates.k8s.io": certificate_requests.check_request,
        "flowschemas.flowcontrol.apiserver.k8s.io": flow_control.check_schema,
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": flow_control.check_level,
    }
)

_COMPARISONS: Final[Mapping[str, _Compare]] = MappingProxyType(
    {
        "horizontalpodautoscalers.autoscaling": autoscalers.check_autoscaler_update,
        "pods": pod_updates.check_pod_update,
        "nodes": updates.check_node_update,
        "services": updates.check_service_update,
        "configmaps": updates.check_data_kept,
        "secrets": updates.check_secret_update,
        "persistentvolumeclaims": updates.check_claim_update,
        "persistentvolumes": persistent_volumes.check_volume_update,
        "storageclasses.storage.k8s.io": persistent_volumes.check_class_update,
        "resourceclaims.resource.k8s.io": devices.check_claim_update,
        "resourceclaimtemplates.resource.k8s.io": devices.check_template_update,
        "deployments.apps": updates.check_selector_kept,
        "replicasets.apps": updates.check_selector_kept,
        "statefulsets.apps": updates.check_stateful_set_update,
        "daemonsets.apps": updates.check_selector_kept,
        "jobs.batch": updates.check_job_update,
        "priorityclasses.scheduling.k8s.io": updates.check_priority_class_update,
        "ingressclasses.networking.k8s.io": ingresses.check_class_update,
        "endpointslices.discovery.k8s.io": endpoints.check_slice_update,
        "servicecidrs.networking.k8s.io": endpoints.check_service_range_update,
        "ipaddresses.networking.k8s.io": endpoints.check_service_address_update,
        "rolebindings.rbac.authorization.k8s.io": access.check_binding_update,
        "clusterrolebindings.rbac.authorization.k8s.io": access.check_binding_update,
        "runtimeclasses.node.k8s.io": runtime_classes.check_class_update,
        "csidrivers.storage.k8s.io": storage.check_driver_update,
        "volumeattachments.storage.k8s.io": storage.check_attachment_update,
        "volumeattributesclasses.storage.k8s.io": storage.check_attributes_update,
        "certificatesigningrequests.certificates.k8s.io": certificate_requests.check_request_update,
    }
)

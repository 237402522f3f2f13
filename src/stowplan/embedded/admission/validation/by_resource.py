"""Which rules the fields of an object are held to, resource by resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from stowplan.embedded.admission.validation import (
    admission_policies,
    autoscalers,
    certificate_requests,
    cluster,
    devices,
    flow_control,
    groups,
    ingresses,
    jobs,
    metadata,
    pod_updates,
    pods,
    policies,
    services,
    storage,
    webhooks,
    workloads,
)
from stowplan.embedded.admission.validation.field import Field, Problems, fixed, immutable
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage import keyed_lists


class _Rules(NamedTuple):
    """What is asked of an object, of one that replaces another, and of one that replaces none."""

    of_all: Callable[[Field], None]
    of_updates: Callable[[Field, Object], None] | None = None
    of_new: Callable[[Field], None] | None = None


#: What is asked of an object and what it replaces, None for a new one, where both are told in the same breath.
_Comparison = Callable[[Field, Object | None, Resource], None]


def find_problems(
    resource: Resource, obj: Object, before: Object | None, gates: frozenset[str] = frozenset()
) -> Problems:
    """Everything that is wrong with an object, or with how it differs from what it was."""
    problems = Problems(gates, resource.release)
    whole = Field(problems, "", obj)
    if before is None:
        metadata.check_new(whole["metadata"], resource)
    elif obj["metadata"] is not before["metadata"]:
        metadata.check_changeable(whole["metadata"])
    if resource.is_custom:
        return problems
    compare = _COMPARISONS.get(resource.qualified)
    if compare is not None:
        compare(whole, before, resource)
        return problems
    if _says_how_it_is(resource, obj, before):
        check_keys(whole, resource)
    rules = _RULES.get(resource.qualified)
    if rules is None:
        return problems
    if before is None and rules.of_new is not None:
        rules.of_new(whole)
    if before is None or not _is_same(obj, before):
        rules.of_all(whole)
    if before is not None and rules.of_updates is not None:
        rules.of_updates(whole, before)
    return problems


def _says_how_it_is(resource: Resource, obj: Object, before: Object | None) -> bool:
    """Whether the status is somebody's word; that of most new objects is the server's own."""
    if before is None:
        return "status" in obj and resource.may_begin_with_status
    return bool(obj.get("status") != before.get("status"))


def check_keys(obj: Field, resource: Resource) -> None:
    """Refuse conditions without a type, and whatever else in a status is not told apart from others."""
    for path in keyed_lists.keyless(resource, obj.value):
        Field(obj.problems, path, None).required()


def _is_same(obj: Object, before: Object) -> bool:
    """Whether only the metadata changed, or the status of something whose status nobody checks."""
    keys = (obj.keys() | before.keys()) - {"metadata"}
    changed = {key for key in keys if obj.get(key) != before.get(key)}
    return not changed or (changed == {"status"} and obj.get("kind") not in _WITH_CHECKED_STATUS)


_WITH_CHECKED_STATUS: Final = frozenset(("CertificateSigningRequest", "Node", "PodDisruptionBudget"))

_SELECTOR_KEPT: Final = immutable("spec.selector")
_CLASS_KEPT: Final = fixed("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")

_COMPARISONS: Final[Mapping[str, _Comparison]] = {
    "podgroups.scheduling.k8s.io": groups.check_group,
    "compositepodgroups.scheduling.k8s.io": groups.check_composite_group,
    "workloads.scheduling.k8s.io": groups.check_workload,
}
_RULES: Final[Mapping[str, _Rules]] = {
    "pods": _Rules(pods.check_pod, pod_updates.check_pod_update, pods.check_new_pod),
    "nodes": _Rules(cluster.check_node, cluster.check_node_update),
    "services": _Rules(services.check_service, services.check_service_update),
    "configmaps": _Rules(cluster.check_config_map, cluster.check_data_kept),
    "secrets": _Rules(cluster.check_secret, cluster.check_secret_update),
    "persistentvolumeclaims": _Rules(storage.check_claim, storage.check_claim_update),
    "persistentvolumes": _Rules(storage.check_volume, storage.check_volume_update),
    "storageclasses.storage.k8s.io": _Rules(storage.check_class, _CLASS_KEPT),
    "resourceclaims.resource.k8s.io": _Rules(
        lambda claim: devices.check_spec(claim["spec"]), devices.check_claim_update
    ),
    "resourceclaimtemplates.resource.k8s.io": _Rules(
        lambda template: devices.check_spec(template["spec"]["spec"]), immutable("spec")
    ),
    "resourceslices.resource.k8s.io": _Rules(devices.check_slice),
    "limitranges": _Rules(policies.check_limit_range),
    "resourcequotas": _Rules(policies.check_quota, policies.check_quota_update),
    "replicationcontrollers": _Rules(workloads.check_replication_controller),
    "deployments.apps": _Rules(workloads.check_deployment, _SELECTOR_KEPT),
    "replicasets.apps": _Rules(workloads.check_replica_set, _SELECTOR_KEPT),
    "statefulsets.apps": _Rules(
        workloads.check_stateful_set, workloads.check_stateful_set_update, workloads.check_new_stateful_set
    ),
    "daemonsets.apps": _Rules(workloads.check_daemon_set, _SELECTOR_KEPT),
    "jobs.batch": _Rules(jobs.check_job, jobs.check_job_update),
    "cronjobs.batch": _Rules(jobs.check_cron_job),
    "poddisruptionbudgets.policy": _Rules(policies.check_budget),
    "priorityclasses.scheduling.k8s.io": _Rules(policies.check_priority_class, policies.check_priority_class_update),
    "networkpolicies.networking.k8s.io": _Rules(ingresses.check_network_policy),
    "ingresses.networking.k8s.io": _Rules(ingresses.check_ingress, of_new=ingresses.check_new_ingress),
    "ingressclasses.networking.k8s.io": _Rules(ingresses.check_class, immutable("spec.controller")),
    "endpoints": _Rules(services.check_endpoints),
    "endpointslices.discovery.k8s.io": _Rules(services.check_slice, fixed("addressType")),
    "servicecidrs.networking.k8s.io": _Rules(services.check_service_range, services.check_service_range_update),
    "ipaddresses.networking.k8s.io": _Rules(services.check_service_address, services.check_service_address_update),
    "roles.rbac.authorization.k8s.io": _Rules(cluster.check_role),
    "clusterroles.rbac.authorization.k8s.io": _Rules(cluster.check_role),
    "rolebindings.rbac.authorization.k8s.io": _Rules(cluster.check_role_binding, cluster.check_role_binding_update),
    "clusterrolebindings.rbac.authorization.k8s.io": _Rules(
        cluster.check_role_binding, cluster.check_role_binding_update
    ),
    "horizontalpodautoscalers.autoscaling": _Rules(autoscalers.check_autoscaler, autoscalers.check_autoscaler_update),
    "runtimeclasses.node.k8s.io": _Rules(cluster.check_runtime_class, fixed("handler")),
    "leases.coordination.k8s.io": _Rules(cluster.check_lease),
    "csidrivers.storage.k8s.io": _Rules(storage.check_driver, storage.check_driver_update),
    "volumeattachments.storage.k8s.io": _Rules(storage.check_attachment, storage.check_attachment_update),
    "volumeattributesclasses.storage.k8s.io": _Rules(storage.check_attributes, storage.check_attributes_update),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _Rules(webhooks.check_webhooks),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _Rules(webhooks.check_webhooks),
    "mutatingadmissionpolicies.admissionregistration.k8s.io": _Rules(admission_policies.check_mutating_policy),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _Rules(admission_policies.check_mutating_binding),
    "validatingadmissionpolicies.admissionregistration.k8s.io": _Rules(admission_policies.check_validating_policy),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _Rules(
        admission_policies.check_validating_binding
    ),
    "apiservices.apiregistration.k8s.io": _Rules(webhooks.check_api_service),
    "certificatesigningrequests.certificates.k8s.io": _Rules(
        certificate_requests.check_request, certificate_requests.check_request_update
    ),
    "flowschemas.flowcontrol.apiserver.k8s.io": _Rules(flow_control.check_schema),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": _Rules(flow_control.check_level),
}

"""Which defaults the objects of a resource get."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from stowplan.embedded.admission.defaults import cluster, pods, server_settings, services, workloads
from stowplan.embedded.admission.defaults.declared import fill_declared
from stowplan.embedded.objects.resource import Object, Resource


def complete(resource: Resource, obj: Object) -> None:
    """Fill in an object, in place. What is filled in already stays as it is."""
    fill = _BY_RESOURCE.get(resource.qualified)
    if fill is not None and not resource.is_custom:
        fill(obj)
        fill_declared(resource, obj)


_BY_RESOURCE: Final[Mapping[str, Callable[[Object], None]]] = MappingProxyType(
    {
        "pods": pods.complete_pod,
        "replicationcontrollers": workloads.complete_replication_controller,
        "deployments.apps": workloads.complete_deployment,
        "replicasets.apps": workloads.complete_replica_set,
        "statefulsets.apps": workloads.complete_stateful_set,
        "daemonsets.apps": workloads.complete_daemon_set,
        "jobs.batch": workloads.complete_job,
        "cronjobs.batch": workloads.complete_cron_job,
        "services": services.complete_service,
        "networkpolicies.networking.k8s.io": services.complete_network_policy,
        "ingresses.networking.k8s.io": services.complete_ingress,
        "ingressclasses.networking.k8s.io": services.complete_ingress_class,
        "endpoints": services.complete_endpoints,
        "endpointslices.discovery.k8s.io": services.complete_endpoint_slice,
        "rolebindings.rbac.authorization.k8s.io": cluster.complete_role_binding,
        "clusterrolebindings.rbac.authorization.k8s.io": cluster.complete_role_binding,
        "persistentvolumeclaims": cluster.complete_claim,
        "persistentvolumes": cluster.complete_volume,
        "storageclasses.storage.k8s.io": cluster.complete_storage_class,
        "csidrivers.storage.k8s.io": cluster.complete_csi_driver,
        "resourceclaims.resource.k8s.io": cluster.complete_device_claim,
        "resourceclaimtemplates.resource.k8s.io": cluster.complete_device_claim_template,
        "namespaces": cluster.complete_namespace,
        "nodes": cluster.complete_node,
        "secrets": cluster.complete_secret,
        "events": cluster.complete_event,
        "limitranges": cluster.complete_limit_range,
        "resourcequotas": cluster.complete_quota,
        "priorityclasses.scheduling.k8s.io": cluster.complete_priority_class,
        "poddisruptionbudgets.policy": cluster.complete_budget,
        "horizontalpodautoscalers.autoscaling": workloads.complete_autoscaler,
        "validatingwebhookconfigurations.admissionregistration.k8s.io": server_settings.complete_validating_webhooks,
        "mutatingwebhookconfigurations.admissionregistration.k8s.io": server_settings.complete_mutating_webhooks,
        "validatingadmissionpolicies.admissionregistration.k8s.io": server_settings.complete_validating_policy,
        "mutatingadmissionpolicies.admissionregistration.k8s.io": server_settings.complete_policy,
        "validatingadmissionpolicybindings.admissionregistration.k8s.io": server_settings.complete_policy_binding,
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io": server_settings.complete_policy_binding,
        "apiservices.apiregistration.k8s.io": server_settings.complete_api_service,
        "certificatesigningrequests.certificates.k8s.io": server_settings.begin_status,
        "servicecidrs.networking.k8s.io": server_settings.begin_status,
        "flowschemas.flowcontrol.apiserver.k8s.io": server_settings.complete_flow_schema,
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": server_settings.complete_priority_level,
        "customresourcedefinitions.apiextensions.k8s.io": cluster.complete_definition,
    }
)

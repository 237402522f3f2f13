"""What the API server fills in where an object says nothing, kind by kind; only what upstream stores too.

Some fields declare in their type what they are (`types`); what the others are depends on the rest of the object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from stowplan.embedded.admission.defaults import (
    autoscalers,
    cluster,
    devices,
    jobs,
    pods,
    server_settings,
    services,
    storage,
    workloads,
)
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.types import release
from stowplan.embedded.types.schema import JsonForm, Schema


def complete(resource: Resource, obj: Object) -> None:
    """Fill in an object, in place. What is filled in already stays as it is."""
    fill = _BY_RESOURCE.get(resource.qualified)
    if fill is not None and not resource.is_custom:
        fill(obj)
        _fill_declared(obj, _declared_by(resource.api_version, resource.kind))


class _Declared(NamedTuple):
    """A field of a struct that declares a default, or contains structs that do."""

    name: str
    default: Any
    #: Whether one that is there but empty is meant.
    is_pointer: bool
    is_list: bool
    fields: tuple[_Declared, ...]


def _fill_declared(struct: Object, fields: tuple[_Declared, ...]) -> None:
    """Fill in what types declare, wherever there is a struct of theirs."""
    for name, default, is_pointer, is_list, below in fields:
        found = struct.get(name)
        if default is not None:
            if found is None or not (found or is_pointer):
                struct[name] = default
        elif found and is_list:
            for item in found:
                _fill_declared(item, below)
        elif found:
            _fill_declared(found, below)


@cache
def _declared_by(api_version: str, kind: str) -> tuple[_Declared, ...]:
    name = release.name_of(api_version, kind)
    return () if name is None else _declared(release.type_named(name))


def _declared(schema: Schema) -> tuple[_Declared, ...]:
    found = (
        _Declared(name, field.default, field.is_pointer, field.form is JsonForm.LIST, _declared(field.items or field))
        for name, field in schema.fields.items()
        if field.form is not JsonForm.MAP
    )
    return tuple(each for each in found if each.default is not None or each.fields)


_BY_RESOURCE: Final[Mapping[str, Callable[[Object], None]]] = MappingProxyType(
    {
        "pods": pods.complete_pod,
        "replicationcontrollers": workloads.complete_replication_controller,
        "deployments.apps": workloads.complete_deployment,
        "replicasets.apps": workloads.complete_replica_set,
        "statefulsets.apps": workloads.complete_stateful_set,
        "daemonsets.apps": workloads.complete_daemon_set,
        "jobs.batch": jobs.complete_job,
        "cronjobs.batch": jobs.complete_cron_job,
        "services": services.complete_service,
        "networkpolicies.networking.k8s.io": services.complete_network_policy,
        "ingresses.networking.k8s.io": services.complete_ingress,
        "ingressclasses.networking.k8s.io": services.complete_ingress_class,
        "endpoints": services.complete_endpoints,
        "endpointslices.discovery.k8s.io": services.complete_endpoint_slice,
        "rolebindings.rbac.authorization.k8s.io": cluster.complete_role_binding,
        "clusterrolebindings.rbac.authorization.k8s.io": cluster.complete_role_binding,
        "persistentvolumeclaims": storage.complete_claim,
        "persistentvolumes": storage.complete_volume,
        "storageclasses.storage.k8s.io": storage.complete_class,
        "csidrivers.storage.k8s.io": storage.complete_driver,
        "resourceclaims.resource.k8s.io": devices.complete_claim,
        "resourceclaimtemplates.resource.k8s.io": devices.complete_template,
        "namespaces": cluster.complete_namespace,
        "nodes": cluster.complete_node,
        "secrets": cluster.complete_secret,
        "events": cluster.complete_event,
        "limitranges": cluster.complete_limit_range,
        "resourcequotas": cluster.complete_quota,
        "priorityclasses.scheduling.k8s.io": cluster.complete_priority_class,
        "poddisruptionbudgets.policy": cluster.complete_budget,
        "horizontalpodautoscalers.autoscaling": autoscalers.complete_autoscaler,
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

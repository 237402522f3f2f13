"""Defaults of fields, filled in wherever there is a struct of their type: those that `types` has, and those of Go code.

Upstream writes the latter as functions, one for each type. What depends on more than its own field is in
`by_resource`, `pods` and `workloads`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.types import release
from stowplan.embedded.types.schema import JsonForm, Schema

_MATCH_ALL: Final = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
_WEBHOOK: Final = {"failurePolicy": "Fail", "timeoutSeconds": 10, "clientConfig": {}, **_MATCH_ALL}
_FILE_MODE: Final = {"defaultMode": 0o644}
_WHOLE: Final[Object] = {"spec": {}, "status": {}}
_SET: Final = {"replicas": 1, "template": {}}
#: By type, in whatever version. A default replaces what is empty too, unless the field is a pointer; each is a scalar,
#: or a map of scalars.
_BY_TYPE: Final[dict[str, Object]] = {
    "admissionregistration.MatchResources": _MATCH_ALL,
    "admissionregistration.MutatingAdmissionPolicy": {"spec": {}},
    "admissionregistration.MutatingAdmissionPolicyBinding": {"spec": {}},
    "admissionregistration.MutatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration.MutatingWebhook": {**_WEBHOOK, "reinvocationPolicy": "Never"},
    "admissionregistration.NamedRuleWithOperations": {"scope": "*"},
    "admissionregistration.RuleWithOperations": {"scope": "*"},
    "admissionregistration.ServiceReference": {"port": 443},
    "admissionregistration.ValidatingAdmissionPolicy": _WHOLE,
    "admissionregistration.ValidatingAdmissionPolicyBinding": {"spec": {}},
    "admissionregistration.ValidatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration.ValidatingWebhook": _WEBHOOK,
    "apiextensions.CustomResourceDefinition": {"spec": {}},
    "apiextensions.CustomResourceDefinitionSpec": {"names": {}, "conversion": {"strategy": "None"}},
    "apiregistration.APIService": _WHOLE,
    "apiregistration.ServiceReference": {"port": 443},
    "apps.DaemonSet": _WHOLE,
    "apps.DaemonSetSpec": {"template": {}, "revisionHistoryLimit": 10},
    "apps.DaemonSetStatus": dict.fromkeys(
        ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"), 0
    ),
    "apps.Deployment": _WHOLE,
    "apps.DeploymentSpec": {**_SET, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
    "apps.ReplicaSet": _WHOLE,
    "apps.ReplicaSetSpec": _SET,
    "apps.ReplicaSetStatus": {"replicas": 0},
    "apps.StatefulSet": _WHOLE,
    "apps.StatefulSetPersistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    "apps.StatefulSetSpec": {
        **_SET,
        "revisionHistoryLimit": 10,
        "podManagementPolicy": "OrderedReady",
        "persistentVolumeClaimRetentionPolicy": {},
    },
    "apps.StatefulSetStatus": {"replicas": 0, "availableReplicas": 0},
    "batch.CronJob": _WHOLE,
    "batch.CronJobSpec": {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {},
    },
    "batch.Job": _WHOLE,
    "batch.JobSpec": {"template": {}},
    "batch.JobTemplateSpec": {"metadata": {}, "spec": {}},
    "certificates.CertificateSigningRequest": {"status": {}},
    "core.ConfigMapVolumeSource": _FILE_MODE,
    "core.Container": {
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    },
    "core.DownwardAPIVolumeSource": _FILE_MODE,
    "core.EndpointPort": {"protocol": "TCP"},
    "core.Event": {"involvedObject": {}, "source": {}, "reportingComponent": "", "reportingInstance": ""},
    "core.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "core.HostPathVolumeSource": {"type": ""},
    "core.LimitRange": {"spec": {}},
    "core.Namespace": {"spec": {}, "status": {"phase": "Active"}},
    "core.Node": _WHOLE,
    "core.ObjectFieldSelector": {"apiVersion": "v1"},
    "core.PersistentVolume": {"spec": {}, "status": {"phase": "Pending"}},
    "core.PersistentVolumeClaim": {"spec": {}, "status": {"phase": "Pending"}},
    "core.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "core.PersistentVolumeClaimTemplate": {"metadata": {}, "spec": {}},
    "core.PersistentVolumeSpec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
    "core.Pod": {"spec": {}},
    "core.PodSpec": {
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
        "securityContext": {},
    },
    "core.PodTemplateSpec": {"metadata": {}, "spec": {}},
    "core.Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    "core.ProjectedVolumeSource": _FILE_MODE,
    "core.ReplicationController": _WHOLE,
    "core.ReplicationControllerSpec": _SET,
    "core.ReplicationControllerStatus": {"replicas": 0},
    "core.ResourceQuota": _WHOLE,
    "core.Secret": {"type": "Opaque"},
    "core.SecretVolumeSource": _FILE_MODE,
    "core.Service": _WHOLE,
    "core.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "core.ServiceSpec": {"type": "ClusterIP", "sessionAffinity": "None"},
    "core.ServiceStatus": {"loadBalancer": {}},
    "discovery.EndpointPort": {"name": "", "protocol": "TCP"},
    "flowcontrol.ExemptPriorityLevelConfiguration": {"nominalConcurrencyShares": 0, "lendablePercent": 0},
    "flowcontrol.FlowSchema": _WHOLE,
    "flowcontrol.FlowSchemaSpec": {"priorityLevelConfiguration": {}, "matchingPrecedence": 1000},
    "flowcontrol.LimitedPriorityLevelConfiguration": {
        "nominalConcurrencyShares": 30,
        "lendablePercent": 0,
        "limitResponse": {},
    },
    "flowcontrol.PriorityLevelConfiguration": _WHOLE,
    "flowcontrol.PriorityLevelConfigurationReference": {"name": ""},
    "flowcontrol.QueuingConfiguration": {"handSize": 8, "queues": 64, "queueLengthLimit": 50},
    "networking.Ingress": {"status": {}},
    "networking.IngressStatus": {"loadBalancer": {}},
    "networking.IngressClass": {"spec": {}},
    "networking.IngressClassParametersReference": {"scope": "Cluster"},
    "networking.NetworkPolicy": {"spec": {}},
    "networking.ServiceCIDR": {"status": {}},
    "policy.PodDisruptionBudget": _WHOLE,
    "policy.PodDisruptionBudgetStatus": dict.fromkeys(
        ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"), 0
    ),
    "rbac.ClusterRoleBinding": {"roleRef": {}},
    "rbac.RoleBinding": {"roleRef": {}},
    "rbac.RoleRef": {"apiGroup": "rbac.authorization.k8s.io"},
    "resource.ResourceClaim": {"spec": {}},
    "resource.ResourceClaimSpec": {"devices": {}},
    "resource.ResourceClaimTemplate": {"spec": {}},
    "resource.ResourceClaimTemplateSpec": {"metadata": {}, "spec": {}},
    "scheduling.PriorityClass": {"value": 0},
    "storage.CSIDriver": {"spec": {}},
    "storage.CSIDriverSpec": {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "requiresRepublish": False,
        "seLinuxMount": False,
        "preventPodSchedulingIfMissing": False,
    },
}


def fill_declared(resource: Resource, obj: Object) -> None:
    """Fill in what the types of an object declare, in place."""
    schema = release.of_kind(resource)
    if schema is not None:
        _fill(obj, _declared(schema))


class _Declared(NamedTuple):
    """What a struct is filled in with: name, default, and whether a value that is there but empty is meant."""

    defaults: tuple[tuple[str, Any, bool], ...]
    #: By name the fields that contain structs with defaults, or lists of them.
    below: Mapping[str, _Declared]


def _fill(struct: Object, declared: _Declared) -> None:
    for name, default, is_pointer in declared.defaults:
        found = struct.get(name)
        if found is None or not (found or is_pointer):
            struct[name] = default.copy() if default.__class__ is dict else default
    below = declared.below
    # Of the many fields that there may be, few are there.
    for name in below.keys() & struct.keys():
        found = struct[name]
        if isinstance(found, list):
            for item in found:
                _fill(item, below[name])
        elif found is not None:
            _fill(found, below[name])


@cache
def _declared(schema: Schema) -> _Declared:
    group, _, kind = (".." + schema.name).split(".")[-3:]
    ours = _BY_TYPE.get(f"{group}.{kind}", {})
    fields = {name: field for name, field in schema.fields.items() if field.form is not JsonForm.MAP}
    found = ((name, ours.get(name, field.default), field.is_pointer) for name, field in fields.items())
    below = {name: _declared(field.items or field) for name, field in fields.items()}
    return _Declared(
        tuple(each for each in found if each[1] is not None),
        {name: declared for name, declared in below.items() if declared.defaults or declared.below},
    )


def fill_missing(obj: Object, /, **defaults: Any) -> Object:
    """Set the fields that are missing; return the object."""
    for name, value in defaults.items():
        obj.setdefault(name, value)
    return obj


def fill_empty(obj: Object, /, **defaults: Any) -> Object:
    """Set the fields that are missing or empty; return the object."""
    for name, value in defaults.items():
        if not obj.get(name):
            obj[name] = value
    return obj


def part(obj: Object, *path: str) -> Object:
    """The part of an object at a path, made where it is missing."""
    for name in path:
        obj = obj.setdefault(name, {})
    return obj

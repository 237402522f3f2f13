"""What the lists of built-in kinds are merged by, as the Kubernetes API types declare it."""

from __future__ import annotations

import pytest

from stowplan.embedded.types import release
from stowplan.embedded.types.schema import ListType, PatchStrategy, Schema

PACKAGES = {
    "Deployment": "apps",
    "StatefulSet": "apps",
    "CronJob": "batch",
    "Job": "batch",
    "ResourceClaim": "resource",
    "CSINode": "storage",
    "PodDisruptionBudget": "policy",
    "MutatingWebhookConfiguration": "admissionregistration",
    "ValidatingAdmissionPolicy": "admissionregistration",
}


def schema_at(path: str) -> Schema:
    """The type of a field such as `Pod.spec.containers[].env`."""
    kind, *names = path.replace("[]", ".[]").split(".")
    schema = release.type_named(f"io.k8s.api.{PACKAGES.get(kind, 'core')}.v1.{kind}")
    for name in names:
        schema = schema.of_items if name == "[]" else schema.at(name)
    return schema


@pytest.mark.parametrize(
    ("path", "merge_key", "keys"),
    [
        ("Pod.spec.containers", "name", ("name",)),
        ("MutatingWebhookConfiguration.webhooks", "name", ("name",)),
        ("MutatingWebhookConfiguration.webhooks[].matchConditions", "name", ("name",)),
        ("ValidatingAdmissionPolicy.spec.variables", "name", ("name",)),
        ("Pod.spec.initContainers", "name", ("name",)),
        ("Pod.spec.ephemeralContainers", "name", ("name",)),
        ("Pod.spec.containers[].ports", "containerPort", ("containerPort", "protocol")),
        ("Pod.spec.containers[].env", "name", ("name",)),
        ("Pod.spec.containers[].volumeMounts", "mountPath", ("mountPath",)),
        ("Pod.spec.containers[].volumeDevices", "devicePath", ("devicePath",)),
        ("Pod.spec.volumes", "name", ("name",)),
        ("Pod.spec.topologySpreadConstraints", "topologyKey", ("topologyKey", "whenUnsatisfiable")),
        ("Pod.spec.imagePullSecrets", "name", ("name",)),
        ("Pod.spec.hostAliases", "ip", ("ip",)),
        ("Pod.spec.resourceClaims", "name", ("name",)),
        ("Pod.spec.schedulingGates", "name", ("name",)),
        ("Pod.status.conditions", "type", ("type",)),
        ("Pod.status.podIPs", "ip", ("ip",)),
        ("Pod.status.hostIPs", "ip", ()),
        ("Pod.metadata.ownerReferences", "uid", ("uid",)),
        ("ConfigMap.metadata.ownerReferences", "uid", ("uid",)),
        ("Deployment.spec.template.spec.containers", "name", ("name",)),
        ("Deployment.status.conditions", "type", ("type",)),
        ("StatefulSet.spec.template.spec.volumes", "name", ("name",)),
        ("CronJob.spec.jobTemplate.spec.template.spec.containers[].env", "name", ("name",)),
        ("Job.status.conditions", "type", ()),
        ("Node.status.addresses", "type", ("type",)),
        ("Node.status.conditions", "type", ("type",)),
        ("Service.spec.ports", "port", ("port", "protocol")),
        ("ServiceAccount.secrets", "name", ("name",)),
        ("ResourceClaim.status.reservedFor", "uid", ("uid",)),
        ("ResourceClaim.status.devices", "", ("driver", "device", "pool", "shareID")),
        ("CSINode.spec.drivers", "name", ("name",)),
        ("Pod.spec.tolerations", "", ()),
        ("Pod.spec.containers[].command", "", ()),
        ("Pod.spec.containers[].envFrom", "", ()),
        ("Node.spec.taints", "", ()),
        ("StatefulSet.spec.volumeClaimTemplates", "", ()),
    ],
)
def test_a_list_is_merged_by(path: str, merge_key: str, keys: tuple[str, ...]) -> None:
    schema = schema_at(path)
    strategy = PatchStrategy.MERGE if merge_key else PatchStrategy.USUAL
    list_type = ListType.MAP if keys else ListType.ATOMIC
    assert (schema.merge_key, schema.strategy, schema.keys, schema.list_type) == (merge_key, strategy, keys, list_type)


def test_the_conditions_of_a_service_of_another_server_are_merged_by_their_type() -> None:
    service = release.type_named("io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService")
    assert service.at("status").at("conditions").merge_key == "type"
    assert service.at("status").at("conditions").keys == ("type",)


@pytest.mark.parametrize("path", ["Pod.metadata.finalizers", "Node.spec.podCIDRs"])
def test_a_list_is_a_set(path: str) -> None:
    assert (schema_at(path).list_type, schema_at(path).strategy) == (ListType.SET, PatchStrategy.MERGE)


@pytest.mark.parametrize(
    "path",
    [
        "Pod.spec.nodeSelector",
        "Pod.spec.containers[].env[].valueFrom.secretKeyRef",
        "Pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
        "Deployment.spec.selector",
        "Service.spec.selector",
        "PodDisruptionBudget.spec.selector",
    ],
)
def test_a_map_is_owned_as_a_whole(path: str) -> None:
    assert schema_at(path).is_atomic


def test_a_port_is_tcp_unless_it_says_otherwise() -> None:
    assert schema_at("Pod.spec.containers[].ports").key_defaults == {"protocol": "TCP"}
    assert schema_at("Service.spec.ports").key_defaults == {"protocol": "TCP"}

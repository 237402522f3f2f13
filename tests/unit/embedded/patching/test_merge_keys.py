"""What the lists of built-in kinds are merged by, as the Kubernetes API types declare it."""

from __future__ import annotations

import pytest

from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.patching import merge_keys
from stowplan.embedded.patching.shapes import ListKind, Shape, Strategy

KINDS = {
    "Pod": "",
    "Node": "",
    "Service": "",
    "ServiceAccount": "",
    "ConfigMap": "",
    "Deployment": "apps",
    "StatefulSet": "apps",
    "CronJob": "batch",
    "Job": "batch",
    "ResourceClaim": "resource.k8s.io",
    "CSINode": "storage.k8s.io",
    "PodDisruptionBudget": "policy",
    "MutatingWebhookConfiguration": "admissionregistration.k8s.io",
    "ValidatingAdmissionPolicy": "admissionregistration.k8s.io",
    "APIService": "apiregistration.k8s.io",
}


def shape_at(path: str) -> Shape:
    """The shape of a field such as `Pod.spec.containers[].env`."""
    kind, *names = path.replace("[]", ".[]").split(".")
    shape = merge_keys.shape_of(Resource(KINDS[kind], "v1", kind, "", ""))
    for name in names:
        shape = shape.of_items if name == "[]" else shape.at(name)
    return shape


@pytest.mark.parametrize(
    ("path", "merge_key", "keys"),
    [
        ("Pod.spec.containers", "name", ("name",)),
        ("MutatingWebhookConfiguration.webhooks", "name", ("name",)),
        ("MutatingWebhookConfiguration.webhooks[].matchConditions", "name", ("name",)),
        ("ValidatingAdmissionPolicy.spec.variables", "name", ("name",)),
        ("APIService.status.conditions", "type", ("type",)),
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
    shape = shape_at(path)
    strategy = Strategy.MERGE if merge_key else Strategy.USUAL
    list_kind = ListKind.MAP if keys else ListKind.ATOMIC
    assert (shape.merge_key, shape.strategy, shape.keys, shape.list_kind) == (merge_key, strategy, keys, list_kind)


@pytest.mark.parametrize("path", ["Pod.metadata.finalizers", "Node.spec.podCIDRs"])
def test_a_list_is_a_set(path: str) -> None:
    assert (shape_at(path).list_kind, shape_at(path).strategy) == (ListKind.SET, Strategy.MERGE)


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
    assert shape_at(path).is_atomic


def test_a_port_is_tcp_unless_it_says_otherwise() -> None:
    assert shape_at("Pod.spec.containers[].ports").key_defaults == {"protocol": "TCP"}
    assert shape_at("Service.spec.ports").key_defaults == {"protocol": "TCP"}

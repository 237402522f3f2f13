"""Nodes and pods as an API server tells of them, as text: with all that admission, controllers and kubelets fill in.

A running pod has about 5,000 bytes, a third of that managed fields, as those of a cluster do. Zones come in turn.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
HOSTNAME: Final = "kubernetes.io/hostname"
ZONES: Final = 10
#: How many workloads the placed pods belong to.
WORKLOADS: Final = 500
_CREATED: Final = "2026-01-15T10:00:00Z"
#: Stand for what differs from pod to pod while the rest is written once.
_NUMBER, _NODE, _ZONE, _WORKLOAD = "999999901", "999999902", "999999903", "999999904"
_VERSION, _SECOND = "999999905", "2026-01-15T10:99:99Z"
_TOKEN: Final = "kube-api-access-99999"

Content = dict[str, Any]


def node_name(number: int) -> str:
    return f"node-{number:05}"


def pending_name(number: int) -> str:
    return f"pending-{number:06}"


def number_of(name: str) -> int:
    return int(name.rpartition("-")[2])


def namespace(number: int) -> bytes:
    """Write the one that all pods are in."""
    meta = {"name": "default", "uid": "default", "labels": {"kubernetes.io/metadata.name": "default"}}
    return json.dumps({"metadata": meta, "status": {"phase": "Active"}}).encode()


def node(number: int) -> bytes:
    return _NODE_TEXT.replace(_NUMBER, f"{number:05}").replace(_ZONE, str(number % ZONES)).encode()


def placed_pod(number: int, on_node: int) -> bytes:
    """Write a pod that runs on a node."""
    found = _PLACED_TEXT.replace(_NUMBER, f"{number:06}").replace(_NODE, f"{on_node:05}")
    found = found.replace(_ZONE, str(on_node % ZONES)).replace(_WORKLOAD, str(number % WORKLOADS))
    return _own(found, number).replace(_VERSION, str(500_000 + number)).encode()


def _own(text: str, number: int) -> str:
    """Give a pod times and a volume of its own."""
    moment = f"2026-01-15T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
    return text.replace(_SECOND, moment).replace(_TOKEN, f"kube-api-access-{number % 99991:05}")


@dataclass(slots=True)
class PendingPods:
    """Pods that wait, alike but for their names; `spec` is what they ask for beyond requests."""

    count: int
    spec: Content
    _waiting: str = field(init=False)
    _bound: str = field(init=False)

    def __post_init__(self) -> None:
        pod = _pod({"app": "web", "pod-template-hash": "7c5d8f6b9"}, f"pending-{_NUMBER}", "web", self.spec)
        pod["status"] = {"phase": "Pending", "qosClass": "Burstable"}
        self._waiting = _text(pod)
        pod["metadata"]["labels"] = {**pod["metadata"]["labels"], ZONE: f"zone-{_ZONE}", REGION: "region-1"}
        pod["spec"]["nodeName"] = f"node-{_NODE}"
        pod["status"] = {**pod["status"], "conditions": [_condition("PodScheduled")]}
        self._bound = _text(pod)

    def pod(self, number: int) -> bytes:
        found = self._waiting.replace(_NUMBER, f"{number:06}").replace(_VERSION, str(number + 1))
        return _own(found, number).encode()

    def bound(self, number: int, on_node: str, version: int = 1) -> bytes:
        """Write the pod as it is once it is bound; the API server has added where its node is."""
        found = self._bound.replace(_NUMBER, f"{number:06}").replace(f"node-{_NODE}", on_node)
        zone = number_of(on_node) % ZONES
        return _own(found.replace(_ZONE, str(zone)).replace(_VERSION, str(version)), number).encode()


def _text(content: Content) -> str:
    return json.dumps(content, separators=(",", ":"))


def _node() -> Content:
    name = f"node-{_NUMBER}"
    amounts = {"cpu": "64", "memory": "263856292Ki", "pods": "256", "ephemeral-storage": "2047Gi", "hugepages-2Mi": "0"}
    labels = {HOSTNAME: name, ZONE: f"zone-{_ZONE}", REGION: "region-1", "kubernetes.io/os": "linux"}
    kinds = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    times = {"lastHeartbeatTime": _CREATED, "lastTransitionTime": _CREATED}
    images = [{"names": [f"registry.example/image-{one}:v1"], "sizeBytes": 10_000_000 + one} for one in range(30)]
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1000", "labels": labels}
    return {
        "metadata": {**meta, "creationTimestamp": _CREATED, "managedFields": _managed("kubelet", "f:status", 40)},
        "spec": {"podCIDR": "10.0.0.0/24", "providerID": f"example:///{name}"},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [_condition(kind) | times for kind in kinds],
            "addresses": [{"type": "Hostname", "address": name}],
            "nodeInfo": {"kubeletVersion": "v1.37.1", "osImage": "Linux", "architecture": "amd64"},
            "images": images,
        },
    }


def _pod(labels: Content, name: str, workload: str, spec: Content) -> Content:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{workload}-7c5d8f6b9", "uid": f"uid-{workload}"}
    meta = {
        "name": name,
        "generateName": f"{workload}-7c5d8f6b9-",
        "namespace": "default",
        "uid": f"01234567-89ab-cdef-0123-{name}",
        "resourceVersion": _VERSION,
        "generation": 1,
        "creationTimestamp": _SECOND,
        "labels": labels,
        "annotations": {"kubectl.kubernetes.io/restartedAt": _CREATED},
        "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}],
        "managedFields": _managed("kube-controller-manager", "f:spec", 20),
    }
    return {"metadata": meta, "spec": _spec(workload) | spec}


def _spec(workload: str) -> Content:
    account = "/var/run/secrets/kubernetes.io/serviceaccount"
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    container = {
        "name": "main",
        "image": f"registry.example/{workload}:v1",
        "env": [{"name": "MODE", "value": "production"}, {"name": "LEVEL", "value": "info"}],
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "volumeMounts": [{"name": _TOKEN, "readOnly": True, "mountPath": account}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    tolerations = [
        {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for what in ("not-ready", "unreachable")
    ]
    return {
        "volumes": [{"name": _TOKEN, "projected": {"sources": [token], "defaultMode": 420}}],
        "containers": [container],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "tolerations": tolerations,
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def _placed() -> Content:
    workload = f"app-{_WORKLOAD}"
    labels = {"app": workload, "pod-template-hash": "7c5d8f6b9", ZONE: f"zone-{_ZONE}", REGION: "region-1"}
    pod = _pod(labels, f"placed-{_NUMBER}", workload, {"nodeName": f"node-{_NODE}"})
    pod["metadata"]["managedFields"] += _managed("kubelet", "f:status", 20)
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    resources = pod["spec"]["containers"][0]["resources"]
    container = {
        "name": "main",
        "state": {"running": {"startedAt": _SECOND}},
        "lastState": {},
        "ready": True,
        "restartCount": 0,
        "image": f"registry.example/{workload}:v1",
        "imageID": "registry.example/image@sha256:" + 64 * "0",
        "containerID": "containerd://" + 64 * "0",
        "started": True,
        "allocatedResources": resources["requests"],
        "resources": resources,
    }
    pod["status"] = {
        "phase": "Running",
        "observedGeneration": 1,
        "conditions": [_condition(kind) for kind in kinds],
        "hostIP": "10.1.2.3",
        "hostIPs": [{"ip": "10.1.2.3"}],
        "podIP": f"10.4.5.{_NUMBER}",
        "podIPs": [{"ip": f"10.4.5.{_NUMBER}"}],
        "startTime": _SECOND,
        "containerStatuses": [container],
        "qosClass": "Burstable",
    }
    return pod


def _condition(kind: str) -> Content:
    return {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": _SECOND}


def _managed(by: str, part: str, fields: int) -> list[Content]:
    owned: Content = {part: {f"f:field-{number}": {".": {}, "f:value": {}} for number in range(fields)}}
    return [{"manager": by, "operation": "Update", "apiVersion": "v1", "time": _CREATED, "fieldsV1": owned}]


_NODE_TEXT: Final = _text(_node())
_PLACED_TEXT: Final = _text(_placed())

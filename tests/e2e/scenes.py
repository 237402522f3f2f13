"""Small clusters in which a pod called `wanted` finds no node, or only one that has to be cleared first.

Each scene is about one family of reasons. `says` is a part of what kube-scheduler answers, so that a scene which does
not show what it is meant to show is noticed. `volume_scenes.py` and `device_scenes.py` have more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.e2e import manifests
from tests.e2e.api import Object
from tests.e2e.families import DATABASE, GPU
from tests.e2e.manifests import HOST, ZONE, node

NAMESPACE: Final = "parity"
WANTED: Final = "wanted"
HELD: Final = "example.test/held"
HIGH, MEEK = "parity-high", "parity-meek"

CRITICAL: Final = "system-cluster-critical"
LAPTOP: Final = {"key": "laptop", "value": "yes", "effect": "NoExecute"}
REASONS: Final = tuple(f"example.test/a-resource-that-no-node-has-{number:02}" for number in range(30))

CLASSES: Final[tuple[Object, ...]] = (
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": HIGH},
        "value": 1000,
    },
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": MEEK},
        "value": 1000,
        "preemptionPolicy": "Never",
    },
)


@dataclass(frozen=True)
class Scene:
    """Nodes, the pods that run on them, and the pod that is to be placed."""

    name: str
    says: str
    wanted: Object
    nodes: Sequence[Object] = ()
    running: Sequence[Object] = ()
    budgets: Sequence[Object] = ()
    #: Pods of which something is said, and how many events that takes.
    events: Mapping[str, int] | None = None
    #: What is there before the scheduler comes, and means nothing to other scenes.
    objects: Sequence[Object] = ()
    #: The pod is not even tried, and nothing is said of it.
    is_held: bool = False

    @property
    def awaited(self) -> Mapping[str, int]:
        return {WANTED: 0 if self.is_held else 1} if self.events is None else self.events


def pod(name: str, requests: Mapping[str, str] | None = None, **spec: Any) -> Object:
    made = manifests.pod(NAMESPACE, name, requests, automountServiceAccountToken=False, **spec)
    resources = made["spec"]["containers"][0].get("resources", {"requests": {}})
    # Of a device there is nothing to spare.
    resources["limits"] = {resource: amount for resource, amount in resources["requests"].items() if "/" in resource}
    return made


def wanted(requests: Mapping[str, str] | None = None, **spec: Any) -> Object:
    return pod(WANTED, requests, **spec)


def running(name: str, on: str, requests: Mapping[str, str] | None = None, **spec: Any) -> Object:
    return pod(name, requests, nodeName=on, **spec)


def victim(name: str, on: str, requests: Mapping[str, str]) -> Object:
    """Describe a pod that stays when it is deleted, so that who waits for its room can be seen waiting."""
    made = running(name, on, requests)
    made["metadata"]["finalizers"] = [HELD]
    return made


def in_zone(name: str, zone: str) -> Object:
    return node(name, labels={ZONE: zone})


def asking_for_port(number: int) -> Object:
    return {"name": "main", "image": "i", "ports": [{"containerPort": number, "hostPort": number}]}


def affinity(kind: str, key: str, app: str) -> Object:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def node_affinity(*terms: Object) -> Object:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def on_nodes(*names: str) -> Object:
    return {"key": "metadata.name", "operator": "In", "values": list(names)}


def spread(key: str) -> list[Object]:
    selector = {"matchLabels": {"app": WANTED}}
    return [{"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}]


def like_wanted(name: str, on: str) -> Object:
    made = running(name, on)
    made["metadata"]["labels"] = {"app": WANTED}
    return made


def budget(app: str) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": {"app": app}}, "maxUnavailable": 0},
    }


def unschedulable(name: str) -> Object:
    made = node(name)
    made["spec"]["unschedulable"] = True
    return made


def disk() -> list[Object]:
    return [{"name": "disk", "iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2020-01.test:disk", "lun": 0}}]


SCENES: Final = (
    Scene("no nodes", "no nodes available to schedule pods", wanted()),
    Scene("it lands", "Successfully assigned parity/wanted to n1", wanted({"cpu": "1"}), [node("n1")]),
    Scene("too little cpu", "2 Insufficient cpu", wanted({"cpu": "5"}), [node("n1"), node("n2")]),
    Scene(
        "too little left of one thing or another",
        "1 Insufficient cpu, 1 Insufficient ephemeral-storage, 1 Insufficient example.test/gpu, 1 Insufficient memory",
        wanted({"cpu": "2", "memory": "2Gi", "ephemeral-storage": "2Gi", GPU: "1"}),
        [
            node("n1", {"ephemeral-storage": "9Gi", GPU: "1"}),
            node("n2", {"ephemeral-storage": "9Gi", GPU: "1", "memory": "1Gi"}),
            node("n3", {"ephemeral-storage": "1Gi", GPU: "1"}),
            node("n4", {"ephemeral-storage": "9Gi"}),
        ],
        [running("busy", "n1", {"cpu": "3"})],
    ),
    Scene(
        "several reasons on one node",
        "1 Insufficient cpu, 1 Insufficient memory",
        wanted({"cpu": "2", "memory": "2Gi"}),
        [node("n1", {"cpu": "1", "memory": "1Gi"})],
    ),
    Scene(
        "too many pods",
        "1 Insufficient cpu, 1 Too many pods",
        wanted({"cpu": "2"}),
        [node("n1", {"pods": "1"}), node("n2", {"cpu": "1"})],
        [running("busy", "n1")],
    ),
    Scene(
        "more reasons than an event holds",
        "Insufficient example.test/a-resource-that-no-node-has-29",
        wanted(dict.fromkeys(REASONS, "1")),
        [node("n1")],
    ),
    Scene(
        "taints",
        "2 node(s) had untolerated taint(s)",
        wanted(),
        [node("n1", taints=[DATABASE]), node("n2", taints=[LAPTOP])],
    ),
    Scene("a cordoned node", "1 node(s) were unschedulable", wanted(), [unschedulable("n1")]),
    Scene(
        "no node with the label",
        "2 node(s) didn't match Pod's node affinity/selector",
        wanted(nodeSelector={"disk": "nvme"}),
        [node("n1"), node("n2", labels={"disk": "ssd"})],
    ),
    Scene(
        "no node that the affinity names",
        "1 node(s) didn't match Pod's node affinity/selector",
        wanted(affinity=node_affinity({"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z"]}]})),
        [in_zone("n1", "a")],
    ),
    Scene(
        "a node that is not there",
        "0/2 nodes are available",
        wanted(affinity=node_affinity({"matchFields": [on_nodes("ghost")]})),
        [node("n1"), node("n2")],
    ),
    Scene(
        "only one node, which is full",
        "0/2 nodes are available",
        wanted({"cpu": "5"}, affinity=node_affinity({"matchFields": [on_nodes("n1")]})),
        [node("n1"), node("n2", {"cpu": "8"})],
    ),
    Scene(
        "terms that contradict each other",
        "pod affinity terms conflict. not found",
        wanted(affinity=node_affinity({"matchFields": [on_nodes("n1"), on_nodes("n2")]})),
        [node("n1"), node("n2")],
    ),
    Scene(
        "ports",
        "1 node(s) didn't have free ports for the requested pod ports",
        wanted(containers=[asking_for_port(8080)]),
        [node("n1")],
        [running("busy", "n1", containers=[asking_for_port(8080)])],
    ),
    Scene(
        "disks",
        "1 node(s) had no available disk",
        wanted(volumes=disk()),
        [node("n1")],
        [running("busy", "n1", volumes=disk())],
    ),
    Scene(
        "a claim that does not exist",
        'persistentvolumeclaim "nowhere" not found. not found',
        wanted(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "nowhere"}}]),
        [node("n1")],
    ),
    Scene(
        "spread",
        "1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints",
        wanted({"cpu": "1"}, topologySpreadConstraints=spread(HOST)),
        [node("n1"), node("n2", {"cpu": "500m"})],
        [like_wanted("other", "n1")],
    ),
    Scene(
        "spread over a label that nodes have not got",
        "1 node(s) didn't match pod topology spread constraints (missing required label)",
        wanted({"cpu": "1"}, topologySpreadConstraints=spread(ZONE)),
        [in_zone("n1", "a") | {"spec": {"taints": [DATABASE]}}, node("n2")],
    ),
    Scene(
        "apart from pods that are there",
        "1 node(s) didn't match pod anti-affinity rules",
        wanted(affinity=affinity("podAntiAffinity", HOST, "other")),
        [node("n1")],
        [running("other", "n1")],
    ),
    Scene(
        "pods that are there stay apart from it",
        "1 node(s) didn't satisfy existing pods anti-affinity rules",
        wanted(),
        [node("n1")],
        [running("other", "n1", affinity=affinity("podAntiAffinity", HOST, WANTED))],
    ),
    Scene(
        "together with pods that are not there",
        "1 node(s) didn't match pod affinity rules",
        wanted(affinity=affinity("podAffinity", ZONE, "other")),
        [in_zone("n1", "a")],
    ),
    Scene(
        "a little of everything",
        "0/6 nodes are available",
        wanted(nodeSelector={"pool": "web"}, containers=[asking_for_port(80)]),
        [
            node("n1", labels={"pool": "batch"}),
            node("n2", labels={"pool": "web"}, taints=[DATABASE]),
            unschedulable("n3"),
            node("n4", {"pods": "0"}, labels={"pool": "web"}),
            node("n5", labels={"pool": "web"}),
            node("n6", taints=[LAPTOP]),
        ],
        [running("busy", "n5", containers=[asking_for_port(80)])],
    ),
    Scene(
        "gates",
        "Scheduling is blocked due to non-empty scheduling gates",
        wanted(schedulingGates=[{"name": "example.test/a"}, {"name": "example.test/b"}]),
        [node("n1")],
        events={WANTED: 0},
    ),
    Scene(
        "a node that is cleared for it",
        "nominated='n1'",
        wanted({"cpu": "3"}, priorityClassName=HIGH),
        [node("n1"), node("n2", {"cpu": "2"})],
        [victim("victim", "n1", {"cpu": "2"}), running("spared", "n1", {"cpu": "1"})],
        events={WANTED: 1, "victim": 1, "spared": 0},
    ),
    Scene(
        "a node with a budget is spared",
        "nominated='n2'",
        wanted({"cpu": "3"}, priorityClassName=HIGH),
        [node("n1"), node("n2")],
        [victim("guarded", "n1", {"cpu": "2"}), victim("victim", "n2", {"cpu": "2"})],
        [budget("guarded")],
        {WANTED: 1, "victim": 1, "guarded": 0},
    ),
    Scene(
        "a budget that does not help",
        "nominated='n1'",
        wanted({"cpu": "3"}, priorityClassName=HIGH),
        [node("n1")],
        [victim("guarded", "n1", {"cpu": "2"})],
        [budget("guarded")],
        {WANTED: 1, "guarded": 1},
    ),
    Scene(
        "a pod that does not preempt",
        "preemption: not eligible due to preemptionPolicy=Never.",
        wanted({"cpu": "3"}, priorityClassName=MEEK),
        [node("n1")],
        [running("busy", "n1", {"cpu": "2"})],
    ),
    Scene(
        "nobody to preempt",
        "1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.",
        wanted({"cpu": "3"}, priorityClassName=HIGH),
        [node("n1"), node("n2", {"cpu": "2"})],
        [running("busy", "n1", {"cpu": "2"}, priorityClassName=CRITICAL)],
    ),
    Scene(
        "preempting would not be enough",
        "preemption: 0/1 nodes are available: 1 Insufficient cpu.",
        wanted({"cpu": "3"}, priorityClassName=HIGH),
        [node("n1")],
        [running("critical", "n1", {"cpu": "2"}, priorityClassName=CRITICAL), running("small", "n1", {"cpu": "1"})],
    ),
)

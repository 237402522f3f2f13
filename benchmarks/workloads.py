"""Clusters and pods to measure with: each workload is a function from a number to a pod.

Templates are few, as the workloads of a cluster are; the all-different variant gives every pod a request of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks import claims
from stowplan.model.decode import decode_object
from stowplan.model.node import Node
from stowplan.model.pod import Pod

TEMPLATES = 3
ZONES = 10
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"

Spec = dict[str, object]


def _nothing(number: int) -> Spec:
    return {}


def _no_objects(nodes: int, pods: int) -> Iterable[Any]:
    return ()


@dataclass(frozen=True, slots=True)
class Workload:
    """What is measured: a name, what each pod asks for beyond its requests, and the pods a second it must reach."""

    name: str
    extra: Callable[[int], Spec]
    is_different: bool = False
    bar_at_5000: int | None = None
    #: How many pods there is room for on a node, where the workload itself limits it.
    most_per_node: int | None = None
    #: What each pod has for itself, by its number, and what the cluster has besides, for so many nodes and pods.
    own: Callable[[int], Spec] = _nothing
    besides: Callable[[int, int], Iterable[Any]] = _no_objects
    #: The largest cluster that is worth the time it takes to build.
    most_nodes: int | None = None

    def pod(self, number: int) -> Pod:
        template = number % TEMPLATES
        milli_cpu = 100 + (number if self.is_different else 50 * template)
        resources = {"requests": {"cpu": f"{milli_cpu}m", "memory": "256Mi"}}
        name = f"p{number}"
        content = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "uid": name, "namespace": "default", "labels": _labels(template)},
            "spec": {
                "containers": [{"name": "c", "image": "app:1", "resources": resources}],
                **self.extra(template),
                **self.own(number),
            },
        }
        pod = decode_object(content)
        assert isinstance(pod, Pod)
        return pod


def node(number: int) -> Node:
    """Return a node of 32 cpus in one of ten zones; every eleventh has a taint, so that no zone is closed."""
    labels = {HOSTNAME: f"n{number}", ZONE: f"z{number % ZONES}", "disk": "ssd" if number % 2 else "hdd"}
    taints = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}] if number % 11 == 10 else []
    room = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    content = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{number}", "labels": labels},
        "spec": {"taints": taints},
        "status": {"allocatable": room, "capacity": room},
    }
    found = decode_object(content)
    assert isinstance(found, Node)
    return found


def _labels(template: int) -> dict[str, str]:
    return {"app": f"app-{template}"}


def _selector(template: int) -> Spec:
    return {"matchLabels": _labels(template)}


def _node_affinity_and_taints(template: int) -> Spec:
    required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]}
    preferred = [
        {"weight": 5, "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [f"z{template}"]}]}}
    ]
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": required,
        "preferredDuringSchedulingIgnoredDuringExecution": preferred,
    }
    toleration = {"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}
    return {"affinity": {"nodeAffinity": affinity}, "tolerations": [toleration]}


def _spread(when: str) -> Callable[[int], Spec]:
    def extra(template: int) -> Spec:
        zone = {"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": when, "labelSelector": _selector(template)}
        return {"topologySpreadConstraints": [zone]}

    return extra


def _required(kind: str, key: str) -> Callable[[int], Spec]:
    def extra(template: int) -> Spec:
        term = {"topologyKey": key, "labelSelector": _selector(template)}
        return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}

    return extra


def _preferred(kind: str, key: str) -> Callable[[int], Spec]:
    def extra(template: int) -> Spec:
        term = {"weight": 10, "podAffinityTerm": {"topologyKey": key, "labelSelector": _selector(template)}}
        return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}}

    return extra


WORKLOADS = (
    Workload("plain", _nothing, bar_at_5000=10_000),
    Workload("plain, all different", _nothing, is_different=True, bar_at_5000=2_000),
    Workload("node affinity and taints", _node_affinity_and_taints),
    Workload("hard topology spread", _spread("DoNotSchedule"), bar_at_5000=2_000),
    Workload("soft topology spread", _spread("ScheduleAnyway"), bar_at_5000=2_000),
    Workload("required pod affinity", _required("podAffinity", ZONE), bar_at_5000=2_000),
    Workload("required pod anti-affinity", _required("podAntiAffinity", HOSTNAME), bar_at_5000=2_000, most_per_node=2),
    Workload("preferred pod affinity", _preferred("podAffinity", ZONE), bar_at_5000=2_000),
    Workload("preferred pod anti-affinity", _preferred("podAntiAffinity", HOSTNAME), bar_at_5000=2_000),
    Workload("own volume", _nothing, own=claims.volume, besides=claims.disks, most_nodes=20_000),
    Workload(
        "own device",
        _nothing,
        own=claims.device,
        besides=claims.devices,
        most_per_node=claims.DEVICES_PER_NODE - 1,
        most_nodes=20_000,
    ),
)

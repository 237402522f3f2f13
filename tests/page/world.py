"""The cluster that the tests of the page look at: 1,000 nodes and 5,000 pods, of which ten wait.

Nodes are `general-000` to `general-989`, over three zones by turns, and `gpu-0` to `gpu-9`, in zone a and tainted. What
is told here by hand is what the tests expect.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from tests.page.markup import LABEL, MARKUP

Object = dict[str, Any]

NODES: Final = 1000
PODS: Final = 5000
#: Five huge ones, one that a plugin refuses with markup, one with a gate, and three of a gang of four.
WAITING: Final = 10
PLACED: Final = PODS - WAITING
#: Cordoned, the second with a pod on it.
CORDONED: Final = ("general-989", "gpu-9")
ZONE: Final = "topology.kubernetes.io/zone"
GPU: Final = "nvidia.com/gpu"
#: How often each is the first reason of a node for which `shop/huge-0` fits nowhere.
HUGE_REASONS: Final = {
    "node(s) were unschedulable": 2,
    "node(s) had untolerated taint(s)": 9,
    "Insufficient cpu": 989,
}
#: What is said of it before the word on preemption.
HUGE_MESSAGE: Final = "0/1000 nodes are available: " + ", ".join(f"{many} {why}" for why, many in HUGE_REASONS.items())
#: Whom `train/urgent` pushes out when it comes, and where it goes then: the least important one.
GONE: Final = "train/model-7"
#: Whom `train/chief`, whose own node is cordoned, would push out if it were to be placed now: the next one.
NEXT_VICTIM: Final = "train/model-3"

_GENERAL: Final = {"cpu": "16", "memory": "64Gi", "pods": "110"}
_WITH_GPUS: Final = {"cpu": "32", "memory": "128Gi", "pods": "110", GPU: "4"}
_FULL_NODES: Final = 976
_ALL_GPUS: Final = {"cpu": "8", "memory": "32Gi", GPU: "4"}
_TOLERATES: Final = [{"key": GPU, "operator": "Exists"}]
_PRIORITIES: Final = {GONE: -10, NEXT_VICTIM: -5, "train/chief": 1000}

CONFIG: Final = f"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: false}}
profiles:
  - schedulerName: default-scheduler
    plugins: {{multiPoint: {{enabled: [{{name: '{Path(__file__).with_name("markup.py")}:Markup'}}]}}}}
"""


def write(folder: Path) -> tuple[str, ...]:
    """Write what the cluster begins with, and return the options of `stowplan up` for it."""
    dump, config = folder / "dump.json", folder / "config.yaml"
    write_objects(dump, there_already())
    config.write_text(CONFIG, encoding="utf-8")
    return "--from", str(dump), "--config", str(config), "--feature-gates", "GenericWorkload=true"


def write_large(folder: Path, nodes: int, pods: int) -> tuple[str, ...]:
    """Write a cluster of so many nodes in three zones, and pods that run on them by turns."""
    zones, requests = ("a", "b", "c"), {"cpu": "100m", "memory": "200Mi"}
    objects = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}]
    objects += [node(f"node-{number:05d}", zones[number % 3]) for number in range(nodes)]
    objects += [running("shop", f"old-{number:06d}", f"node-{number % nodes:05d}", requests) for number in range(pods)]
    dump = folder / "dump.json"
    write_objects(dump, objects)
    return "--from", str(dump)


def write_objects(path: Path, objects: list[Object]) -> None:
    """Write objects as if they came from a server, which is how they are loaded fastest, with their status."""
    for number, each in enumerate(objects):
        each["metadata"] |= {
            "uid": f"00000000-0000-4000-8000-{number:012x}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "resourceVersion": "1",
        }
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")


def there_already() -> list[Object]:
    """Describe nodes, and pods that run on them: five on each general node but the last ones, one on each with GPUs."""
    zones = ("a", "b", "c")
    nodes = [node(f"general-{number:03d}", zones[number % 3]) for number in range(990)]
    sound = {"type": "example.com/Sound", "status": "True", "reason": "Heard", "message": MARKUP}
    nodes[0]["status"]["conditions"].append(sound)
    nodes += [node(f"gpu-{number}", "a", _WITH_GPUS, taint=GPU) for number in range(10)]
    for each in nodes:
        if each["metadata"]["name"] in CORDONED:
            each["spec"]["unschedulable"] = True
    pods = [
        running("shop", f"web-{number:04d}", f"general-{number % _FULL_NODES:03d}", {"cpu": "500m", "memory": "1Gi"})
        for number in range(5 * _FULL_NODES)
    ]
    pods += [with_all_gpus(f"model-{number}", f"gpu-{number}") for number in range(9)]
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("shop", "train")]
    return [*spaces, *nodes, *pods, with_all_gpus("chief", "gpu-9")]


def with_all_gpus(name: str, on: str) -> Object:
    """Describe a pod that has all GPUs of its node."""
    made = running("train", name, on, _ALL_GPUS)
    made["spec"] |= {"tolerations": _TOLERATES, "priority": _PRIORITIES.get(f"train/{name}", 0)}
    return made


def coming() -> list[Object]:
    """Describe what is created when the scheduler runs: a hundred pods that fit, and those that wait."""
    urgent = {"tolerations": _TOLERATES, "priorityClassName": "urgent"}
    return [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000},
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "gang", "namespace": "train"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 4}}},
        },
        *(pod("shop", f"late-{number:02d}", {"cpu": "250m", "memory": "512Mi"}) for number in range(100)),
        *(pod("shop", f"huge-{number}", {"cpu": "64"}) for number in range(5)),
        pod("shop", "gated", {"cpu": "1"}, schedulingGates=[{"name": "example.com/data"}]),
        marked(),
        *(pod("train", f"gang-{number}", schedulingGroup={"podGroupName": "gang"}) for number in range(3)),
        pod("train", "urgent", _ALL_GPUS, **urgent),
    ]


def marked() -> Object:
    """Describe a pod with markup wherever a pod may have it."""
    made = pod("shop", "marked", {"cpu": "1"})
    made["metadata"] |= {"labels": {LABEL: "everywhere"}, "annotations": {"example.com/note": MARKUP}}
    made["spec"]["containers"][0] |= {"args": [MARKUP], "env": [{"name": "TEXT", "value": MARKUP}]}
    return made


def node(name: str, zone: str, amounts: dict[str, str] = _GENERAL, taint: str = "") -> Object:
    """Describe a node that is ready."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, ZONE: zone}},
        "spec": {"taints": [{"key": taint, "effect": "NoSchedule"}]} if taint else {},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}],
        },
    }


def running(namespace: str, name: str, on: str, requests: dict[str, str]) -> Object:
    """Describe a pod that runs."""
    made = pod(namespace, name, requests, nodeName=on)
    conditions = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    made["status"] = {
        "phase": "Running",
        "startTime": "2026-01-01T00:00:00Z",
        "conditions": [{"type": each, "status": "True"} for each in conditions],
    }
    return made


def pod(namespace: str, name: str, requests: dict[str, str] | None = None, **spec: Any) -> Object:
    """Describe a pod of one container that requests this much."""
    resources: Object = {"requests": requests or {}}
    if requests and GPU in requests:
        resources["limits"] = {GPU: requests[GPU]}
    container = {"name": "main", "image": "example.test/app:1", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "labels": {"app": name.partition("-")[0]}},
        "spec": {"containers": [container], "automountServiceAccountToken": False, **spec},
    }

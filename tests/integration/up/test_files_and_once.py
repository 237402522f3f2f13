"""`stowplan schedule` says of files what `stowplan up --once` does with them, also where pods have to go."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.up.up_process import run

NODE = (
    "{apiVersion: v1, kind: Node, metadata: {name: %s}, status: {capacity: {cpu: %s, memory: 8Gi, pods: 9},"
    " allocatable: {cpu: %s, memory: 8Gi, pods: 9}}}"
)
CLASS = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: %s}, value: %s, preemptionPolicy: %s}"
POD = (
    "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {%sterminationGracePeriodSeconds: 0,"
    " containers: [{name: c, image: i, resources: {requests: {cpu: %s}}}]}}"
)
SET = """
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: a-set}
spec:
  replicas: 2
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]
"""
CLASSES = (
    CLASS % ("urgent", 1000, "PreemptLowerPriority"),
    CLASS % ("fair", 10, "PreemptLowerPriority"),
    CLASS % ("meek", 2000, "Never"),
)
SORTING = """\
from stowplan.framework.contract import QueueSort
class ByName(QueueSort):
    def sort_key(self, pod, queued_at): return pod.name
"""
BY_NAME = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {queueSort: {enabled: [{name: "sorting.py:ByName"}], disabled: [{name: "*"}]}}}]
"""


def placed_on(node: str, more: str = "") -> str:
    return f"nodeName: {node}, {more}"


def of_class(name: str) -> str:
    return f"priorityClassName: {name}, "


def told(folder: Path, *arguments: str) -> dict[str, Any]:
    result = run(folder, *arguments, "cluster.yaml", "-o", "json")
    assert result.returncode in (0, 1), result.stderr
    data = json.loads(result.stdout)

    def short(pod: str) -> str:
        # The pods of a set are called by chance.
        return "a-set" if pod.startswith("default/a-set-") else pod

    return {
        "exit": result.returncode,
        "placements": sorted((short(one["pod"]), one["node"]) for one in data["placements"]),
        "refused": sorted((short(one["pod"]), one["message"]) for one in data["refused"]),
        "preempted": sorted((short(one["pod"]), one["node"], one["by"]) for one in data["preempted"]),
    }


FRIEND = """
apiVersion: v1
kind: Pod
metadata: {name: b, labels: {app: b}}
spec: {containers: [{name: c, image: i}]}
"""
BESIDE_FRIEND = """
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers: [{name: c, image: i}]
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: b}}}
"""
NAMED_NODE = NODE.replace("{name: %s}", "{name: %s, labels: {kubernetes.io/hostname: n}}")


@pytest.mark.parametrize(
    ("objects", "options", "gone"),
    [
        pytest.param(
            (NAMED_NODE % ("n", 4, 4), BESIDE_FRIEND, FRIEND),
            (),
            [],
            id="a pod is tried again when one that it wants to be beside has found a node",
        ),
        pytest.param(
            (
                NODE % ("n", 8, 8),
                NODE % ("m", 8, 8),
                POD % ("fair", placed_on("n", of_class("fair")), 6),
                POD % ("low", placed_on("m"), 6),
                POD % ("high", of_class("urgent"), 5),
                POD % ("late", "", 3),
                POD % ("too-large", "", 6),
            ),
            (),
            [("default/low", "m", "default/high")],
            id="the least important goes, and others take what is left",
        ),
        pytest.param(
            (
                NODE % ("n", 8, 8),
                POD % ("low", placed_on("n"), 8),
                POD % ("meek", of_class("meek"), 3),
                POD % ("high", of_class("urgent"), 4),
                POD % ("late", "", 2),
            ),
            (),
            [("default/low", "n", "default/high")],
            id="one that may not preempt is tried again",
        ),
        pytest.param(
            (
                NODE % ("n", 8, 8),
                POD % ("low", placed_on("n"), 8),
                POD % ("a", of_class("urgent"), 4),
                POD % ("b", of_class("urgent"), 4),
            ),
            (),
            [("default/low", "n", "default/a")],
            id="two count on the end of a pod that the first of them evicted",
        ),
        pytest.param(
            (NODE % ("n", 8, 8), POD % ("a", "", 6), POD % ("b", of_class("urgent"), 6)),
            ("--config", "config.yaml"),
            [("default/a", "n", "default/b")],
            id="a pod that was placed before goes",
        ),
        pytest.param(
            (NODE % ("n", 8, 8), NODE % ("m", 2, 2), SET, POD % ("b", of_class("urgent"), 7)),
            ("--config", "config.yaml"),
            [("a-set", "n", "default/b")] * 2,
            id="a workload makes another pod",
        ),
    ],
)
def test_files_are_told_as_they_would_come_out(
    tmp_path: Path, objects: tuple[str, ...], options: tuple[str, ...], gone: list[tuple[str, str, str]]
) -> None:
    (tmp_path / "cluster.yaml").write_text("\n---\n".join((*CLASSES, *objects)))
    (tmp_path / "sorting.py").write_text(SORTING)
    (tmp_path / "config.yaml").write_text(BY_NAME)
    foretold = told(tmp_path, "schedule", *options)
    assert foretold["preempted"] == gone
    assert foretold == told(tmp_path, "up", "--once", *options)

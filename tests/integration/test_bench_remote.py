"""`stowplan bench --kubeconfig`: a workload on a server in one process, placed by a scheduler in another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.integration.up.up_process import Up, run, running, started

CASE = """
- name: Case
  workloadTemplate:
  - {opcode: createNodes, count: 4, nodeTemplatePath: node.yaml}
  - {opcode: churn, mode: create, templatePaths: [service.yaml], intervalMilliseconds: 1, number: 1}
  - {opcode: createPods, count: 4, podTemplatePath: low.yaml, namespace: before}
  - {opcode: createPods, count: 2, podTemplatePath: high.yaml, collectMetrics: true}
  workloads:
  - {name: Preempting, params: {}}
"""
BY_HAND = """
- name: Case
  workloadTemplate:
  - {opcode: createNodes, count: 1, nodeTemplatePath: node.yaml}
  - {opcode: allocResourceClaims}
  - {opcode: createPods, count: 1, podTemplatePath: low.yaml, collectMetrics: true}
  workloads:
  - {name: ByHand, params: {}}
"""
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: s, user: u}}]
clusters: [{name: s, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {generateName: pod-}
spec:
  terminationGracePeriodSeconds: 0
  priority: %d
  containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]
"""
TEMPLATES = {
    "node.yaml": """
apiVersion: v1
kind: Node
metadata: {name: "made-{{.Index}}"}
status: {capacity: {cpu: 4, memory: 8Gi, pods: 110}, conditions: [{type: Ready, status: "True"}]}
""",
    "service.yaml": """
apiVersion: v1
kind: Service
metadata: {generateName: web-}
spec: {selector: {app: web}, ports: [{protocol: TCP, port: 80}]}
""",
    "low.yaml": POD % 0,
    "high.yaml": POD % 10,
}


@contextmanager
def cluster(folder: Path, *arguments: str) -> Iterator[tuple[Up, int]]:
    """Have an API server with controllers, and a scheduler beside it; its process is told by number."""
    left_out = ("--without", "scheduler", "--without", "kubelets")
    with (
        running(folder, "--kubeconfig", "k.yaml", *left_out, *arguments) as up,
        started(folder, "run", "--kubeconfig", "k.yaml", "--leader-elect=false", "--secure-port", "0") as scheduler,
    ):
        yield up, scheduler.pid


def bench(folder: Path, case: str, *arguments: str) -> tuple[int, Any, str]:
    """Run a workload; return the exit code, what was measured, and what else was said."""
    for name, text in TEMPLATES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "performance-config.yaml").write_text(case, encoding="utf-8")
    done = run(folder, "bench", ".", "--kubeconfig", "k.yaml", "-o", "json", *arguments)
    return done.returncode, json.loads(done.stdout), done.stderr


def names(up: Up, resource: str) -> set[str]:
    return {item["metadata"]["name"] for item in up.get(resource)["items"]}


def test_a_workload_is_placed_by_the_scheduler_of_the_cluster_and_taken_away_again(tmp_path: Path) -> None:
    kinds = (
        "/api/v1/pods",
        "/api/v1/nodes",
        "/api/v1/namespaces",
        "/api/v1/services",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
    )
    with cluster(tmp_path, "--nodes", "0") as (up, pid):
        before = {kind: names(up, kind) for kind in kinds}
        code, data, said = bench(tmp_path, CASE, "--scheduler-pid", str(pid))
        assert (code, data["stowplan"]["workloads"][0]["problem"]) == (0, ""), said
        # Both find room only where another has to go, which the server has by then deleted.
        assert data["stowplan"]["workloads"][0]["pods"] == [2]
        assert "CPUTimePerPod" in {item["labels"]["Metric"] for item in data["dataItems"]}
        assert {kind: names(up, kind) for kind in kinds} == before


def test_a_cluster_with_nodes_of_its_own_is_left_alone_unless_told_otherwise(tmp_path: Path) -> None:
    with cluster(tmp_path, "--nodes", "5") as (up, _):
        nodes = names(up, "/api/v1/nodes")
        code, data, _ = bench(tmp_path, CASE)
        assert code == 1
        assert "the cluster has nodes already" in data["stowplan"]["workloads"][0]["problem"]
        code, data, said = bench(tmp_path, CASE, "--allow-other-nodes")
        assert (code, data["stowplan"]["workloads"][0]["problem"]) == (0, ""), said
        assert names(up, "/api/v1/nodes") == nodes


def test_what_a_real_server_cannot_do_is_named_before_anything_is_made(tmp_path: Path) -> None:
    # Nobody is asked, so nobody has to be there.
    (tmp_path / "k.yaml").write_text(KUBECONFIG, encoding="utf-8")
    code, data, said = bench(tmp_path, BY_HAND)
    assert code == 1
    problem = data["stowplan"]["workloads"][0]["problem"]
    assert problem == (
        "operation 1 (allocResourceClaims): claims are allocated without a pod only in process, where the allocator"
        " is at hand"
    )
    assert problem in said


def test_flags_for_a_real_cluster_need_one(tmp_path: Path) -> None:
    (tmp_path / "performance-config.yaml").write_text(CASE, encoding="utf-8")
    done = run(tmp_path, "bench", ".", "--scheduler-pid", "1")
    assert done.returncode == 2
    assert "--kubeconfig" in done.stderr

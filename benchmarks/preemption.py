"""Preemption: a full cluster of pods of low priority, and pods of high priority that each need one of them gone.

Timed is all that a preemption costs here: the attempt that finds no node, the dry run, the choice, taking the victims
away, and the attempt that then places the pod.
"""

from __future__ import annotations

import gc
import time

from benchmarks.measure import Row, cluster_of
from stowplan.app.cluster import Chosen, Cluster
from stowplan.engine import scheduling_cycle
from stowplan.framework.contract import Preemption
from stowplan.framework.post_filter import attempt_of, run_post_filter
from stowplan.model.decode import decode_object
from stowplan.model.pod import Pod

NAME = "preemption"
NODES, PODS_PER_NODE, BAR = 5_000, 4, 150
WARM_UP = 20
# Each takes one node; with many more, nodes without victims would be the rule.
MOST = NODES // 2
LOW, HIGH = 1, 1000


def measure(seconds: float) -> Row:
    """Preempt for about `seconds`."""
    cluster = _full_cluster()
    waiting = [_pod(f"high-{number}", HIGH, milli_cpu=8_000) for number in reversed(range(MOST + WARM_UP))]
    for _ in range(WARM_UP):
        _make_room(cluster, waiting.pop())
    gc.collect()
    gc.freeze()
    started, done = time.perf_counter(), 0
    while done < MOST and time.perf_counter() - started < seconds:
        _make_room(cluster, waiting.pop())
        done += 1
    rate = done / (time.perf_counter() - started)
    gc.unfreeze()
    return Row(f"{NAME}, {PODS_PER_NODE} pods a node", NODES, done, rate, BAR)


def _full_cluster() -> Cluster:
    """Fill every node of 32 cpus with four pods of 7.5, so that a pod of 8 fits nowhere."""
    cluster = cluster_of(NODES)
    for number in range(NODES * PODS_PER_NODE):
        cluster.add(_pod(f"low-{number}", LOW, 7_500, number))
    return cluster


def _pod(name: str, priority: int, milli_cpu: int, number: int | None = None) -> Pod:
    resources = {"requests": {"cpu": f"{milli_cpu}m", "memory": "500Mi"}}
    spec: dict[str, object] = {"containers": [{"name": "c", "resources": resources}], "priority": priority}
    status: dict[str, object] = {}
    if number is not None:
        spec["nodeName"] = f"n{number // PODS_PER_NODE}"
        status["startTime"] = f"2025-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
    metadata = {"name": name, "uid": name, "namespace": "default", "labels": {"app": "app"}}
    content = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}
    pod = decode_object(content)
    assert isinstance(pod, Pod)
    return pod


def _make_room(cluster: Cluster, pod: Pod) -> None:
    preemption = _decide(cluster, pod)
    for victim in preemption.victims:
        cluster.remove(victim)
    result = cluster.schedule(pod)
    if not isinstance(result, Chosen) or result.node_name != preemption.node_name:
        raise SystemExit(f"room was made on {preemption.node_name!r}, but the pod did not go there: {result}")


def _decide(cluster: Cluster, pod: Pod) -> Preemption:
    profile = cluster.profile_of(pod)
    found = scheduling_cycle.find_feasible(cluster.field, profile, pod, cluster.cache.table.shape_of(pod))
    attempt = attempt_of(found.kept, found.verdict, pod, cluster.field.nominations)
    answer = run_post_filter(profile, pod, attempt)
    if found.count or answer.nominated is None or answer.nominated.preemption is None:
        raise SystemExit(f"a pod that needs room found none to make: {answer.message}")
    return answer.nominated.preemption

"""Run one workload on one size of cluster and time full cycles: pop from a list, filter, score, pick, assume."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass

from benchmarks.workloads import WORKLOADS, Workload, node
from stowplan.app.cluster import Chosen, Cluster
from stowplan.bench.process_cost import MeasuredProcess
from stowplan.model.pod import Pod

WARM_UP = 40
FEWEST_PODS, MOST_PODS = 1_000, 10_000


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement."""

    workload: str
    nodes: int
    pods: int
    pods_per_second: float
    bar: float | None = None

    @property
    def is_met(self) -> bool:
        return self.bar is None or self.pods_per_second >= self.bar


def cluster_of(nodes: int) -> Cluster:
    cluster = Cluster(seed=1)
    for number in range(nodes):
        cluster.add(node(number))
    return cluster


def measure(workload: Workload, nodes: int, seconds: float) -> Row:
    """Schedule pods for about `seconds`, at least 1,000 and at most 10,000 of them."""
    cluster = cluster_of(nodes)
    most = MOST_PODS if workload.most_per_node is None else min(MOST_PODS, workload.most_per_node * nodes)
    cluster.add_all(workload.besides(nodes, most + WARM_UP))
    waiting = [workload.pod(number) for number in reversed(range(most + WARM_UP))]
    for _ in range(WARM_UP):
        _schedule(cluster, waiting)
    gc.collect()
    gc.freeze()
    started, done = time.perf_counter(), 0
    while done < most and (done < FEWEST_PODS or time.perf_counter() - started < seconds):
        _schedule(cluster, waiting)
        done += 1
    rate = done / (time.perf_counter() - started)
    gc.unfreeze()
    return Row(workload.name, nodes, done, rate, workload.bar_at_5000 if nodes == 5_000 else None)


def _schedule(cluster: Cluster, waiting: list[Pod]) -> None:
    result = cluster.schedule(waiting.pop())
    if not isinstance(result, Chosen):
        raise SystemExit(f"a pod that should fit was not placed: {getattr(result, 'message', type(result).__name__)}")


def resident_mebibytes(nodes: int, pods: int) -> float:
    """Return the peak resident memory of this process after placing so many pods; meant for a process of its own."""
    cluster = cluster_of(nodes)
    for number in range(pods):
        _schedule(cluster, [WORKLOADS[0].pod(number)])
    # Not what getrusage says: that begins with the memory of the process that started this one.
    return MeasuredProcess().peak_mebibytes()

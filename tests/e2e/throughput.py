"""Measure how fast a scheduler places pods on a large cluster of the real API server; `make e2e-bench` prints it.

The pods wait before the scheduler starts, so that making them does not compete with placing them. The clock runs from
the first binding seen to the last, and so does the count of processor time.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.api import Api
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import node, pod
from tests.e2e.plane import Plane
from tests.e2e.scheduler_process import SchedulerProcess, kube_scheduler

NODES = 5000
PODS = 3000
REQUESTS = {"cpu": "100m", "memory": "500Mi"}
CONFIGURATION: Mapping[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "clientConnection": {"qps": 5000, "burst": 5000},
}

Contender = Callable[[Plane, Mapping[str, Any]], SchedulerProcess]

CONTENDERS: Mapping[str, Contender] = {"kube-scheduler": kube_scheduler}


@dataclass(frozen=True, slots=True)
class Throughput:
    """How fast one scheduler was, and what it cost."""

    pods: int
    seconds: float
    cpu_seconds: float

    def __str__(self) -> str:
        rate, cost = self.pods / self.seconds, 1000 * self.cpu_seconds / self.pods
        return f"{self.pods} pods in {self.seconds:.1f} s: {rate:.0f} pods a second, {cost:.2f} ms of CPU time a pod"


def main() -> None:
    """Measure every contender on one control plane, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        plane = Plane(Path(folder))
        try:
            plane.start()
            kubelets = Kubelets(plane.api)
            for name, contender in CONTENDERS.items():
                say(f"{name}, {NODES} nodes: {measure(plane, kubelets, contender)}")
        finally:
            plane.stop()


def measure(plane: Plane, kubelets: Kubelets, contender: Contender) -> Throughput:
    """Fill an empty cluster with pods and let a scheduler place them."""
    kubelets.clear()
    started = time.monotonic()
    kubelets.register(node(f"node-{number}", {"cpu": "32", "memory": "256Gi"}) for number in range(NODES))
    plane.api.create_all(pod("default", f"pod-{number}", REQUESTS) for number in range(PODS))
    say(f"made {NODES} nodes and {PODS} pods in {time.monotonic() - started:.1f} s")
    scheduler = contender(plane, CONFIGURATION)
    try:
        scheduler.process.start()
        return plane.api.run(follow(plane.api, scheduler))
    finally:
        scheduler.stop()


async def follow(api: Api, scheduler: SchedulerProcess) -> Throughput:
    """Watch the pods until all are bound."""
    query = {"fieldSelector": "spec.nodeName!=", "resourceVersion": "0"}
    bound: set[str] = set()
    first = first_cpu = 0.0
    async for kind, item in api.watch("/api/v1/pods", **query):
        if kind not in ("ADDED", "MODIFIED"):
            raise RuntimeError(f"the watch of pods was interrupted: {item}")
        if not bound:
            first, first_cpu = time.monotonic(), scheduler.process.cpu_seconds()
        bound.add(item["metadata"]["name"])
        if len(bound) == PODS:
            break
    return Throughput(PODS, time.monotonic() - first, scheduler.process.cpu_seconds() - first_cpu)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

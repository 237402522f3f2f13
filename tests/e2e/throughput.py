"""Measure Stowplan beside kube-scheduler, and beside nobody, on one real API server; `make e2e-bench` prints it.

The pods wait before a scheduler starts, so that making them does not compete with placing them. They are alike but for
their names, as those of one ReplicaSet are. Both schedulers show a token of one service account, as what runs in a pod
does. What they do is read in the audit log of the API server, which costs neither of them anything: the clock runs from
the first binding to the last; processor time is counted from the first binding until the last event is written, so that
nothing is gained by writing events late. Each scheduler has its turn early and late; at the end it is told that both
wrote the same.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.api import Object
from tests.e2e.contenders import CONFIGURATION, CONTENDERS, OURS, THEIRS, Diary, make_scheduler_identity, order_of, say
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import node, pod
from tests.e2e.plane import Plane
from tests.e2e.processes import Process
from tests.e2e.real_plane import RealPlane
from tests.e2e.scheduler_process import SchedulerProcess

NODES = 5000
PODS = 3000
REQUESTS = {"cpu": "100m", "memory": "500Mi"}
LABELS = {"app": "web"}
PODS_PATH = "/api/v1/namespaces/default/pods"
EVENTS_PATH = "/apis/events.k8s.io/v1/namespaces/default/events"

_PATIENCE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Throughput:
    """How fast one scheduler was, and what it cost; `lag_seconds` are from the last binding to the last event."""

    pods: int
    seconds: float
    cpu_seconds: float
    lag_seconds: float

    @property
    def rate(self) -> float:
        """Pods bound in a second."""
        return self.pods / self.seconds

    @property
    def rate_with_events(self) -> float:
        """Pods bound in a second, counted until their events are written too."""
        return self.pods / (self.seconds + self.lag_seconds)

    @property
    def cost(self) -> float:
        """Milliseconds of processor time for a pod."""
        return 1000 * self.cpu_seconds / self.pods

    def __str__(self) -> str:
        return (
            f"{self.pods} pods in {self.seconds:.1f} s: {self.rate:.0f} pods a second, {self.cost:.2f} ms of CPU time"
            f" a pod; last event {self.lag_seconds:.1f} s after last binding"
        )


def main() -> None:
    """Measure every contender on one control plane, one after the other, and compare them."""
    measured: dict[str, list[Throughput]] = {name: [] for name in CONTENDERS}
    with tempfile.TemporaryDirectory() as folder:
        plane = RealPlane(Path(folder))
        try:
            plane.start()
            Kubelets(plane.api).register(
                node(f"node-{number}", {"cpu": "32", "memory": "256Gi"}) for number in range(NODES)
            )
            identity = make_scheduler_identity(plane)
            for turn, name in enumerate(order_of(0, 2)):
                found = measure(plane, CONTENDERS[name](plane, CONFIGURATION, f"{name}-{turn}", identity))
                measured[name].append(found)
                say(f"{name}, {NODES} nodes: {found}")
            say_writes(plane)
        finally:
            plane.stop()
    totals = {name: total(found) for name, found in measured.items()}
    for name, found in totals.items():
        say(f"{name}, all turns: {found}")
    say(comparison(totals[OURS], totals[THEIRS]))


def measure(plane: Plane, scheduler: SchedulerProcess) -> Throughput:
    """Fill the cluster with pods, let a scheduler place them, and remove them."""
    plane.api.create_all(alike(number) for number in range(PODS))
    diary = Diary(plane.audit_log, "default")
    try:
        scheduler.process.start()
        return await_end(diary, scheduler.process)
    finally:
        scheduler.stop()
        plane.api.delete(PODS_PATH, gracePeriodSeconds="0")
        plane.api.delete(EVENTS_PATH)


def alike(number: int) -> Object:
    """Describe one of the pods."""
    made = pod("default", f"pod-{number}", REQUESTS)
    return {**made, "metadata": {**made["metadata"], "labels": LABELS}}


def await_end(diary: Diary, process: Process) -> Throughput:
    """Wait until all pods are bound and all events written, for as long as the scheduler lives."""
    cpu_started = process.cpu_seconds()

    def have_all() -> bool:
        nonlocal cpu_started
        if not diary.bound_at:
            cpu_started = process.cpu_seconds()
        diary.read()
        return len(diary.bound_at) >= PODS and len(diary.told_at) >= PODS

    process.wait_until(have_all, _PATIENCE_SECONDS)
    cpu_seconds = process.cpu_seconds() - cpu_started
    first, last = min(diary.bound_at), max(diary.bound_at)
    return Throughput(PODS, last - first, cpu_seconds, max(0.0, max(diary.told_at) - last))


def total(found: Iterable[Throughput]) -> Throughput:
    """Add up the turns of one scheduler."""
    turns = list(found)
    return Throughput(
        sum(one.pods for one in turns),
        sum(one.seconds for one in turns),
        sum(one.cpu_seconds for one in turns),
        sum(one.lag_seconds for one in turns),
    )


def say_writes(plane: Plane) -> None:
    """Say what each scheduler has written, by the audit log of the API server."""
    for name, writes in writes_by_agent(plane.audit_events()).items():
        told = ", ".join(f"{number} {what}" for what, number in sorted(writes.items()))
        say(f"{name} wrote: {told}")


def writes_by_agent(events: Iterable[Object]) -> dict[str, Counter[str]]:
    """Count the granted writes of each contender by resource, and the refused ones by their code."""
    found: dict[str, Counter[str]] = {name: Counter() for name in CONTENDERS}
    for event in events:
        agent = str(event.get("userAgent", "")).partition("/")[0]
        if agent in found and event["verb"] not in ("get", "list", "watch"):
            target = event["objectRef"]
            what = "/".join(filter(None, (target["resource"], target.get("subresource"))))
            code = event["responseStatus"]["code"]
            found[agent][what if code < 300 else f"{what} refused with {code}"] += 1
    return found


def comparison(ours: Throughput, theirs: Throughput) -> str:
    """Say how the two relate, and what is wanted."""
    return (
        f"stowplan to kube-scheduler, counted until all events are written:"
        f" {ours.rate_with_events / theirs.rate_with_events:.2f} times the pods a second (wanted: at least 3),"
        f" {ours.cost / theirs.cost:.2f} times the CPU time a pod (wanted: at most a third); until the last binding"
        f" {ours.rate / theirs.rate:.2f} times the pods a second"
    )


if __name__ == "__main__":
    main()

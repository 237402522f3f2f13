"""One workload of Kubernetes' benchmark on a real API server, contender by contender, with everything ready beforehand.

What a workload has before its measured pods is made once, and placed by Stowplan whoever is measured afterwards. Then
each contender has its turn: it stands by, as a replica that does not lead, until the measured pods are there and it
has come to rest; then the lease is free. So pods wait for the scheduler and not the other way round, and nobody makes
objects meanwhile but where the workload says so (churn). `perf_peer` has the list of workloads and the tables.

The clock runs from the first binding to the last event, and beside that to the last binding. The CPU time of a
scheduler is counted from before the pods are made, so that taking them in is part of it, until the last event is
written; that of API server and etcd from when the lease is free.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from stowplan.app.process import Tasks, now, steady_clock
from stowplan.bench import operations as ops
from stowplan.bench import remote_cleanup
from stowplan.bench.creating import Creator
from stowplan.bench.executor import Executor
from stowplan.bench.objects import served_versions
from stowplan.bench.originals import Originals
from stowplan.bench.parameters import WorkloadError
from stowplan.bench.process_cost import MeasuredProcess
from stowplan.bench.remote_api import RemoteApi
from stowplan.bench.remote_requests import RemoteRequests
from stowplan.bench.remote_scheduler import RemoteScheduler
from stowplan.bench.running import TIMEOUT_SECONDS
from stowplan.bench.workloads import Selected
from stowplan.kube import credentials
from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.events import EVENTS
from stowplan.kube.informer import ServerContact
from stowplan.kube.resources import RESOURCES
from tests.e2e.contenders import CONFIGURATION, CONTENDERS, OURS, RANDOM, Diary, say
from tests.e2e.processes import Process
from tests.e2e.real_plane import RealPlane

replace = msgspec.structs.replace

SCHEDULER, API_SERVER, ETCD = "scheduler", "kube-apiserver", "etcd"
#: Who stands by takes over within a second. The lease is the one that kube-scheduler's role lets it have.
STANDING_BY: Final[Mapping[str, Any]] = {**CONFIGURATION, "leaderElection": {"leaderElect": True, "retryPeriod": "1s"}}
_LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
_LEASE: Final = "kube-scheduler"
_HELD_SECONDS: Final = 3600
_POLL_SECONDS: Final = 0.05
#: How much later a contender that seems to be done may still write something.
_AFTERMATH_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Turn:
    """What one contender did with the pods that waited for it."""

    pods: int
    binding_seconds: float
    seconds: float
    #: By whom it was used.
    cpu_seconds: Mapping[str, float]
    peak_mebibytes: float


@dataclass(frozen=True, slots=True)
class Steps:
    """A workload, taken apart: what comes before the measured pods, what goes on beside them, and these."""

    before: Sequence[ops.Operation]
    beside: Sequence[ops.Operation]
    measured: ops.CreatePods

    @classmethod
    def of(cls, steps: Sequence[ops.Operation]) -> Steps:
        """Take steps apart; raise WorkloadError if they are not of this kind."""
        measured = steps[-1]
        if not isinstance(measured, ops.CreatePods) or not measured.collect_metrics or measured.steady_state:
            raise WorkloadError("the last operation has to be the one that makes the measured pods")
        first = next((at for at, one in enumerate(steps) if isinstance(one, ops.Churn)), len(steps) - 1)
        beside = steps[first:-1]
        if not all(isinstance(one, ops.Churn) for one in beside):
            raise WorkloadError("between churn and the measured pods nothing else may happen")
        namespace = measured.namespace if measured.namespace is not None else f"namespace-{len(steps) - 1}"
        waiting = replace(measured, namespace=namespace, collect_metrics=False, skip_wait_to_completion=True)
        return cls(steps[:first], beside, waiting)

    @property
    def namespace(self) -> str:
        return self.measured.namespace or ""


@dataclass(frozen=True, slots=True)
class Ground:
    """Where turns are taken: the control plane, and the kubeconfigs of who schedules and of who makes the objects."""

    plane: RealPlane
    scheduler: Path
    administrator: Path

    def hold_lease(self) -> None:
        """Have whoever stands for election stand by."""
        times = dict.fromkeys(("acquireTime", "renewTime"), datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
        spec = {"holderIdentity": "perf-peer", "leaseDurationSeconds": _HELD_SECONDS, **times}
        api = self.plane.api
        if not any(one["metadata"]["name"] == _LEASE for one in api.items(_LEASES)):
            metadata = {"name": _LEASE, "namespace": "kube-system"}
            api.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})
        else:
            api.patch(f"{_LEASES}/{_LEASE}", {"spec": spec})

    def free_lease(self) -> None:
        self.plane.api.patch(f"{_LEASES}/{_LEASE}", {"spec": {"holderIdentity": ""}})


@dataclass(slots=True)
class Bout:
    """A workload that contenders take turns with."""

    ground: Ground
    selected: Selected
    _steps: Steps = field(init=False)
    _count: int = 0

    def __post_init__(self) -> None:
        self._steps = Steps.of(self.selected.operations()[0])

    async def run(self, order: Sequence[str], *, is_used_up: bool) -> dict[str, list[Turn]]:
        """Let contenders have their turns; `is_used_up` if one leaves less behind than it found."""
        found: dict[str, list[Turn]] = {name: [] for name in order}
        for names in [[name] for name in order] if is_used_up else [order]:
            async with self._prepared() as creator:
                for name in names:
                    found[name].append(await self._take_turn(creator, name))
        return found

    @asynccontextmanager
    async def _prepared(self) -> AsyncIterator[Creator]:
        """Make what comes before the measured pods, and take it away at the end."""
        found = await credentials.load(str(self.ground.administrator), os.environ, now)
        client = Client(found, ClientSettings("perf-peer", qps=-1.0))
        # Names are not those of the last run: what that left behind may still be going.
        api = RemoteApi(RemoteRequests(client, Originals()), random.Random().randrange, ServerContact(say))
        versions = served_versions(one.model for one in RESOURCES.values())
        creator = Creator(api, self.selected, self.selected.operations()[1], versions, api.originals)
        watching = Tasks()
        scheduler = CONTENDERS[OURS](self.ground.plane, CONFIGURATION, "preparing", self.ground.scheduler)
        try:
            scheduler.start()
            watching.start(api.informer.run())
            await api.informer.settled()
            await _executor(creator, scheduler.process).run(self._steps.before)
            creator.create_namespace(self._steps.namespace)
            await _scheduler(creator, scheduler.process).settle()
            # From here on nobody but who is measured is told of pods.
            await watching.cancel()
            scheduler.stop()
            yield creator
        finally:
            scheduler.stop()
            await watching.cancel()
            await api.stop()
            for note in await remote_cleanup.clear(api):
                say(note)
            await client.close()

    async def _take_turn(self, creator: Creator, name: str) -> Turn:
        self._count += 1
        contender = CONTENDERS[name](self.ground.plane, STANDING_BY, f"{name}-{self._count}", self.ground.scheduler)
        api: Any = creator.api
        before = frozenset(api.made)
        self.ground.hold_lease()
        try:
            if name != RANDOM:
                contender.start()
            cpu_before = await self._fill(creator, contender.process if name != RANDOM else None)
            diary = Diary(self.ground.plane.audit_log, self._steps.namespace)
            if name == RANDOM:
                contender.process.start()
            try:
                return await self._measure(creator, contender.process, diary, cpu_before)
            finally:
                diary.close()
        finally:
            contender.stop()
            await remote_cleanup.clear_since(api, before)
            await api.requests.delete_at(EVENTS.path_in(self._steps.namespace))

    async def _fill(self, creator: Creator, standing_by: Process | None) -> float | None:
        """Make the measured pods; return the CPU time that who stands by had used before."""
        scheduler = _scheduler(creator, standing_by)
        await scheduler.settle()
        used = standing_by.cpu_seconds() if standing_by is not None else None
        await _executor(creator, standing_by).run([self._steps.measured])
        await scheduler.settle()
        return used

    async def _measure(self, creator: Creator, process: Process, diary: Diary, cpu_before: float | None) -> Turn:
        """Let pods be scheduled until the last event is written; without `cpu_before`, from the first binding on."""
        pods = self._steps.measured.number
        beside = Tasks()
        measured = {SCHEDULER: process, API_SERVER: self.ground.plane.api_server, ETCD: self.ground.plane.etcd}
        before = {name: one.cpu_seconds() for name, one in measured.items()}
        before |= {} if cpu_before is None else {SCHEDULER: cpu_before}
        self.ground.free_lease()
        if self._steps.beside:
            beside.start(_executor(creator, process).run([*self._steps.beside, ops.Sleep(duration="1h")]))
        try:
            deadline = time.monotonic() + TIMEOUT_SECONDS
            while min(len(diary.bound_at), len(diary.told_at)) < pods:
                if not process.is_running:
                    raise WorkloadError(f"{process.name} has ended; it said:\n{process.last_words()}")
                if time.monotonic() > deadline:
                    raise WorkloadError(f"{len(diary.bound_at)} of {pods} pods are bound, {len(diary.told_at)} told of")
                if cpu_before is None and not diary.bound_at:
                    before[SCHEDULER] = process.cpu_seconds()
                await asyncio.sleep(_POLL_SECONDS)
                diary.read()
            used = {name: one.cpu_seconds() - before[name] for name, one in measured.items()}
        finally:
            await beside.cancel()
        await asyncio.sleep(_AFTERMATH_SECONDS)
        diary.read()
        first, last = min(diary.bound_at), max(diary.bound_at)
        peak = MeasuredProcess(process.pid).peak_mebibytes()
        return Turn(pods, last - first, max(last, *diary.told_at) - first, used, peak)


def _executor(creator: Creator, process: Process | None) -> Executor:
    return Executor(creator, _scheduler(creator, process), steady_clock(), TIMEOUT_SECONDS)


def _scheduler(creator: Creator, process: Process | None) -> RemoteScheduler:
    api: Any = creator.api
    return RemoteScheduler(api, None if process is None else MeasuredProcess(process.pid))

"""Runs a workload on the cluster of a kubeconfig, for whoever schedules there, and takes everything away afterwards."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from stowplan.app.process import Tasks, now, run, steady_clock
from stowplan.bench import remote_cleanup
from stowplan.bench.creating import Creator
from stowplan.bench.executor import IN_PROCESS_ONLY, Executor
from stowplan.bench.objects import served_versions
from stowplan.bench.operations import AllocResourceClaims, Operation
from stowplan.bench.originals import Originals
from stowplan.bench.parameters import Parameters, WorkloadError
from stowplan.bench.process_cost import MeasuredProcess
from stowplan.bench.remote_api import RemoteApi
from stowplan.bench.remote_requests import RemoteRequests
from stowplan.bench.remote_scheduler import RemoteScheduler
from stowplan.bench.running import Outcome, RunSettings, tell_progress
from stowplan.bench.workloads import Selected
from stowplan.kube import credentials
from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.credentials import CredentialsError
from stowplan.kube.errors import RequestError
from stowplan.kube.informer import ServerContact
from stowplan.kube.resources import RESOURCES

USER_AGENT: Final = "stowplan-bench"
#: Below zero there is no limit.
_UNLIMITED: Final = -1.0
#: So many of the nodes that are in the way are named.
_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class RemoteCluster:
    """Where workloads are run."""

    kubeconfig: str
    #: The process of the scheduler, if it is on this machine and is to be measured.
    scheduler_pid: int | None = None
    #: Whether there may be nodes beside those that a workload makes.
    allows_other_nodes: bool = False


def run_remotely(selected: Selected, settings: RunSettings, cluster: RemoteCluster) -> Outcome:
    """Run one workload on a loop of its own."""
    outcome = Outcome(selected)
    try:
        steps, parameters = selected.operations()
        check_steps(steps)
        outcome.notes += what_others_decide(selected)
        run(_run(outcome, (steps, parameters), settings, cluster))
    except (CredentialsError, OSError, WorkloadError) as error:
        outcome.problem = str(error)
    except RequestError as error:
        outcome.problem = error.describe()
    return outcome


def check_steps(steps: Sequence[Operation]) -> None:
    """Refuse what can only be done in process, before anything is done."""
    for number, step in enumerate(steps):
        if isinstance(step, AllocResourceClaims):
            raise WorkloadError(f"operation {number} ({step.opcode}): {IN_PROCESS_ONLY}")


def what_others_decide(selected: Selected) -> list[str]:
    """Say what a workload asks of a scheduler that is somebody else's to start."""
    notes = []
    if selected.feature_gates:
        notes.append("feature gates are those of the cluster and its scheduler, not those of the workload")
    path = selected.case.scheduler_config_path
    if path:
        notes.append(f"{selected.name}: start the scheduler with the configuration {selected.file(path)}")
    return notes


async def _run(
    outcome: Outcome, work: tuple[list[Operation], Parameters], settings: RunSettings, cluster: RemoteCluster
) -> None:
    found = await credentials.load(cluster.kubeconfig, os.environ, now)
    client = Client(found, ClientSettings(USER_AGENT, qps=_UNLIMITED))
    reports: list[str] = []
    tasks = Tasks()
    # Names are not those of the last run: what that left behind may still be going.
    api = RemoteApi(RemoteRequests(client, Originals()), random.Random().randrange, ServerContact(reports.append))
    try:
        if not cluster.allows_other_nodes:
            await _check_nodes(api.requests)
        tasks.start(api.informer.run())
        await api.informer.settled()
        await _measure(outcome, work, settings, (api, cluster.scheduler_pid))
    finally:
        outcome.notes += reports
        await tasks.cancel()
        await client.close()


async def _measure(
    outcome: Outcome,
    work: tuple[list[Operation], Parameters],
    settings: RunSettings,
    there: tuple[RemoteApi, int | None],
) -> None:
    steps, parameters = work
    api, pid = there
    scheduler = RemoteScheduler(api, None if pid is None else MeasuredProcess(pid))
    versions = served_versions(one.model for one in RESOURCES.values())
    creator = Creator(api, outcome.selected, parameters, versions, api.originals)
    executor = Executor(creator, scheduler, steady_clock(), settings.timeout_seconds)
    told = Tasks()
    if settings.progress is not None:
        told.start(tell_progress(settings.progress, outcome.selected.name, executor))
    try:
        # Before anything is made: is there a scheduler to be measured at all?
        await scheduler.settle()
        await executor.run(steps)
        await scheduler.settle()
    finally:
        outcome.measurements = executor.measurements
        await told.cancel()
        await api.stop()
        outcome.notes += await remote_cleanup.clear(api)


async def _check_nodes(requests: RemoteRequests) -> None:
    """Refuse a cluster that is somebody's: its nodes would take the pods, and its pods the nodes."""
    found: list[Any] = await requests.list_items(RESOURCES["Node"].path)
    if not found:
        return
    names = [item["metadata"]["name"] for item in found[:_MOST_NAMED]]
    more = f" and {len(found) - len(names)} more" if len(found) > len(names) else ""
    raise WorkloadError(
        f"the cluster has nodes already ({', '.join(names)}{more}), which would take part; use an empty one,"
        " or say --allow-other-nodes"
    )

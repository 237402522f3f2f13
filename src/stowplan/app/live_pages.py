"""What the endpoints of a live scheduler show, read from the scheduler when somebody asks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from stowplan.app.options import Options
from stowplan.app.release import VERSION
from stowplan.config.external import to_external
from stowplan.config.types import Configuration
from stowplan.model.pod import Pod
from stowplan.observe import resource_usage
from stowplan.observe.component_metrics import HealthMetrics
from stowplan.observe.logs import Logging
from stowplan.observe.metrics import Metrics
from stowplan.serving.health import NamedCheck
from stowplan.serving.inspecting import Inspector
from stowplan.serving.routes import Pages


@dataclass(frozen=True, slots=True)
class State:
    """What a replica can be asked about itself."""

    #: What is wrong with the election; None if there is none.
    election_problem: Callable[[], str] | None
    is_ending: Callable[[], bool]
    #: What keeps the cluster from being known.
    sync_problem: Callable[[], str]
    #: All pods, while this replica leads; None while another does.
    pods: Callable[[], list[Pod] | None]
    configuration: Callable[[], Configuration]
    inspector: Inspector


def pages_of(options: Options, state: State, metrics: Metrics, logging: Logging) -> Pages:
    """Return the pages of a replica."""
    gates, started_at = options.feature_gates, time.time()
    election = [NamedCheck("leaderElection", state.election_problem)] if state.election_problem is not None else []
    shutdown = NamedCheck("shutdown", lambda: "process is shutting down" if state.is_ending() else "")
    sync = NamedCheck("sched-handler-sync", state.sync_problem)
    return Pages(
        healthz=election,
        readyz=[*election, shutdown, sync],
        metrics=metrics,
        health_metrics=HealthMetrics(started_at),
        pod_resources=_resources_of(state),
        configuration=lambda: to_external(state.configuration()),
        flags=dict(options.texts) if gates.enabled("ComponentFlagz") else None,
        version=VERSION,
        started_at=started_at,
        now=time.time,
        has_status=gates.enabled("ComponentStatusz"),
        set_verbosity=_verbosity_setter(logging) if state.configuration().enable_profiling else None,
        inspector=state.inspector,
    )


def _resources_of(state: State) -> Callable[[], Awaitable[bytes | None]]:
    async def text() -> bytes | None:
        pods = state.pods()
        # It takes long on a large cluster, and the loop has pods to schedule.
        return None if pods is None else await asyncio.to_thread(resource_usage.pod_resources_text, pods)

    return text


def _verbosity_setter(logging: Logging) -> Callable[[str], str]:
    def set_verbosity(text: str) -> str:
        if not text.isdigit():
            raise ValueError(f'strconv.ParseUint: parsing "{text}": invalid syntax')
        logging.set_verbosity(int(text))
        return f"successfully set klog.logging.verbosity to {text}"

    return set_verbosity

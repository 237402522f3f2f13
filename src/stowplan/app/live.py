"""A scheduler for a real cluster, from start to end: who is joined with whom, who leads, what signals do.

    configuration -> clients -> flow, metrics, informers, endpoints -> (lead) -> schedule -> end

Only the leader schedules, and `kube.writes` asks before every write whether we still lead. SIGTERM lets bindings end,
gives the lease back and ends; SIGHUP reads the configuration again; SIGUSR2 writes down cache and queue.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final

from stowplan.app import clients, effective, startup
from stowplan.app.assembly import assemble, reassemble
from stowplan.app.cluster import Cluster, Ties
from stowplan.app.configuration_source import ConfigurationSource, SourceError
from stowplan.app.effective import OptionError
from stowplan.app.endpoints import open_endpoints
from stowplan.app.kube_writer import KubeWriter
from stowplan.app.live_pages import State, pages_of
from stowplan.app.options import Options
from stowplan.app.release import VERSION
from stowplan.app.reload import Accepted, Refused, Reloader
from stowplan.app.serving.certificates import CertificateError
from stowplan.app.serving.routes import Pages
from stowplan.app.serving.server import ServingError
from stowplan.app.watching import Watching, watched
from stowplan.config.errors import ConfigError
from stowplan.config.types import Configuration
from stowplan.engine.ports import Report
from stowplan.engine.timers import run_timers
from stowplan.framework.handle import ExtenderError
from stowplan.framework.profile import Profile
from stowplan.framework.registry import RegistryError
from stowplan.kube.client import Client
from stowplan.kube.credentials import CredentialsError
from stowplan.kube.election import Callbacks, Candidate, Elector, Timing
from stowplan.kube.events import Recorder
from stowplan.kube.lease_lock import LeaseLock
from stowplan.kube.writes import Writes
from stowplan.observe import dump
from stowplan.observe.logs import Logging, log_for
from stowplan.observe.metrics import Metrics
from stowplan.observe.pod_resources import PodResources
from stowplan.observe.report_log import ReportLog

SETTLE_SECONDS: Final = 5.0
#: What makes a start impossible; each says what to do.
UNSTARTABLE: Final = (
    CertificateError,
    ConfigError,
    CredentialsError,
    ExtenderError,
    OptionError,
    RegistryError,
    ServingError,
    SourceError,
)

_log = log_for(__name__)


async def run(options: Options, logging: Logging) -> int:
    """Schedule until told to stop; return the exit code. Raises what makes a start impossible."""
    now_ns = steady_clock()
    metrics = Metrics(now_ns, options.feature_gates, effective.shown_metrics(options), VERSION)
    source = await startup.find_source(options, metrics.requests)
    configuration = await startup.configure(options, source)
    if options.write_config_to:
        startup.write_configuration(configuration, options.write_config_to)
        return 0
    _log.info("Starting Kubernetes Scheduler", version=VERSION)
    connection = configuration.client_connection
    client = await clients.open_client(connection, options.master, "scheduler", metrics.requests)
    events = await clients.open_client(connection, options.master, "", metrics.requests)
    live = Live(options, configuration, (client, events), Observed(metrics, logging), now_ns)
    live.source = source
    try:
        return await live.run()
    finally:
        await client.close()
        await events.close()


def steady_clock() -> Callable[[], int]:
    """Return a clock in nanoseconds since the epoch that never goes back, whatever is done to that of the machine."""
    ahead = time.time_ns() - time.monotonic_ns()
    return lambda: time.monotonic_ns() + ahead


@dataclass(frozen=True, slots=True)
class Observed:
    """Where it is seen what a replica does."""

    metrics: Metrics
    logging: Logging


class Live:
    """One replica."""

    def __init__(
        self,
        options: Options,
        configuration: Configuration,
        connections: tuple[Client, Client],
        observed: Observed,
        now_ns: Callable[[], int],
    ) -> None:
        self._options, self._configuration = options, configuration
        self._metrics, self._logging = observed.metrics, observed.logging
        self._client, events = connections
        self.source: ConfigurationSource | None = None
        draw = random.Random().random
        self._recorder = Recorder(events, socket.gethostname(), clients.now, draw, _report)
        self._elector = self._make_elector(draw)
        writer = KubeWriter(Writes(self._client, clients.now, draw, self._may_write), self._recorder)
        self._cluster = self._make_cluster()
        limits = effective.queue_limits(options, configuration)
        self._scheduler, self._parts = assemble(self._cluster, writer, now_ns, limits=limits)
        self._watching = Watching(self._scheduler, self._parts, self._metrics, lambda: self._is_scheduling)
        self._watching.open(self._client, watched(self._cluster.profiles.values()), draw, _report)
        self._reloader = Reloader(
            configuration, self._cluster.registry, self._cluster.build_profiles, self._swap, options.feature_gates
        )
        self._listen()
        self._is_scheduling = self._has_synced = self._is_asked_to_end = False
        self._fault: BaseException | None = None
        self._ended = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._cycles: asyncio.Task[None] | None = None

    # From start to end

    async def run(self) -> int:
        """Serve, lead and schedule until asked to stop, or until the lease is lost."""
        server = await open_endpoints(self._options, self._pages(), self._metrics.requests)
        self._listen_for_signals()
        self._start(self._recorder.run(), "events")
        if self.source is not None:
            self._start(self._reloader.follow(self.source, self._told), "configuration")
        work = self._start(self._work(), "election")
        try:
            await self._ended.wait()
        finally:
            await self._wind_up(work)
            if server is not None:
                await server.stop()
        return self._exit_code()

    async def _work(self) -> None:
        if self._elector is None:
            await self._schedule()
            return
        if not self._configuration.delay_cache_until_active:
            await self._sync()
        await self._elector.run()

    async def _schedule(self) -> None:
        """Schedule until stopped."""
        if not self._has_synced:
            _log.info("Starting informers and waiting for sync...")
            await self._sync()
            _log.info("Sync completed")
        self._is_scheduling = True
        timers = asyncio.get_running_loop().create_task(run_timers(self._scheduler, self._parts))
        try:
            await self._scheduler.run()
        finally:
            self._is_scheduling = False
            timers.cancel()

    async def _sync(self) -> None:
        """Start to watch, and wait until the cluster is known."""
        self._start(self._watching.run(), "watches")
        await self._watching.settled()
        self._has_synced = True
        _log.v(3).info("Handlers synced")

    async def _wind_up(self, work: asyncio.Task[None]) -> None:
        """Take no more pods; if we were asked to end, let bindings end; then give back the lease."""
        self._scheduler.stop()
        cycles = self._cycles if self._elector is not None else work
        if self._is_asked_to_end and self._is_scheduling and cycles is not None:
            await asyncio.wait({cycles}, timeout=SETTLE_SECONDS)
        work.cancel()
        await asyncio.wait({work})
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _exit_code(self) -> int:
        if self._fault is not None:
            _log.error(self._fault, "command failed")
            return 1
        if self._elector is None:
            _log.error("finished without leader elect", "command failed")
            return 1
        if self._is_asked_to_end:
            _log.info("Requested to terminate, exiting")
            return 0
        _log.error(None, "Leaderelection lost")
        return 1

    # Leading

    def _make_elector(self, draw: Callable[[], float]) -> Elector | None:
        election = self._configuration.leader_election
        if not election.leader_elect:
            return None
        identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        reporter = self._configuration.profiles[0].scheduler_name
        lock = LeaseLock(self._client, election.resource_namespace, election.resource_name, reporter, clients.now)
        timing = Timing(election.lease_duration.seconds, election.renew_deadline.seconds, election.retry_period.seconds)
        self._metrics.lead(election.resource_name, False)
        callbacks = Callbacks(self._begin, self._stop_leading, self._see_leader)
        return Elector(lock, Candidate(identity, clients.now, draw), timing, callbacks)

    def _begin(self) -> None:
        self._metrics.lead(self._configuration.leader_election.resource_name, True)
        self._cycles = self._start(self._schedule(), "cycles")

    def _stop_leading(self) -> None:
        """Make an end of everything that writes, at once."""
        self._metrics.lead(self._configuration.leader_election.resource_name, False)
        self._scheduler.stop()
        if self._cycles is not None:
            self._cycles.cancel()

    def _see_leader(self, identity: str) -> None:
        _log.info("New leader elected", identity=identity)

    def _may_write(self) -> bool:
        return self._elector is None or self._elector.is_leading

    # Tasks and signals

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._end_with)
        return task

    def _end_with(self, task: asyncio.Task[None]) -> None:
        """End everything when a task ends: they all go on for as long as we do."""
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._fault = self._fault or task.exception()
        if task.get_name() != "reload":
            self._ended.set()

    def _listen_for_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._ask_to_end)
        loop.add_signal_handler(signal.SIGHUP, lambda: self._start(self._reload(), "reload"))
        loop.add_signal_handler(signal.SIGUSR2, self._submit, self._dump)

    def _ask_to_end(self) -> None:
        if self._is_asked_to_end:
            # Asked twice: whoever asks does not want to wait.
            os._exit(1)
        self._is_asked_to_end = True
        self._ended.set()

    def _submit(self, change: Callable[[int], None]) -> None:
        self._scheduler.submit(change)
        if not self._is_scheduling:
            self._scheduler.apply_changes()

    def _dump(self, now_ns: int) -> None:
        cache, queue = self._parts.cache, self._parts.queue
        nodes, pods = self._watching.objects("Node"), self._watching.objects("Pod")
        dump.write(_log, cache, queue, dump.compare(cache, queue, nodes, pods))

    # Another configuration

    async def _reload(self) -> None:
        if self.source is not None:
            self._told(await self._reloader.reread(self.source))

    def _told(self, answer: Accepted | Refused) -> None:
        if isinstance(answer, Refused):
            _log.error(answer.reason, "Configuration refused; the one in force stays")
            return
        _log.info("Configuration read", changes=answer.changes, needsRestart=answer.needs_restart)
        self._submit(self._apply_configuration)

    def _apply_configuration(self, now_ns: int) -> None:
        self._reloader.apply()

    def _swap(self, configuration: Configuration, profiles: Mapping[str, Profile]) -> None:
        self._cluster.use(configuration, profiles)
        reassemble(self._cluster, self._parts)
        known = {informer.resource.kind for informer in self._watching.informers}
        missing = sorted({one.name for one in watched(profiles.values()) if one.kind not in known})
        if missing:
            _log.error(None, "New plugins need resources that are not watched; restart the scheduler", missing=missing)

    # What is put together

    def _make_cluster(self) -> Cluster:
        # With one worker kube-scheduler's choice between equals is determined, so ours is the same.
        ties: Ties = "upstream" if self._configuration.parallelism == 1 else "random"
        seed = random.SystemRandom().getrandbits(64)
        return Cluster(self._configuration, ties=ties, seed=seed, feature_gates=self._options.feature_gates)

    def _listen(self) -> None:
        metrics, log = self._metrics, ReportLog()
        metrics.watch(self._parts.queue, self._parts.cache)
        self._cluster.stopwatch.have_noted(metrics.plugins.note)

        def tell(report: Report) -> None:
            metrics(report)
            log(report)

        self._parts.tell = tell

    def _pages(self) -> Pages:
        resources = PodResources(lambda: self._watching.objects("Pod"))
        state = State(
            election_problem=self._elector.problem if self._elector is not None else None,
            is_ending=lambda: self._is_asked_to_end,
            has_synced=lambda: self._has_synced,
            pod_resources=lambda: resources.text() if self._is_scheduling else None,
            configuration=lambda: self._reloader.configuration,
        )
        return pages_of(self._options, state, self._metrics, self._logging)


def _report(text: str) -> None:
    _log.warning(text)

"""The life of a scheduler on a real cluster: start, lead, schedule, end; and what signals do.

    configuration -> clients -> replica, endpoints -> (lead) -> schedule -> end

Only the leader schedules, and `kube.writes` asks before every write whether we still lead. SIGTERM lets bindings end,
gives the lease back and ends; SIGHUP reads the configuration again; SIGUSR2 writes down cache and queue.
`app/replica.py` has the parts.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import uuid
from collections.abc import Callable
from functools import partial
from typing import Final

from stowplan.app import clients, server_release
from stowplan.app.cluster import Cluster
from stowplan.app.configuration import ConfigurationSource, SourceError, configure, find_source, write_configuration
from stowplan.app.endpoints import Health, PageOf, open_endpoints, pages_of
from stowplan.app.options import OptionError, RunOptions, decide_like, release_asked_for, shown_metrics
from stowplan.app.process import Tasks, now, steady_clock
from stowplan.app.replica import KubeClients, Replica, ReplicaSettings
from stowplan.config import releases
from stowplan.config.errors import ConfigError
from stowplan.config.feature_gates import FeatureGateError
from stowplan.config.releases import ReleaseError
from stowplan.framework.handle import ExtenderError
from stowplan.framework.registry import RegistryError
from stowplan.kube.client import Client
from stowplan.kube.credentials import CredentialsError
from stowplan.kube.election import Callbacks, Candidate, Elector, LeaseLock, Timing
from stowplan.observe.logs import Logging, log_for
from stowplan.observe.metrics import Metrics
from stowplan.serving.certificates import CertificateError
from stowplan.serving.routes import Pages
from stowplan.serving.server import ServingError

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


async def run(options: RunOptions, logging: Logging, page_of: PageOf | None = None) -> int:
    """Schedule until told to stop; return the exit code. Raises one of UNSTARTABLE if it cannot begin."""
    now_ns = steady_clock()
    if not (options.write_config_to or release_asked_for(options)):
        options = await _follow_server(options, now_ns)
    gates = options.feature_gates
    metrics = Metrics(now_ns, gates, shown_metrics(options), version(options))
    source = await find_source(options, metrics.requests)
    configuration = await configure(options, source)
    if options.write_config_to:
        write_configuration(configuration, options.write_config_to)
        return 0
    _log.info("Starting Kubernetes Scheduler", version=version(options), emulatedVersion=gates.release)
    # For one look at the lease: a second try must be possible before the renew deadline.
    lease_seconds = max(1.0, configuration.leader_election.renew_deadline.seconds / 2)
    connect = partial(clients.open_client, configuration.client_connection, options.master, metrics=metrics.requests)
    connections = KubeClients(
        await connect("scheduler"), await connect(""), await connect("leader-election", timeout_seconds=lease_seconds)
    )
    try:
        settings = ReplicaSettings(options, configuration, metrics, now_ns)
        return await Live(settings, connections, source, logging).run(page_of)
    finally:
        await connections.close()


async def _follow_server(options: RunOptions, now_ns: Callable[[], int]) -> RunOptions:
    """Return the options for the release of the API server, as soon as it says which one it is."""
    # Only to be asked: what is counted begins when it is known which metrics there are.
    metrics = Metrics(now_ns, options.feature_gates).requests
    configuration = await configure(options, await find_source(options, metrics), is_told=False)
    # What cannot be made in any release is told at once, and not when the server answers.
    Cluster(configuration, feature_gates=options.feature_gates)
    client = await clients.open_client(configuration.client_connection, options.master, "", metrics)
    try:
        release, why = releases.following(await clients.server_version(client, random.Random().random))
    finally:
        await client.close()
    try:
        found = decide_like(options, release)
    except (FeatureGateError, ReleaseError) as error:
        raise OptionError(f"the release is {release}, for {why}: --feature-gates: {error}") from None
    _log.info("Deciding like kube-scheduler of a release", release=release, because=why)
    return found


def version(options: RunOptions) -> str:
    """Return the version to report: --version=v... sets it."""
    return options.version if options.version.startswith("v") else clients.VERSION


class Live:
    """One replica from start to end."""

    def __init__(
        self, settings: ReplicaSettings, connections: KubeClients, source: ConfigurationSource | None, logging: Logging
    ) -> None:
        self._options, self._configuration, self._metrics = settings.options, settings.configuration, settings.metrics
        self._source, self._logging = source, logging
        self._client = connections.cluster
        self._elector = self._make_elector(connections.election)
        self._replica = Replica(settings, connections, self._may_write)
        self._has_synced = self._is_asked_to_end = False
        self._fault: BaseException | None = None
        self._ended = asyncio.Event()
        self._tasks = Tasks(self._end_with)
        self._cycles: asyncio.Task[None] | None = None

    # From start to end

    async def run(self, page_of: PageOf | None = None) -> int:
        """Serve, lead and schedule until asked to stop, or until the lease is lost."""
        endpoints = await open_endpoints(self._options, self._pages(page_of), self._metrics.requests)
        self._listen_for_signals()
        self._tasks.start(self._replica.recorder.run(), "events")
        if self._source is not None:
            self._tasks.start(self._replica.reloader.follow(self._source, self._replica.take), "configuration")
        work = self._tasks.start(self._work(), "election")
        try:
            await self._ended.wait()
        finally:
            await self._wind_up(work)
            await self._replica.close()
            await endpoints.stop()
        return self._exit_code()

    async def _work(self) -> None:
        if self._elector is None:
            await self._schedule()
            return
        if not self._configuration.delay_cache_until_active:
            await self._sync()
        await self._elector.run()

    async def _schedule(self) -> None:
        if not self._has_synced:
            _log.info("Starting informers and waiting for sync...")
            await self._sync()
            _log.info("Sync completed")
        replica = self._replica
        replica.watching.is_scheduling = True
        timers = asyncio.get_running_loop().create_task(replica.scheduler.run_timers())
        try:
            await replica.scheduler.run()
        finally:
            replica.watching.is_scheduling = False
            timers.cancel()

    async def _sync(self) -> None:
        """Start to watch, and wait until the cluster is known."""
        if not release_asked_for(self._options):
            watch_begun, gates = self._replica.watching.contact.watch_begun, self._options.feature_gates
            asking = server_release.follow(watch_begun, self._client, gates.release, random.Random().random)
            self._tasks.start(asking, "release")
        self._tasks.start(self._replica.watching.run(), "watches")
        await self._replica.sync()
        self._tasks.start(self._replica.compare_regularly(), "comparison")
        self._has_synced = True
        _log.v(3).info("Handlers synced")

    def _sync_problem(self) -> str:
        """Say why the cluster is not known; nothing if it is."""
        missing = self._replica.watching.problem()
        if missing:
            return f"handlers are not fully synchronized: {missing}"
        return "" if self._has_synced else "handlers are not fully synchronized"

    async def _wind_up(self, work: asyncio.Task[None]) -> None:
        """Take no more pods; if we were asked to end, let bindings and events end; then give back the lease."""
        self._replica.scheduler.stop()
        cycles = self._cycles if self._elector is not None else work
        if self._is_asked_to_end and self._replica.watching.is_scheduling and cycles is not None:
            await self._replica.settle(cycles)
        work.cancel()
        await asyncio.wait({work})
        await self._tasks.cancel()

    def _exit_code(self) -> int:
        if self._fault is not None:
            _log.error(self._fault, "command failed")
            return 1
        if self._elector is None:
            # Upstream's words and code, whatever made it end.
            _log.error("finished without leader elect", "command failed")
            return 1
        if self._is_asked_to_end:
            _log.info("Requested to terminate, exiting")
            return 0
        _log.error(None, "Leaderelection lost")
        return 1

    # Leading

    def _make_elector(self, client: Client) -> Elector | None:
        election = self._configuration.leader_election
        if not election.leader_elect:
            return None
        reporter = self._configuration.profiles[0].scheduler_name
        lock = LeaseLock(client, election.resource_namespace, election.resource_name, reporter, now)
        spans = (election.lease_duration, election.renew_deadline, election.retry_period)
        try:
            timing = Timing(*(span.seconds for span in spans))
        except ValueError as error:
            raise OptionError(str(error)) from None
        candidate = Candidate(f"{socket.gethostname()}_{uuid.uuid4()}", now, random.Random().random)
        self._metrics.lead(election.resource_name, False)
        callbacks = Callbacks(
            self._begin,
            self._stop_leading,
            lambda identity: _log.info("New leader elected", identity=identity),
            lambda: self._metrics.renew_slowly(election.resource_name),
            lambda problem: _log.error(problem, "The lease cannot be read or written; asking again"),
            lambda problem: _log.error(problem, "The lease could not be given back; nobody leads until it has run out"),
        )
        return Elector(lock, candidate, timing, callbacks)

    def _begin(self) -> None:
        self._metrics.lead(self._configuration.leader_election.resource_name, True)
        self._cycles = self._tasks.start(self._schedule(), "cycles")

    def _stop_leading(self) -> None:
        """Make an end of the cycles at once; what is still under way may write nothing any more."""
        self._metrics.lead(self._configuration.leader_election.resource_name, False)
        self._replica.scheduler.stop()
        if self._cycles is not None:
            self._cycles.cancel()

    def _may_write(self) -> bool:
        return self._elector is None or self._elector.is_leading

    # Tasks and signals

    def _end_with(self, task: asyncio.Task[None]) -> None:
        """End everything when a task ends: all but a reload go on for as long as we do."""
        if not task.cancelled() and task.exception() is not None:
            self._fault = self._fault or task.exception()
        if task.get_name() != "reload":
            self._ended.set()

    def _listen_for_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._ask_to_end)
        loop.add_signal_handler(signal.SIGHUP, lambda: self._tasks.start(self._reload(), "reload"))
        loop.add_signal_handler(signal.SIGUSR2, self._replica.watching.submit, self._replica.dump)

    def _ask_to_end(self) -> None:
        if self._is_asked_to_end:
            # Asked twice: whoever asks does not want to wait.
            os._exit(1)
        self._is_asked_to_end = True
        self._ended.set()

    async def _reload(self) -> None:
        if self._source is None:
            _log.warning("There is no configuration to read again; give one with --config")
            return
        self._replica.take(await self._replica.reloader.reread(self._source))

    def _pages(self, page_of: PageOf | None = None) -> Pages:
        election_problem = self._elector.problem if self._elector is not None else None
        health = Health(lambda: self._is_asked_to_end, self._sync_problem, election_problem)
        return pages_of(self._options, self._replica, health, self._logging, page_of)

"""A scheduler joined with its cluster: the flow, what it writes to and watches, who listens, how it is reconfigured.

`app/live.py` starts it, stops it and decides when it may schedule.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from stowplan.app.assembly import assemble, reassemble
from stowplan.app.budgeted_plugins import BudgetedPlugins
from stowplan.app.cache_comparison import compare_regularly
from stowplan.app.cluster import Cluster, Ties
from stowplan.app.configuration import queue_limits_of, reading
from stowplan.app.options import RunOptions, budget_seconds
from stowplan.app.process import Tasks, now, settle_down
from stowplan.app.profiles import Built
from stowplan.app.reload import AcceptedConfiguration, RejectedConfiguration, Reloader
from stowplan.app.watching import Watching, pod_groups_of, watched
from stowplan.config.types import Configuration
from stowplan.engine.ports import Note, Timeouts, Writer
from stowplan.framework.handle import ConflictError
from stowplan.kube.backoff import Draw
from stowplan.kube.client import Client
from stowplan.kube.errors import ApiError
from stowplan.kube.events import Occurrence, Recorder, reference_to
from stowplan.kube.writes import ObjectWrites, Writes
from stowplan.observe import dump
from stowplan.observe.logs import log_for
from stowplan.observe.metrics import Metrics
from stowplan.observe.report_log import log_report, tell_all
from stowplan.observe.timeline import Timeline

SETTLE_SECONDS: Final = 5.0
DRAIN_SECONDS: Final = 1.0
#: Writes may have to wait for their turn; how long the server may take, and be away, is up to `kube`.
TIMEOUTS: Final = Timeouts(bind_seconds=900.0, write_seconds=900.0)

_log = log_for(__name__)


@dataclass(frozen=True, slots=True)
class KubeClients:
    """Clients of the cluster, each with its own share of requests, so that none is in the way of another.

    One is for what is decided on, one for events, one for the lease: a burst of bindings must not cost us the lead.
    """

    cluster: Client
    events: Client
    election: Client

    async def close(self) -> None:
        await asyncio.gather(self.cluster.close(), self.events.close(), self.election.close())


@dataclass(frozen=True, slots=True)
class ReplicaSettings:
    """What a replica is made from."""

    options: RunOptions
    configuration: Configuration
    metrics: Metrics
    now_ns: Callable[[], int]
    #: Where draws start, so that a run can be repeated; None for somewhere else every time.
    seed: int | None = None
    #: What is put before the writer, by those who know a shorter way to the cluster.
    writer: Callable[[Writer], Writer] = lambda writer: writer


class Replica:
    """Everything of one scheduler but its life."""

    def __init__(self, settings: ReplicaSettings, connections: KubeClients, may_write: Callable[[], bool]) -> None:
        options, configuration, self.metrics = settings.options, settings.configuration, settings.metrics
        self.connections = connections
        draw = random.Random().random
        self.recorder = Recorder(connections.events, socket.gethostname(), now, draw, _report)
        self.recorder.give_way(lambda: connections.cluster.is_busy)
        to_cluster = KubeWriter(connections.cluster, draw, may_write, self.recorder)
        to_cluster.retries_binding = options.feature_gates.changed("BindingIsRetried")
        to_cluster.pod_groups = pod_groups_of(options.feature_gates)
        writer = settings.writer(to_cluster)
        self.cluster = _make_cluster(settings)
        self.limits = queue_limits_of(options, configuration)
        self.scheduler = assemble(self.cluster, writer, settings.now_ns, TIMEOUTS, limits=self.limits)
        self.timeline = Timeline(settings.now_ns)
        self.watching = Watching(self.scheduler, self.metrics)
        needed = watched(self.cluster.profiles.values(), options.feature_gates, configuration.extenders)
        self.watching.open(connections.cluster, needed, draw, _report)
        self.reloader = Reloader(
            configuration,
            self.cluster.registry,
            self.cluster.build,
            self._swap,
            options.feature_gates,
            reading(options),
        )
        #: Extenders that are used no more are closed when they have answered what they were asked: one may be binding.
        self._retiring = Tasks()
        self.metrics.watch(self.scheduler.state.queue, self.scheduler.state.cache)
        self.metrics.read_watches(self.watching.states)
        plugins, handle, environment = self.metrics.plugins, self.cluster.handle, self.scheduler.environment
        self._budget = self._plugin_budget(budget_seconds(options))
        note = plugins.note if self._budget is None else self._budget.beside(plugins.note)
        handle.stopwatch.have_noted(note, plugins.note_awaited)
        handle.measures = self.scheduler.environment.measures = self.metrics.series
        environment.tell = tell_all(self.metrics, log_report, self.timeline)
        environment.note_point = plugins.point_ended

    def _plugin_budget(self, seconds: float) -> BudgetedPlugins | None:
        """Have plugins from elsewhere answer within a budget, if one is given."""
        return BudgetedPlugins(self.cluster, self.scheduler, seconds, self.metrics.series) if seconds else None

    async def sync(self) -> None:
        """Wait until the cluster is known; `watching` must be running."""
        await self.watching.settled()
        settle_down()

    async def compare_regularly(self) -> None:
        """Hold the cache against what the watches told, for as long as the scheduler runs."""
        await compare_regularly(self.watching, self.scheduler.state.cache, self.metrics.compared)

    async def settle(self, cycles: asyncio.Task[None], *drains: Callable[[], Awaitable[None]]) -> None:
        """Let bindings end, then what `drains` and the recorder have to write, but neither for long."""
        await asyncio.wait({cycles}, timeout=SETTLE_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                for drain in (*drains, self.recorder.drain):
                    await drain()

    async def close(self) -> None:
        """Close the extenders, also those that were done away with and still owe an answer."""
        await self._retiring.cancel()
        for extender in self.cluster.extenders:
            await extender.close()

    def dump(self, now_ns: int) -> None:
        """Write down cache and queue, and where the cluster differs."""
        cache, queue = self.scheduler.state.cache, self.scheduler.state.queue
        nodes, pods = self.watching.objects("Node"), self.watching.objects("Pod")
        for profile in self.cluster.profiles.values():
            if profile.left_out:
                _log.info("Scores are left out", profile=profile.name, plugins=sorted(profile.left_out))
        dump.write(_log, cache, queue, dump.compare(cache, queue, nodes, pods), self.cluster.feature_gates)

    def take(self, answer: AcceptedConfiguration | RejectedConfiguration) -> None:
        """Put in force what became of another configuration, if it is good."""
        if isinstance(answer, RejectedConfiguration):
            _log.error(answer.reason, "Configuration refused; the one in force stays")
            return
        _log.info("Configuration read", changes=answer.changes, needsRestart=answer.needs_restart)
        self.watching.submit(self._apply)

    def _apply(self, now_ns: int) -> None:
        self.reloader.apply()

    def _swap(self, configuration: Configuration, built: Built) -> None:
        for extender in self.cluster.extenders:
            self._retiring.start(extender.retire())
        self.cluster.use(configuration, built)
        reassemble(self.cluster, self.scheduler)
        if self._budget is not None:
            self._budget.begin()
        known = {informer.resource.name for informer in self.watching.informers}
        needed = watched(built.profiles.values(), self.cluster.feature_gates, configuration.extenders)
        self.watching.read_as(needed)
        missing = sorted({one.name for one in needed if one.name not in known})
        if missing:
            _log.error(None, "New plugins need resources that are not watched; restart the scheduler", missing=missing)


def _make_cluster(settings: ReplicaSettings) -> Cluster:
    configuration = settings.configuration
    # With one worker kube-scheduler's choice between equals is determined, so ours is the same.
    ties: Ties = "upstream" if configuration.parallelism == 1 else "random"
    seed = settings.seed if settings.seed is not None else random.SystemRandom().getrandbits(64)
    return Cluster(configuration, ties=ties, seed=seed, feature_gates=settings.options.feature_gates)


def _report(text: str) -> None:
    _log.warning(text)


# What the flow writes


class KubeWriter(Writes):
    """An `engine.ports.Writer` of a cluster, as long as `may_write` lets it; events are `recorder`'s to write."""

    def __init__(self, client: Client, draw: Draw, may_write: Callable[[], bool], recorder: Recorder) -> None:
        super().__init__(client, now, draw, may_write)
        self.object_writer = KubeObjectWriter(client, draw, self._check)
        self._recorder = recorder

    def record(self, note: Note) -> None:
        self._recorder.record(occurrence_of(note))


def occurrence_of(note: Note) -> Occurrence:
    """Return what is recorded as an event."""
    return Occurrence(
        regarding=reference_to(note.pod),
        related=reference_to(note.related) if note.related is not None else None,
        type=note.type,
        reason=note.reason,
        action=note.action,
        note=note.text,
        # A victim may belong to another scheduler; who evicts it is the scheduler of the pod it makes room for.
        controller=note.scheduler_name or note.pod.spec.scheduler_name,
    )


class KubeObjectWriter(ObjectWrites):
    """Writes what is no pod; implements `framework.handle.ObjectWriter`."""

    async def patch(self, found: Any, patch: Mapping[str, Any], subresource: str = "") -> Any:
        """Merge a patch; raise ConflictError if somebody else was faster."""
        try:
            return await super().patch(found, patch, subresource)
        except ApiError as error:
            if error.is_conflict:
                raise ConflictError(str(error)) from error
            raise

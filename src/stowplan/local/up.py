"""A cluster in one process, from start to end: what `stowplan up` runs.

read -> open -> put in -> serve, write the kubeconfig -> schedule -> (until stopped | until all is decided) -> close

`local/cluster.py` has its parts, `local/initial_objects.py` its contents. `local/run_once.py` ends it when every pod is
decided on. What it is doing meanwhile is told in a few numbers, which `cli/up_views.py` draws.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from stowplan.app.process import Tasks
from stowplan.engine.ports import Bound, Report
from stowplan.local import api_endpoint, initial_objects
from stowplan.local.apply import Applier
from stowplan.local.cluster import ClusterOptions, EmbeddedCluster
from stowplan.local.initial_objects import InitialObjects, Progress
from stowplan.queue.entry import POOLED, Place

REST_FACTOR: Final = 30
SECOND_NS: Final = 1_000_000_000
#: Pods a second are counted over so many seconds.
WINDOW_SECONDS: Final = 10
LAST: Final = 8
MOST_REASONS: Final = 4


class View(Progress, Protocol):
    """Who shows what goes on."""

    @property
    def every_seconds(self) -> float:
        """How often there is something to show, at most."""

    def opened(self, cluster: EmbeddedCluster, kubeconfig: Path | None) -> None:
        """Hear that the cluster can be used."""

    def show(self, activity: Activity) -> None:
        """Hear, every now and then, what the cluster is doing."""


@dataclass(frozen=True, slots=True)
class UpOptions:
    """What is asked for."""

    cluster: ClusterOptions
    initial_objects: InitialObjects
    #: Where to write how it is reached; None for nowhere.
    kubeconfig: Path | None
    #: How long to wait for a decision on every pod, where that is all that is asked for.
    timeout_seconds: float = 300.0
    #: Whether refusals are to be explained.
    explains: bool = False
    width: int = 100
    #: Whether what is saved of the configuration and its plugins is in force at once.
    follows_saves: bool = False


async def run(options: UpOptions, view: View) -> None:
    """Keep a cluster up until told to stop. Raise one of `cluster.UNSTARTABLE` if it cannot begin."""
    cluster = await open_cluster(options, view)
    try:
        with told_to_stop() as stopped, _told_to_reload(cluster, options, view), published(options, cluster):
            # It counts from the first pod on.
            counter = ActivityCounter(cluster)
            await until_first(cluster, cluster.schedule(), stopped.wait())
            if stopped.is_set():
                return
            view.opened(cluster, options.kubeconfig)
            await _show_until(stopped, cluster, counter, view)
    finally:
        await cluster.close()


async def open_cluster(options: UpOptions, view: View) -> EmbeddedCluster:
    """Bring up the cluster with all that it begins with; nothing is scheduled yet."""
    if options.kubeconfig is not None:
        api_endpoint.check_kubeconfig_free(options.kubeconfig)
    cluster = EmbeddedCluster(options.cluster)
    for note in api_endpoint.notes_on(options.cluster.endpoint):
        view.note(note)
    try:
        contents = await initial_objects.read_contents(options.initial_objects, view, cluster.has_data)
        applier = Applier(cluster.api)
        initial_objects.define(applier, (*contents.copied, *contents.manifests), view)
        initial_objects.put_copied(applier, contents, view)
        await cluster.start()
        await initial_objects.put_new(applier, contents, view, cluster.components.quiet)
        await cluster.components.quiet()
        return cluster
    except BaseException:
        await cluster.close()
        raise


async def _show_until(stopped: asyncio.Event, cluster: EmbeddedCluster, counter: ActivityCounter, view: View) -> None:
    loop = asyncio.get_running_loop()
    while not stopped.is_set():
        began = loop.time()
        view.show(counter.count())
        # Of a large cluster it takes a while, which is to be a small part of the time.
        rest_seconds = max(view.every_seconds, (loop.time() - began) * REST_FACTOR)
        await until_first(cluster, stopped.wait(), asyncio.sleep(rest_seconds))
    # What has happened since is not to be missing from the last word.
    view.show(counter.count())


async def until_first(cluster: EmbeddedCluster, *works: Coroutine[Any, Any, Any]) -> None:
    """Wait until one of several works is done, and stop the others; raise what made it or the cluster break."""
    tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait({*tasks, cluster.broken}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for one in (cluster.broken, *tasks):
        if one in done:
            one.result()


@contextmanager
def told_to_stop() -> Iterator[asyncio.Event]:
    """Listen for Ctrl-C and SIGTERM; who is asked twice ends at once."""
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()

    def stop() -> None:
        if stopped.is_set():
            # Everything acknowledged is on disk, if it is kept at all.
            os._exit(130)
        stopped.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        yield stopped
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


@contextmanager
def _told_to_reload(cluster: EmbeddedCluster, options: UpOptions, view: View) -> Iterator[None]:
    """Let SIGHUP read the configuration again, or every save of what it is made of; say what became of it."""
    loop, tasks = asyncio.get_running_loop(), Tasks()

    async def reload() -> None:
        view.note(await cluster.reload())

    loop.add_signal_handler(signal.SIGHUP, lambda: tasks.start(reload()))
    following = tasks.start(cluster.follow_saves(view.note)) if options.follows_saves else None
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        if following is not None:
            following.cancel()


@contextmanager
def published(options: UpOptions, cluster: EmbeddedCluster) -> Iterator[None]:
    """Have a kubeconfig lead to the cluster for as long as it is up; no other cluster writes it meanwhile."""
    if options.kubeconfig is None:
        yield
        return
    descriptor = api_endpoint.publish_kubeconfig(options.kubeconfig, cluster.access)
    try:
        yield
    finally:
        os.close(descriptor)


# What it is doing


class RecentPlacement(msgspec.Struct, frozen=True):
    """A pod that was bound."""

    pod: str
    node: str
    at_ns: int


class Activity(msgspec.Struct, frozen=True):
    """The cluster at one moment."""

    nodes: int
    #: How many pods there are of each phase, and how many that are being deleted count as `Terminating`.
    phases: dict[str, int]
    #: How many pods wait in each place of the queue.
    waiting: dict[str, int]
    #: Why pods were refused, the most frequent sentence first.
    reasons: list[tuple[str, int]]
    bound: int
    bound_per_second: float
    #: The latest placements, newest first.
    last: list[RecentPlacement]
    now_ns: int
    #: Whether the scheduler of this cluster places pods; if not, others may do that without being counted here.
    schedules: bool = True


class ActivityCounter:
    """Counts along; `count` is cheap enough to be asked for every second."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._cluster, self._replica = cluster, cluster.scheduler.replica
        self._now_ns: Callable[[], int] = self._replica.scheduler.environment.now_ns
        self._phase_at = cluster.pods.fields.index("status.phase")
        self._bound = 0
        self._last: deque[RecentPlacement] = deque(maxlen=LAST)
        #: How many pods were bound in each of the last seconds.
        self._seconds: Counter[int] = Counter()
        cluster.scheduler.listen(self._hear)

    def count(self) -> Activity:
        now_ns, store = self._now_ns(), self._cluster.api.store
        pods = store.list(self._cluster.pods)
        return Activity(
            nodes=len(store.list(self._cluster.nodes)),
            phases=dict(Counter(stored.fields[self._phase_at] or "Pending" for stored in pods)),
            waiting=self._waiting(),
            reasons=self._reasons(),
            bound=self._bound,
            bound_per_second=self._rate(now_ns),
            last=list(reversed(self._last)),
            now_ns=now_ns,
            schedules=self._replica.watching.is_scheduling,
        )

    def _hear(self, report: Report) -> None:
        if not isinstance(report, Bound):
            return
        now_ns = self._now_ns()
        self._bound += 1
        self._last.append(RecentPlacement(report.pod.key, report.node_name, now_ns))
        self._seconds[now_ns // SECOND_NS] += 1

    def _rate(self, now_ns: int) -> float:
        """Return pods a second, over the time in which pods were bound at all."""
        first = now_ns // SECOND_NS - WINDOW_SECONDS
        self._seconds = Counter({second: count for second, count in self._seconds.items() if second > first})
        if not self._seconds:
            return 0.0
        passed = max(1.0, min(WINDOW_SECONDS, now_ns / SECOND_NS - min(self._seconds)))
        return self._seconds.total() / passed

    def _waiting(self) -> dict[str, int]:
        queue = self._replica.scheduler.state.queue
        members = queue.groups or ()
        found = Counter(entry.where.value for entry in (*queue.places.entries.values(), *members))
        if len(queue.in_flight):
            found[Place.IN_FLIGHT.value] = len(queue.in_flight)
        return dict(found)

    def _reasons(self) -> list[tuple[str, int]]:
        queue = self._replica.scheduler.state.queue
        refused = [one for one in queue.places.entries.values() if one.place in POOLED]
        tries = (self._replica.timeline.tries(entry.pod) for entry in (*refused, *(queue.groups or ())))
        return Counter(found[-1].message for found in tries if found).most_common(MOST_REASONS)

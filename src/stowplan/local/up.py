"""A cluster in one process, from start to end. `cluster` has its parts, `starting_cluster` its contents.

read -> open -> put in -> serve, write the kubeconfig -> schedule -> (until stopped | until all is decided) -> close
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec

from stowplan.local import entering, kubeconfig_file, starting_cluster, unmade
from stowplan.local.applying import Applier
from stowplan.local.cluster import ClusterOptions, LocalCluster
from stowplan.local.manifest_files import ManifestError
from stowplan.local.outcome import Knowledge, Outcome, key_of, outcome_of
from stowplan.local.scoreboard import Score, Scoreboard
from stowplan.local.settling import Settling
from stowplan.local.starting_cluster import Beginning, Progress
from stowplan.queue.entry import Place
from stowplan.serving.inspecting import ExplainQuery

REST_FACTOR = 30
MOST_EXPLAINED = 5


class View(Progress, Protocol):
    """Who shows what goes on."""

    @property
    def every_seconds(self) -> float:
        """How often there is something to show, at most."""

    def opened(self, cluster: LocalCluster, kubeconfig: Path | None) -> None:
        """Hear that the cluster can be used."""

    def show(self, score: Score) -> None:
        """Hear, every now and then, what the cluster is doing."""


@dataclass(frozen=True, slots=True)
class UpOptions:
    """What is asked for."""

    cluster: ClusterOptions
    beginning: Beginning
    #: Where to write how it is reached; None for nowhere.
    kubeconfig: Path | None
    #: How long to wait for a decision on every pod, where that is all that is asked for.
    timeout_seconds: float = 300.0
    #: Whether refusals are to be explained.
    explains: bool = False
    width: int = 100


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of all pods, and explanations of refusals by pod."""

    outcome: Outcome
    explanations: dict[str, str]


async def run(options: UpOptions, view: View) -> None:
    """Keep a cluster up until told to stop. Raise one of `cluster.UNSTARTABLE` if it cannot begin."""
    cluster = await _open(options, view)
    try:
        with _told_to_stop() as stopped, _told_to_reload(cluster, view), _published(options, cluster):
            # It counts from the first pod on.
            board = Scoreboard(cluster.api.store, cluster.pods, cluster.nodes, cluster.scheduler)
            if not await _unless(stopped, cluster.schedule()):
                return
            view.opened(cluster, options.kubeconfig)
            await _show_until(stopped, cluster, board, view)
    finally:
        await cluster.close()


async def run_once(options: UpOptions, view: View) -> Decided:
    """Bring up a cluster, see every pod decided on, and say what became of them."""
    cluster = await _open(options, view)
    try:
        before = {key_of(pod): pod for pod in cluster.api.list(cluster.pods)}
        with _told_to_stop() as stopped, _published(options, cluster), view.stage("scheduling pods", 0):
            await _until_first(cluster, _decide(cluster, options.timeout_seconds), stopped.wait())
        outcome = _outcome(cluster, before)
        if outcome.is_about_nothing and not cluster.has_data:
            # Most likely the manifests are not those that were meant: green would say that all is well.
            raise ManifestError("nothing to schedule: no pod waits in the cluster; give manifests of pods or workloads")
        return Decided(outcome, await _explain(cluster, outcome, options) if options.explains else {})
    finally:
        await cluster.close()


async def _decide(cluster: LocalCluster, timeout_seconds: float) -> None:
    """Schedule until every pod is decided on, or the time is over."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_seconds):
            await cluster.schedule()
            await Settling(cluster).settled()


async def _open(options: UpOptions, view: View) -> LocalCluster:
    """Bring up the cluster with all that it begins with; nothing is scheduled yet."""
    if options.kubeconfig is not None:
        kubeconfig_file.check_free(options.kubeconfig)
    cluster = LocalCluster(options.cluster)
    for note in entering.notes_on(options.cluster.entrance):
        view.note(note)
    try:
        contents = await starting_cluster.read(options.beginning, view, cluster.has_data)
        applier = Applier(cluster.api)
        starting_cluster.define(applier, (*contents.copied, *contents.manifests), view)
        starting_cluster.put_copied(applier, contents, view)
        await cluster.start()
        quiet = Settling(cluster).quiet
        await starting_cluster.put_new(applier, contents, view, quiet)
        await quiet()
        return cluster
    except BaseException:
        await cluster.close()
        raise


async def _show_until(stopped: asyncio.Event, cluster: LocalCluster, board: Scoreboard, view: View) -> None:
    loop = asyncio.get_running_loop()
    while not stopped.is_set():
        began = loop.time()
        view.show(board.score())
        # Of a large cluster it takes a while, which is to be a small part of the time.
        rest_seconds = max(view.every_seconds, (loop.time() - began) * REST_FACTOR)
        await _until_first(cluster, stopped.wait(), asyncio.sleep(rest_seconds))
    # What has happened since is not to be missing from the last word.
    view.show(board.score())


async def _unless(stopped: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """See a work through, and say so; stop it as soon as we are told to stop."""
    task, told = asyncio.ensure_future(work), asyncio.ensure_future(stopped.wait())
    try:
        await asyncio.wait({task, told}, return_when=asyncio.FIRST_COMPLETED)
        if not told.done():
            task.result()
        return not told.done()
    finally:
        task.cancel()
        told.cancel()
        await asyncio.gather(task, told, return_exceptions=True)


async def _until_first(cluster: LocalCluster, *works: Coroutine[Any, Any, Any]) -> None:
    """Wait until one of several works is done; raise what made the cluster break."""
    tasks: set[asyncio.Future[Any]] = {asyncio.ensure_future(work) for work in works}
    try:
        await asyncio.wait({*tasks, cluster.broken}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    if cluster.broken.done():
        cluster.broken.result()


@contextmanager
def _told_to_stop() -> Iterator[asyncio.Event]:
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
def _told_to_reload(cluster: LocalCluster, view: View) -> Iterator[None]:
    """Let SIGHUP read the configuration again, and say what became of it."""
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    async def reload() -> None:
        view.note(await cluster.reload())

    def begin() -> None:
        task = loop.create_task(reload())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    loop.add_signal_handler(signal.SIGHUP, begin)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)


@contextmanager
def _published(options: UpOptions, cluster: LocalCluster) -> Iterator[None]:
    """Have a kubeconfig lead to the cluster for as long as it is up; no other cluster writes it meanwhile."""
    if options.kubeconfig is None:
        yield
        return
    descriptor = kubeconfig_file.publish(options.kubeconfig, cluster.access)
    try:
        yield
    finally:
        os.close(descriptor)


def _outcome(cluster: LocalCluster, before: dict[str, dict[str, Any]]) -> Outcome:
    placed_before = {pod["metadata"]["uid"] for pod in before.values() if pod["spec"].get("nodeName")}
    pods = {key_of(pod): pod for pod in cluster.api.list(cluster.pods)}
    ours = [pod for pod in pods.values() if pod["metadata"]["uid"] not in placed_before]
    replica = cluster.scheduler.replica
    entries = replica.scheduler.state.queue.places.entries.values()
    held = {entry.pod.key: ", ".join(entry.gate_reasons) for entry in entries if entry.place is Place.GATED}
    faults = {entry.pod.key: entry.gate_fault for entry in entries if entry.gate_fault}
    cache = replica.scheduler.state.cache
    on_nodes = (one for name in cache.table.row_of for one in cache.pods_on(name))
    assumed = {one.pod.key: one.node_name for one in on_nodes if one.is_assumed}
    known = Knowledge(replica.cluster.profiles, held, faults, assumed)
    outcome = outcome_of(ours, known, before.keys() - pods.keys())
    return msgspec.structs.replace(outcome, unmade=unmade.find(cluster.api))


async def _explain(cluster: LocalCluster, outcome: Outcome, options: UpOptions) -> dict[str, str]:
    found = {}
    for verdict in (*outcome.refused, *outcome.failed)[:MOST_EXPLAINED]:
        query = ExplainQuery(verdict.pod, is_text=True, width=options.width)
        found[verdict.pod] = (await cluster.scheduler.inspection.explain(query)).text
    return found

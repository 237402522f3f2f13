"""A cluster in one process, from start to end: what `stowplan up` runs.

read -> open -> put in -> serve, write the kubeconfig -> schedule -> (until stopped | until all is decided) -> close

`local/cluster.py` has its parts, `local/initial_objects.py` its contents. `local/run_once.py` ends it when every pod is
decided on. What it is doing meanwhile is read off by `local/activity.py`, and drawn by `cli/up_views.py`.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from stowplan.app.process import Tasks
from stowplan.local import api_endpoint, initial_objects
from stowplan.local.activity import REST_FACTOR, Activity, ActivityCounter
from stowplan.local.apply import Applier
from stowplan.local.cluster import ClusterOptions, EmbeddedCluster
from stowplan.local.initial_objects import InitialObjects, Progress

#: The task that follows what is saved.
_SAVES: Final = "saves"


class View(Progress, Protocol):
    """Who shows what goes on."""

    @property
    def every_seconds(self) -> float:
        """How often there is something to show, at most."""

    def opened(self, cluster: EmbeddedCluster, kubeconfig: Path | None) -> None:
        """Hear that the cluster can be used."""

    def show(self, activity: Activity) -> None:
        """Hear, every now and then, what the cluster is doing."""

    def close(self) -> None:
        """Give the terminal back as it was; nothing is to be shown any more."""


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
        with (
            told_to_stop(view.close) as stopped,
            told_to_reload(cluster, view, follows_saves=options.follows_saves),
            published(options, cluster),
        ):
            # It counts from the first pod on.
            counter = ActivityCounter(cluster)
            await until_first(cluster, cluster.schedule(), stopped.wait())
            if stopped.is_set():
                return
            view.opened(cluster, options.kubeconfig)
            await _show_until(stopped, cluster, counter, view)
    finally:
        view.close()
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
        activity, began = counter.count(), loop.time()
        view.show(activity)
        # On a slow terminal it takes a while, which is to be a small part of the time.
        rest_seconds = max(view.every_seconds, (loop.time() - began) * REST_FACTOR)
        await until_first(cluster, stopped.wait(), asyncio.sleep(rest_seconds))
    # What has happened since is not to be missing from the last word.
    view.show(counter.count(is_last=True))


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
def told_to_stop(leave: Callable[[], None]) -> Iterator[asyncio.Event]:
    """Listen for Ctrl-C and SIGTERM; who is asked twice ends at once, after `leave`."""
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()

    def stop() -> None:
        if stopped.is_set():
            # Everything acknowledged is on disk, if it is kept at all.
            leave()
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
def told_to_reload(cluster: EmbeddedCluster, view: View, *, follows_saves: bool) -> Iterator[None]:
    """Let SIGHUP read the configuration again, or every save of what it is made of; say what became of it."""
    loop, tasks = asyncio.get_running_loop(), Tasks(partial(_tell_fault, view))

    async def reload() -> None:
        view.note(await cluster.reload())

    loop.add_signal_handler(signal.SIGHUP, lambda: tasks.start(reload()))
    following = tasks.start(cluster.follow_saves(view.note), _SAVES) if follows_saves else None
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        if following is not None:
            following.cancel()


def _tell_fault(view: View, task: asyncio.Task[None]) -> None:
    """Say that reading again ended by a fault of our own; the cluster goes on with what it has."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        text = f"what is in force stays, for reading it again broke off: {error!r}"
        view.note(f"{text}; saves are followed again after a restart" if task.get_name() == _SAVES else text)


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

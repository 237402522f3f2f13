"""Tell the user what happened, as events of events.k8s.io/v1: best effort, beside the flow, never waited for.

`series.py` decides what is written; here it is written, in order for each event, and given up where upstream gives up.
While the flow's own writes have to queue, few events are written beside them: a pod that starts sooner matters more
than reading of it sooner.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from stowplan.kube.backoff import Draw
from stowplan.kube.client import STRATEGIC_MERGE_PATCH, Client
from stowplan.kube.errors import ApiError, TransportError
from stowplan.kube.pool import Request
from stowplan.kube.resources import Resource
from stowplan.kube.series import FINISHED_AFTER, Occurrence, SeriesBook
from stowplan.model import decode
from stowplan.model.kinds import Event
from stowplan.model.meta import ObjectReference

__all__ = ["EVENTS", "Occurrence", "Recorder", "reference_to"]

EVENTS = Resource("Event", "/apis/events.k8s.io/v1", "events", Event)

# A burst of that many pods may be bound before the first event is written; upstream queues without a limit here.
MAX_QUEUED = 10_000
_MAX_UNDERWAY = 16
_MAX_UNDERWAY_IF_BUSY = 1
# With more than that waiting, events do not give way any longer: late is better than never.
MAX_PUT_OFF = MAX_QUEUED // 2
_MAX_TRIES = 12
_PAUSE_SECONDS = 10.0
_PAUSE_JITTER = 0.25
_REFRESH_ROUNDS = 5


def reference_to(found: Any) -> ObjectReference:
    """Point to an object, at the version we know."""
    metadata = found.metadata
    return ObjectReference(
        api_version=found.api_version,
        kind=found.kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )


class Recorder:
    """Takes occurrences at any time; `run` writes them. `instance` is the name of the machine."""

    def __init__(
        self, client: Client, instance: str, now: Callable[[], datetime], draw: Draw, report: Callable[[str], None]
    ) -> None:
        self._client, self._now, self._draw, self._report = client, now, draw, report
        self._book = SeriesBook(instance)
        self._queue: deque[tuple[Occurrence, datetime]] = deque()
        self._is_wanted = asyncio.Event()
        self._written = asyncio.Event()
        self._count = 0
        self._is_busy: Callable[[], bool] = lambda: False
        #: The last write of each event by its name: a count must not overtake the event it counts for.
        self._underway: dict[str, asyncio.Task[None]] = {}
        #: How many were not even queued, because the server did not keep up.
        self.dropped = 0

    def give_way(self, is_busy: Callable[[], bool]) -> None:
        """Write little for as long as somebody who matters more is busy."""
        self._is_busy = is_busy

    def record(self, occurrence: Occurrence) -> None:
        """Queue an occurrence; with a full queue it is dropped."""
        if len(self._queue) >= MAX_QUEUED:
            if self.dropped % MAX_QUEUED == 0:
                self._report(
                    f"events: {MAX_QUEUED} wait to be written, so some are dropped; see why the server is slow"
                )
            self.dropped += 1
            return
        self._queue.append((occurrence, self._now()))
        self._is_wanted.set()

    async def run(self) -> None:
        """Write events until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_house())
            while True:
                await self._is_wanted.wait()
                self._is_wanted.clear()
                while self._queue:
                    event = self._book.note(*self._queue.popleft())
                    if event is not None:
                        await self._begin(group, event)

    async def drain(self) -> None:
        """Wait until everything queued so far is written or given up; `run` must be running."""
        while self._queue or self._underway:
            tasks = list(self._underway.values())
            await (asyncio.wait(tasks) if tasks else asyncio.sleep(0))

    async def _keep_house(self) -> None:
        """Close silent series every six minutes, and write running ones every thirty."""
        rounds = 0
        while True:
            await asyncio.sleep(FINISHED_AFTER.total_seconds())
            rounds += 1
            events = self._book.finished(self._now())
            if rounds % _REFRESH_ROUNDS == 0:
                events += self._book.running()
            for event in events:
                await self._write(event)

    async def _begin(self, group: asyncio.TaskGroup, event: Event) -> None:
        while self._count >= self._room():
            self._written.clear()
            await self._written.wait()
        self._count += 1
        before = self._underway.get(event.name)
        task = group.create_task(self._write_after(before, event))
        self._underway[event.name] = task
        task.add_done_callback(lambda done: self._end(event.name, done))

    def _room(self) -> int:
        gives_way = len(self._queue) < MAX_PUT_OFF and self._is_busy()
        return _MAX_UNDERWAY_IF_BUSY if gives_way else _MAX_UNDERWAY

    def _end(self, name: str, task: asyncio.Task[None]) -> None:
        self._count -= 1
        self._written.set()
        if self._underway.get(name) is task:
            del self._underway[name]

    async def _write_after(self, before: asyncio.Task[None] | None, event: Event) -> None:
        if before is not None:
            await asyncio.wait((before,))
        await self._write(event)

    async def _write(self, event: Event) -> None:
        for _ in range(_MAX_TRIES):
            try:
                await self._send(event)
                return
            except ApiError as error:
                if error.is_already_exists and event.series is None:
                    return
                if not error.is_already_exists:
                    self._report(
                        f"event {event.reason} about {event.regarding.name}: {error.describe()}; it is dropped"
                    )
                    return
            except TransportError:
                await asyncio.sleep(_PAUSE_SECONDS * (1 + _PAUSE_JITTER * self._draw()))
        self._report(f"event {event.reason} about {event.regarding.name}: no answer {_MAX_TRIES} times; it is dropped")

    async def _send(self, event: Event) -> None:
        if event.series is not None:
            patch = msgspec.json.encode({"series": event.series})
            path = EVENTS.path_of(event.namespace, event.name)
            try:
                await self._client.send(Request("PATCH", path, body=patch, content_type=STRATEGIC_MERGE_PATCH))
                return
            except ApiError as error:
                if not error.is_not_found:
                    raise
            # The server keeps events for an hour only: tell it anew.
        await self._client.send(Request("POST", EVENTS.path_in(event.namespace), body=decode.encode(event)))

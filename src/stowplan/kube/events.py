"""Tell the user what happened, as events of events.k8s.io/v1: best effort, beside the flow, never waited for.

`SeriesBook` decides what is written, `Recorder` writes it, in order for each event, and gives up where upstream does.
While the flow's own writes have to queue, few events are written beside them: a pod that starts sooner matters more
than reading of it sooner.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec

from stowplan.kube.backoff import Draw
from stowplan.kube.client import STRATEGIC_MERGE_PATCH, Client
from stowplan.kube.errors import ApiError, TransportError
from stowplan.kube.resources import ApiResource
from stowplan.kube.transport import ApiRequest
from stowplan.model import decode
from stowplan.model.kinds import Event, EventSeries
from stowplan.model.meta import NamespacedMeta, ObjectReference
from stowplan.model.timestamps import format_micro_time

__all__ = ["EVENTS", "Occurrence", "Recorder", "reference_to"]

EVENTS = ApiResource("Event", "/apis/events.k8s.io/v1", "events", Event)

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

FINISHED_AFTER = timedelta(minutes=6)
_NOTE_BYTES = 1024
_CUT = " ..."
_NAME_LENGTH = 253


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
        self._is_busy: Callable[[], bool] = lambda: False
        #: Writers that have nothing to do, or no room, and whether one of them has been called and is yet to come.
        self._resting: list[asyncio.Future[None]] = []
        self._is_called = False
        self._has_rested = asyncio.Event()
        #: Events being written, by their names, and what is to be written of each after it: a count must not overtake
        #: the event it counts for.
        self._underway: dict[str, list[Event]] = {}
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
        self._call_writer()

    async def run(self) -> None:
        """Write events until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_house())
            for _ in range(_MAX_UNDERWAY):
                group.create_task(self._write_queued())

    async def drain(self) -> None:
        """Wait until everything queued so far is written or given up; `run` must be running."""
        while self._queue or self._underway:
            self._has_rested.clear()
            await self._has_rested.wait()

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

    async def _write_queued(self) -> None:
        """Write one event after another, as long as there are any and room beside the other writers."""
        while True:
            while not self._has_work():
                await self._rest()
            event = self._book.note(*self._queue.popleft())
            if event is None:
                continue
            if event.name in self._underway:
                self._underway[event.name].append(event)
                continue
            versions = self._underway[event.name] = [event]
            self._call_writer()
            try:
                for version in versions:
                    await self._write(version)
            finally:
                del self._underway[event.name]

    async def _rest(self) -> None:
        """Wait until there is something to do."""
        called = asyncio.get_running_loop().create_future()
        self._resting.append(called)
        self._has_rested.set()
        try:
            await called
        finally:
            self._is_called = False

    def _has_work(self) -> bool:
        """Say whether another event is to be written now."""
        return bool(self._queue) and (not self._underway or len(self._underway) < self._room())

    def _room(self) -> int:
        gives_way = len(self._queue) < MAX_PUT_OFF and self._is_busy()
        return _MAX_UNDERWAY_IF_BUSY if gives_way else _MAX_UNDERWAY

    def _call_writer(self) -> None:
        """Have one that rests go on, if there is work for it; it calls the next one, if there is more."""
        while self._resting and not self._is_called and self._has_work():
            called = self._resting.pop()
            if not called.done():
                called.set_result(None)
                self._is_called = True

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
                await self._client.send(ApiRequest("PATCH", path, body=patch, content_type=STRATEGIC_MERGE_PATCH))
                return
            except ApiError as error:
                if not error.is_not_found:
                    raise
            # The server keeps events for an hour only: tell it anew.
        await self._client.send(ApiRequest("POST", EVENTS.path_in(event.namespace), body=decode.encode(event)))


class Occurrence(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to an object, in the words of who reports it."""

    regarding: ObjectReference
    type: str
    reason: str
    action: str
    note: str
    controller: str
    related: ObjectReference | None = None

    @property
    def key(self) -> Occurrence:
        """What makes two occurrences the same event: everything but the note."""
        return msgspec.structs.replace(self, note="")


class _Line(msgspec.Struct):
    event: Event
    seen_at: datetime


class SeriesBook:
    """The events of the last minutes. `instance` is who reports, beside the controller's name.

    As client-go's broadcaster: the first of its kind is written at once, the second as a series, the rest only counted
    for a while. The same regarding object (and version), related object, type, reason, action and reporter make a
    series, whatever the note says. One that was silent for six minutes is over; its count is written then.
    """

    def __init__(self, instance: str) -> None:
        self._instance = instance
        self._lines: dict[Occurrence, _Line] = {}
        self._last_nanoseconds = 0

    def __len__(self) -> int:
        return len(self._lines)

    def note(self, occurrence: Occurrence, now: datetime) -> Event | None:
        """Count an occurrence; return the event to be written, None if nothing is to be written yet."""
        key = occurrence.key
        line = self._lines.get(key)
        if line is None:
            event = self.once(occurrence, now)
            self._lines[key] = _Line(event, now)
            return event
        is_first_repeat = line.event.series is None
        count = 2 if line.event.series is None else line.event.series.count + 1
        series = EventSeries(count=count, last_observed_time=format_micro_time(now))
        line.event, line.seen_at = msgspec.structs.replace(line.event, series=series), now
        return line.event if is_first_repeat else None

    def finished(self, now: datetime) -> list[Event]:
        """Close what was silent for long and return the series whose final count is to be written."""
        over = [key for key, line in self._lines.items() if line.seen_at < now - FINISHED_AFTER]
        closed = [self._lines.pop(key) for key in over]
        return [line.event for line in closed if line.event.series is not None]

    def running(self) -> Iterator[Event]:
        """The series that go on: written now and then, lest the server forget them."""
        return (line.event for line in list(self._lines.values()) if line.event.series is not None)

    def once(self, occurrence: Occurrence, now: datetime) -> Event:
        """Return the event of something that happens only once; it is not remembered."""
        namespace = occurrence.regarding.namespace or "default"
        return Event(
            metadata=NamespacedMeta(name=self._name(occurrence.regarding.name, now), namespace=namespace),
            event_time=format_micro_time(now),
            reporting_controller=occurrence.controller,
            reporting_instance=f"{occurrence.controller}-{self._instance}",
            action=occurrence.action,
            reason=occurrence.reason,
            type=occurrence.type,
            note=shortened(occurrence.note),
            regarding=occurrence.regarding,
            related=occurrence.related,
        )

    def _name(self, about: str, now: datetime) -> str:
        # The clock has microseconds and two events may share one: the digits below tell them apart.
        nanoseconds = round(now.timestamp() * 1_000_000) * 1000
        self._last_nanoseconds = max(nanoseconds, self._last_nanoseconds + 1)
        suffix = f".{self._last_nanoseconds:x}"
        return about[: _NAME_LENGTH - len(suffix)].rstrip(".-") + suffix


def shortened(note: str) -> str:
    """Cut a note to the 1,024 bytes that the server takes."""
    data = note.encode(errors="replace")
    if len(data) <= _NOTE_BYTES:
        return note
    return data[: _NOTE_BYTES - len(_CUT)].decode(errors="ignore") + _CUT

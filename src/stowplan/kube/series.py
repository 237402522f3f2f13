"""Which events are written: the first of its kind at once, the second as a series, the rest only counted for a while.

As client-go's broadcaster: the same regarding object (and version), related object, type, reason, action and reporter
make a series, whatever the note says. A series that was silent for six minutes is over; its count is written then.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from stowplan.model.kinds import Event, EventSeries
from stowplan.model.meta import NamespacedMeta, ObjectReference
from stowplan.model.timestamps import format_micro_time

FINISHED_AFTER = timedelta(minutes=6)
_NOTE_BYTES = 1024
_CUT = " ..."
_NAME_LENGTH = 253


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
    """The events of the last minutes. `instance` is who reports, beside the controller's name."""

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
            event = self._event(occurrence, now)
            self._lines[key] = _Line(event, now)
            return event
        is_first_repeat = line.event.series is None
        count = 2 if line.event.series is None else line.event.series.count + 1
        series = EventSeries(count=count, last_observed_time=format_micro_time(now))
        line.event, line.seen_at = msgspec.structs.replace(line.event, series=series), now
        return line.event if is_first_repeat else None

    def once(self, occurrence: Occurrence, now: datetime) -> Event:
        """Return the event of something that happens only once; it is not remembered."""
        return self._event(occurrence, now)

    def finished(self, now: datetime) -> list[Event]:
        """Close what was silent for long and return the series whose final count is to be written."""
        over = [key for key, line in self._lines.items() if line.seen_at < now - FINISHED_AFTER]
        closed = [self._lines.pop(key) for key in over]
        return [line.event for line in closed if line.event.series is not None]

    def running(self) -> Iterator[Event]:
        """The series that go on: written now and then, lest the server forget them."""
        return (line.event for line in list(self._lines.values()) if line.event.series is not None)

    def _event(self, occurrence: Occurrence, now: datetime) -> Event:
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

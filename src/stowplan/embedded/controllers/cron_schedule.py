"""Reads cron schedules of five fields, their names and macros, and finds the next moment one names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = re.compile(r"@every ((?:\d+(?:\.\d+)?(?:h|m|s))+)$")
_UNIT_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}
#: February 29th comes at least every eight years.
_HORIZON_DAYS = 9 * 366


class ScheduleError(ValueError):
    """A schedule that cannot be read, and why."""


@dataclass(frozen=True, slots=True)
class _Field:
    """One field: what it is called, its range, and the names its values may have."""

    title: str
    first: int
    last: int
    names: tuple[str, ...] = ()


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    # Seven means Sunday too.
    _Field("day of week", 0, 7, _DAYS),
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """When something is to happen; `every` is set instead of the fields for a fixed interval."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    #: Without a star in either, one of the two kinds of day suffices.
    needs_both_days: bool
    zone: ZoneInfo
    every: timedelta | None = None

    def next_after(self, moment: datetime) -> datetime | None:
        """The first moment after this one, in UTC; None if there is none in years."""
        if self.every is not None:
            return (moment + self.every).replace(microsecond=0)
        local = moment.astimezone(self.zone)
        return next((found for found in self._moments(local) if found > moment), None)

    def _moments(self, local: datetime) -> Iterator[datetime]:
        day = local.date()
        for _ in range(_HORIZON_DAYS):
            if day.month in self.months and self._has_day(day.day, day.isoweekday() % 7):
                for hour in self.hours:
                    for minute in self.minutes:
                        found = datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.zone).astimezone(UTC)
                        # The hour that a change of clocks leaves out does not come.
                        if found.astimezone(self.zone).hour == hour:
                            yield found
            day += timedelta(days=1)

    def _has_day(self, day: int, weekday: int) -> bool:
        hits = (day in self.days, weekday in self.weekdays)
        return all(hits) if self.needs_both_days else any(hits)


def parse(text: str, zone_name: str = "") -> Schedule:
    """Read a schedule. Raise ScheduleError if it, or the time zone, makes no sense."""
    zone = _zone(zone_name)
    text = text.strip()
    if every := _EVERY.match(text):
        return _fixed(every[1], zone)
    fields = _MACROS.get(text, text).split()
    if len(fields) != len(_FIELDS):
        raise ScheduleError(f"schedule {text!r}: expected 5 fields, found {len(fields)}")
    minutes, hours, days, months, weekdays = (_values(part, field) for part, field in zip(fields, _FIELDS, strict=True))
    return Schedule(
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=frozenset(days),
        months=frozenset(months),
        weekdays=frozenset(day % 7 for day in weekdays),
        needs_both_days=_has_star(fields[2]) or _has_star(fields[4]),
        zone=zone,
    )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ScheduleError(f"unknown time zone {name}") from None


def _fixed(text: str, zone: ZoneInfo) -> Schedule:
    parts = re.findall(r"(\d+(?:\.\d+)?)([hms])", text)
    seconds = max(1.0, sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts))
    return Schedule((), (), frozenset(), frozenset(), frozenset(), True, zone, timedelta(seconds=seconds))


def _has_star(part: str) -> bool:
    return any(each.split("/")[0] in ("*", "?") for each in part.split(","))


def _values(part: str, field: _Field) -> set[int]:
    values: set[int] = set()
    for each in part.split(","):
        values.update(_range(each, field))
    return values


def _range(text: str, field: _Field) -> range:
    """Read `*`, `5`, `1-5`, `*/2` or `1-5/2`."""
    span, _, step_text = text.partition("/")
    step = _number(step_text, field, is_step=True) if step_text or "/" in text else 1
    if span in ("*", "?"):
        return range(field.first, field.last + 1, step)
    low_text, _, high_text = span.partition("-")
    low = _number(low_text, field)
    high = _number(high_text, field) if "-" in span else (field.last if "/" in text else low)
    if low > high:
        raise ScheduleError(f"{field.title}: {text!r} begins after its end")
    return range(low, high + 1, step)


def _number(text: str, field: _Field, *, is_step: bool = False) -> int:
    if not is_step and text.lower()[:3] in field.names and text.isalpha():
        return field.names.index(text.lower()[:3]) + field.first
    if not text.isdigit() or (is_step and int(text) == 0):
        raise ScheduleError(f"{field.title}: {text!r} is not a number that makes sense here")
    if not is_step and not field.first <= int(text) <= field.last:
        raise ScheduleError(f"{field.title}: {text} is outside {field.first}-{field.last}")
    return int(text)

"""Reads cron schedules of five fields, their names and macros, and finds the next moment one names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from stowplan.model import duration

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
_EVERY = "@every "
_ANY = ("*", "?")
#: Of a number in a field, so that a long row of digits costs nothing.
_LONGEST_NUMBER = 9
#: February 29th comes at least every eight years.
_HORIZON_DAYS = 9 * 366


class ScheduleError(ValueError):
    """A schedule that cannot be read, and why."""


@dataclass(frozen=True, slots=True)
class _Field:
    """One field: its range, and the names its values may have."""

    first: int
    last: int
    names: tuple[str, ...] = ()


_FIELDS = (
    _Field(0, 59),
    _Field(0, 23),
    _Field(1, 31),
    _Field(1, 12, _MONTHS),
    _Field(0, 6, _DAYS),
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
        """The first moment after this one, in UTC; None if there is none in years, or before dates end."""
        try:
            if self.every is not None:
                return (moment + self.every).replace(microsecond=0)
            local = moment.astimezone(self.zone)
            return next((found for found in self._moments(local) if found > moment), None)
        except OverflowError:
            return None

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
    if "TZ" in text:
        raise ScheduleError("cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    zone = _zone(zone_name)
    if text.startswith(_EVERY):
        try:
            # Shorter than a second, and parts of one, do not count.
            seconds = max(1, int(duration.parse(text.removeprefix(_EVERY)).seconds))
        except ValueError as problem:
            raise ScheduleError(f"failed to parse duration {text}: {problem}") from None
        return Schedule((), (), frozenset(), frozenset(), frozenset(), True, zone, timedelta(seconds=seconds))
    if text.startswith("@") and text not in _MACROS:
        raise ScheduleError(f"unrecognized descriptor: {text}")
    fields = _MACROS.get(text, text).split()
    if len(fields) != len(_FIELDS):
        raise ScheduleError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    minutes, hours, days, months, weekdays = (
        {value for each in part.split(",") for value in _range(each, field)}
        for part, field in zip(fields, _FIELDS, strict=True)
    )
    return Schedule(
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=frozenset(days),
        months=frozenset(months),
        weekdays=frozenset(weekdays),
        needs_both_days=_has_star(fields[2]) or _has_star(fields[4]),
        zone=zone,
    )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ScheduleError(f"unknown time zone {name}") from None


def _has_star(part: str) -> bool:
    return any(each.split("/")[0] in _ANY for each in part.split(","))


def _range(text: str, field: _Field) -> range:
    """Read `*`, `5`, `1-5`, `*/2`, `3/2` or `1-5/2`."""
    span, slash, step_text = text.partition("/")
    low_text, dash, high_text = span.partition("-")
    if span in _ANY:
        low, high = field.first, field.last
    else:
        low = _number(low_text, field)
        high = _number(high_text, field) if dash else field.last if slash else low
    step = _number(step_text) if slash else 1
    if low < field.first:
        raise ScheduleError(f"beginning of range ({low}) below minimum ({field.first}): {text}")
    if high > field.last:
        raise ScheduleError(f"end of range ({high}) above maximum ({field.last}): {text}")
    if low > high:
        raise ScheduleError(f"beginning of range ({low}) beyond end of range ({high}): {text}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {text}")
    return range(low, high + 1, step)


def _number(text: str, field: _Field | None = None) -> int:
    if field is not None and text.lower() in field.names:
        return field.names.index(text.lower()) + field.first
    if not (text.isascii() and text.isdigit()) or len(text) > _LONGEST_NUMBER:
        raise ScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    return int(text)

"""Checks the schedule of a cron job: five fields of numbers, ranges and steps, or one of the short words."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
#: Lowest, highest and the names that stand for numbers, field by field.
_FIELDS: Final[tuple[tuple[int, int, dict[str, int]], ...]] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, start=1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_DURATION: Final = re.compile(r"@every ([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+")
_LONGEST_NUMBER: Final = 9


class _ScheduleError(ValueError):
    """The text says what is wrong."""


def problem(schedule: str) -> str:
    """What is wrong with a schedule, "" if nothing is."""
    if "TZ" in schedule:
        return "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    if schedule.startswith("@"):
        is_known = schedule in _WORDS or _DURATION.fullmatch(schedule)
        return "" if is_known else f"unrecognized descriptor: {schedule}"
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        return f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]"
    try:
        for field, (lowest, highest, names) in zip(fields, _FIELDS, strict=True):
            for part in field.split(","):
                _check_part(part, lowest, highest, names)
    except _ScheduleError as wrong:
        return str(wrong)
    return ""


def _check_part(part: str, lowest: int, highest: int, names: dict[str, int]) -> None:
    span, slash, step = part.partition("/")
    if slash and _number(step, {}) == 0:
        raise _ScheduleError(f"step of range should be a positive number: {part}")
    if span in ("*", "?"):
        return
    start, dash, end = span.partition("-")
    first = _number(start, names)
    last = _number(end, names) if dash else first
    if first < lowest:
        raise _ScheduleError(f"beginning of range ({first}) below minimum ({lowest}): {part}")
    if last > highest:
        raise _ScheduleError(f"end of range ({last}) above maximum ({highest}): {part}")
    if first > last:
        raise _ScheduleError(f"beginning of range ({first}) beyond end of range ({last}): {part}")


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not re.fullmatch(r"[0-9]+", text) or len(text) > _LONGEST_NUMBER:
        raise _ScheduleError(f"failed to parse int from {text}: strconv.Atoi: parsing {text!r}: invalid syntax")
    return int(text)

"""What a column of a table is, the columns that almost every table has, and how cells are worded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.model.timestamps import parse_time

NONE: Final = "<none>"
UNSET: Final = "<unset>"
UNKNOWN: Final = "<unknown>"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `read` gives the cell of an object at a time."""

    name: str
    read: Callable[[Object, datetime], Any]
    type: str = "string"
    format: str = ""
    #: Columns above 0 are shown by `-o wide` only.
    priority: int = 0
    description: str = ""


#: The columns of each resource, by its qualified name.
Columns = Mapping[str, tuple[Column, ...]]


def column(name: str, read: Callable[[Object], Any], type_: str = "string") -> Column:
    """Make a column whose cells do not depend on the time."""
    return Column(name, lambda obj, now: read(obj), type_)


def wide(name: str, read: Callable[[Object], Any]) -> Column:
    """Make a column that only `-o wide` shows."""
    return Column(name, lambda obj, now: read(obj), priority=1)


def value(name: str, path: str, absent: str = "", priority: int = 0) -> Column:
    """Make a column of the text at a path."""
    keys = path.split(".")
    return Column(name, lambda obj, now: reading.text(obj, *keys) or absent, priority=priority)


def number(name: str, path: str, type_: str = "integer") -> Column:
    """Make a column of the whole number at a path; upstream declares some of them as text."""
    keys = path.split(".")
    return Column(name, lambda obj, now: reading.count(obj, *keys), type_)


def count(name: str, path: str) -> Column:
    """Make a column of how many items the list at a path has."""
    keys = path.split(".")
    return Column(name, lambda obj, now: len(reading.entries(obj, *keys)), "integer")


def flag(name: str, path: str, *, absent: bool = False) -> Column:
    """Make a column of whether something is said at a path."""
    keys = path.split(".")

    def read(obj: Object, now: datetime) -> bool:
        found = reading.at(obj, *keys)
        return absent if found is None else bool(found)

    return Column(name, read, "boolean")


def age_of(timestamp: str, now: datetime) -> str:
    """Say how long ago a timestamp was; one that is missing or cannot be read is unknown."""
    moment = moment_of(timestamp)
    return human(now - moment) if moment is not None else UNKNOWN


def moment_of(timestamp: str) -> datetime | None:
    try:
        return parse_time(timestamp) if timestamp else None
    except (ValueError, OverflowError):
        return None


def human(duration: timedelta) -> str:
    """Say a duration as short as people say it, less exactly the longer it is: 45s, 3m20s, 5h, 12d."""
    seconds = int(duration.total_seconds())
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    minutes, hours, days, years = seconds // 60, seconds // 3600, seconds // 86400, seconds // (365 * 86400)
    spans = (
        (seconds < 120, f"{seconds}s"),
        (minutes < 10, _two(minutes, "m", seconds % 60, "s")),
        (hours < 3, f"{minutes}m"),
        (hours < 8, _two(hours, "h", minutes % 60, "m")),
        (days < 2, f"{hours}h"),
        (days < 8, _two(days, "d", hours % 24, "h")),
        (years < 2, f"{days}d"),
        (years < 8, _two(years, "y", days % 365, "d")),
    )
    return next((words for is_shorter, words in spans if is_shorter), f"{years}y")


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


def labels(pairs: Mapping[str, Any]) -> str:
    return ",".join(f"{key}={pairs[key]}" for key in sorted(pairs)) or NONE


def selector(obj: Any) -> str:
    """Spell a LabelSelector as one would type it; "" if it selects everything."""
    terms = [(key, f"{key}={value}") for key, value in reading.mapping(obj, "matchLabels").items()]
    terms += [(reading.text(each, "key"), _expression(each)) for each in reading.entries(obj, "matchExpressions")]
    return ",".join(term for _, term in sorted(terms, key=lambda term: term[0]))


def _expression(expression: Object) -> str:
    key = reading.text(expression, "key")
    values = ",".join(sorted(reading.texts(expression, "values")))
    match reading.text(expression, "operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
        case _:
            return key


def reference(found: Object, *fields: str) -> str:
    """Name something by several of its fields, such as `kind/name`."""
    return "/".join(reading.text(found, field) for field in fields)


def first_few(parts: Sequence[str], most: int, absent: str, separator: str = ",") -> str:
    """Show the first few of a list, and how many more there are."""
    shown = separator.join(parts[:most])
    if len(parts) > most:
        return f"{shown} + {len(parts) - most} more..."
    return shown or absent


NAME: Final = Column("Name", lambda obj, now: reading.text(obj, "metadata", "name"), format="name")
AGE: Final = Column("Age", lambda obj, now: age_of(reading.text(obj, "metadata", "creationTimestamp"), now))
CREATED_AT: Final = Column("Created At", lambda obj, now: reading.text(obj, "metadata", "creationTimestamp"), "date")

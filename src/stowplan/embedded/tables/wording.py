"""The text of one cell: ages, lists, labels, selectors, references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.model.timestamps import parse_time

NONE: Final = "<none>"
UNSET: Final = "<unset>"
UNKNOWN: Final = "<unknown>"


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

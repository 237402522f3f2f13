"""How long ago something was, as short as people say it: 45s, 3m20s, 5h, 12d."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from stowplan.model.timestamps import parse_time

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
    """Say a duration with at most two units, and less exactly the longer it is."""
    seconds = int(duration.total_seconds())
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if days < 2:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    return _years(days)


def _years(days: int) -> str:
    years = days // 365
    if years < 2:
        return f"{days}d"
    return _two(years, "y", days % 365, "d") if years < 8 else f"{years}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"

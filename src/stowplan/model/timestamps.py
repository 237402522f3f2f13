"""Kubernetes' two spellings of time: whole seconds (`metadata`, `status`) and exactly six decimals (leases, events)."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from functools import lru_cache


def format_time(moment: datetime) -> str:
    """Write a metav1.Time: RFC 3339 in UTC, whole seconds."""
    return _whole_second(math.floor(moment.timestamp()))


def format_micro_time(moment: datetime) -> str:
    """Write a metav1.MicroTime: RFC 3339 in UTC with exactly six decimals, as the API server insists."""
    return f"{format_time(moment)[:-1]}.{moment.microsecond:06d}Z"


@lru_cache(maxsize=64)
def _whole_second(timestamp: int) -> str:
    """Write a second; thousands of objects are written in the same one."""
    return datetime.fromtimestamp(timestamp, UTC).isoformat()[:-6] + "Z"


def parse_time(text: str) -> datetime:
    """Read either spelling; a time without a zone is taken as UTC."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)

"""Numbers that may be written as a percentage: maxSurge, maxUnavailable, minAvailable."""

from __future__ import annotations

from typing import Any


def scaled(value: Any, total: int, *, rounds_up: bool) -> int:
    """Read an amount as a number of `total`; what cannot be read counts as none."""
    if isinstance(value, int):
        return value
    if not isinstance(value, str) or not value.endswith("%") or not value[:-1].isdigit():
        return 0
    exact = int(value[:-1]) * total
    return -(-exact // 100) if rounds_up else exact // 100

"""Lengths of time as Kubernetes writes them: `1m30s`, `2462ms`."""

from __future__ import annotations

import re
from fractions import Fraction

import msgspec

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PIECE = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_LONGEST = 2**63 - 1


class Duration(msgspec.Struct, frozen=True, order=True):
    """A signed length of time, exact to the nanosecond."""

    nanoseconds: int = 0

    @property
    def seconds(self) -> float:
        return self.nanoseconds / 1_000_000_000

    def __bool__(self) -> bool:
        return self.nanoseconds != 0

    def __str__(self) -> str:
        return _spell(self.nanoseconds)


def of_seconds(seconds: int) -> Duration:
    return Duration(seconds * 1_000_000_000)


def parse(text: str) -> Duration:
    """Read a duration such as `1h2m3.5s`; raise ValueError saying what is wrong with it."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return Duration(0)
    if not rest:
        raise ValueError(f'time: invalid duration "{text}"')
    total = _sum_of_pieces(rest, text)
    if total > _LONGEST + (sign < 0):
        raise ValueError(f'time: invalid duration "{text}"')
    return Duration(sign * total)


def _sum_of_pieces(rest: str, text: str) -> int:
    total = 0
    while rest:
        piece = _PIECE.match(rest)
        if piece is None or not (piece[1] or piece[2]):
            raise ValueError(f'time: invalid duration "{text}"')
        if not piece[3]:
            raise ValueError(f'time: missing unit in duration "{text}"')
        if piece[3] not in _UNITS:
            raise ValueError(f'time: unknown unit "{piece[3]}" in duration "{text}"')
        total += int(Fraction(f"{piece[1] or 0}.{piece[2] or 0}") * _UNITS[piece[3]])
        rest = rest[piece.end() :]
    return total


def _spell(nanoseconds: int) -> str:
    if nanoseconds == 0:
        return "0s"
    sign = "-" if nanoseconds < 0 else ""
    size = abs(nanoseconds)
    for unit in ("ns", "µs", "ms"):
        if size < 1_000 * _UNITS[unit]:
            return f"{sign}{_decimal(size, _UNITS[unit])}{unit}"
    minutes, below = divmod(size, _UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    leading = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{leading}{_decimal(below, _UNITS['s'])}s"


def _decimal(size: int, unit: int) -> str:
    whole, part = divmod(size, unit)
    if not part:
        return str(whole)
    return f"{whole}.{part:0{len(str(unit)) - 1}d}".rstrip("0")

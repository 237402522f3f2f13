"""Odd values, and small changes that make sound values odd."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

#: Few names, so that attacks meet each other's objects, and there are never too many of those.
NAMES: Final = tuple(f"fz-{number}" for number in range(4))
NAMESPACES: Final = ("default", "fz-a", "fz-b")

_TEXTS: Final = (
    "", " ", "a", "fz-0", "fz-1", "default", "true", "null", "0", "-1", "1Gi", "10m", "A" * 64, "a" * 254, "x" * 5000,
    "\u0000", "a\u0000b", "\ud800", "\udfff\ud800", "\u202e", "\ufeff", "ß", "🦀" * 20, "a/b", "a/b/c", "../..", "%00",
    "a=b,c in (d)", "!a", "in", "$(x)", "{{}}", "'\"\\", "\r\nX: y", "<script>", "2026-01-01T00:00:00Z",
    "0000-00-00T00:00:00Z",
    "9999-12-31T23:59:59Z", "fz.example.com/a", "kubernetes.io/x", "metadata.name", ".spec", "$ref", "__class__",
    "1e400",
)  # fmt: skip
QUANTITIES: Final = (
    "0", "1", "100m", "1n", "0.5", "1e3", "1E", "1Ei", "9223372036854775807", "9223372036854775808", "-1", "1e-30",
    "1e30",
    "16Ei", "0.000000001", "123456789012345678901234567890", "1.5Gi", "-0", "+1", "1Ki", "4", "2Gi",
)  # fmt: skip
_NUMBERS: Final = (
    0, 1, -1, 2, 3, 10, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**30,
    0.5, -0.0,
    1e308, -1e-308, 1.0, 10**400,
)  # fmt: skip
#: Counts of things that controllers make: as many as asked for, here as everywhere.
_COUNTS: Final = frozenset(("replicas", "parallelism", "completions", "minReadySeconds", "podsToTolerate"))
_MOST: Final = 6


def text(rng: Random) -> str:
    if rng.random() < 0.1:
        return "".join(chr(rng.choice((rng.randrange(128), rng.randrange(0xD800)))) for _ in range(rng.randrange(12)))
    return rng.choice(_TEXTS)


def name(rng: Random) -> str:
    return rng.choice(NAMES) if rng.random() < 0.97 else text(rng)


def number(rng: Random) -> float:
    return rng.choice(_NUMBERS) if rng.random() < 0.7 else rng.randrange(-100, 100)


def quantity(rng: Random) -> Any:
    return rng.choice(QUANTITIES) if rng.random() < 0.9 else rng.choice((number(rng), text(rng)))


def anything(rng: Random, depth: int = 3) -> Any:
    kind = rng.randrange(8 if depth else 5)
    match kind:
        case 0:
            return None
        case 1:
            return rng.random() < 0.5
        case 2:
            return number(rng)
        case 3 | 4:
            return text(rng)
        case 5:
            return [anything(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {text(rng): anything(rng, depth - 1) for _ in range(rng.randrange(4))}


def deep(rng: Random) -> Any:
    """Something in something in something."""
    value: Any = anything(rng, 1)
    for _ in range(rng.choice((10, 100, 900, 5000))):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


def mutated(rng: Random, value: Any) -> Any:
    """The same with some parts exchanged, removed, doubled or wrong."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        value = _changed(rng, value)
    return value


def _changed(rng: Random, value: Any) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        rest = dict(value)
        if rng.random() < 0.75:
            rest[key] = _changed(rng, value[key])
        elif rng.random() < 0.6:
            del rest[key]
        else:
            rest[text(rng)] = rest.pop(key) if rng.random() < 0.5 else anything(rng)
        return rest
    if isinstance(value, list) and value and rng.random() < 0.85:
        index = rng.randrange(len(value))
        if rng.random() < 0.7:
            return [*value[:index], _changed(rng, value[index]), *value[index + 1 :]]
        return value * 2 if rng.random() < 0.5 else value[:index] + value[index + 1 :]
    return anything(rng, 2)


def modest(value: Any) -> Any:
    """The same, without asking a controller for thousands of pods."""
    if isinstance(value, dict):
        return {key: _few(part) if key in _COUNTS else modest(part) for key, part in value.items()}
    return [modest(part) for part in value] if isinstance(value, list) else value


def _few(count: Any) -> Any:
    is_many = isinstance(count, int | float) and not isinstance(count, bool) and count > _MOST
    return _MOST if is_many else count


def as_body(rng: Random, value: Any) -> bytes:
    """JSON, now and then not quite."""
    try:
        written = json.dumps(modest(value), ensure_ascii=rng.random() < 0.7)
    except (RecursionError, ValueError):
        written = "[" * 5000 + "]" * 5000
    body = written.encode("utf-8", "surrogatepass")
    return damaged(rng, body) if rng.random() < 0.04 else body


def damaged(rng: Random, body: bytes) -> bytes:
    """The same bytes with a few of them other ones, missing, or more."""
    data = bytearray(body)
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(data) + 1)
        match rng.randrange(4):
            case 0:
                data[place : place + 1] = bytes([rng.randrange(256)])
            case 1:
                del data[place : place + rng.randrange(1, 20)]
            case 2:
                data[place:place] = rng.choice((b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"{", b'"', b",", b"\r\n"))
            case _:
                data[place:place] = data[place : place + rng.randrange(1, 50)]
    return bytes(data)

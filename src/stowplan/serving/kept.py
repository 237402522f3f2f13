"""Answers of the API server that are kept for some seconds, so that a scraper does not have each request reviewed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST: Final = 1024


class Kept(Generic[K, V]):
    """Values by key, each until its time is over; the oldest go when there are too many."""

    def __init__(self, now_seconds: Callable[[], float]) -> None:
        self._now_seconds = now_seconds
        self._values: dict[K, tuple[float, V]] = {}

    def get(self, key: K) -> V | None:
        found = self._values.get(key)
        if found is None:
            return None
        until, value = found
        if self._now_seconds() < until:
            return value
        del self._values[key]
        return None

    def put(self, key: K, value: V, seconds: float) -> None:
        if seconds <= 0:
            return
        while len(self._values) >= MOST:
            del self._values[next(iter(self._values))]
        self._values[key] = (self._now_seconds() + seconds, value)

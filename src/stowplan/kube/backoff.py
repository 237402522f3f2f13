"""How long to wait after a failure: longer each time, up to a limit, with jitter; short again after a quiet while."""

from __future__ import annotations

from collections.abc import Callable

#: A random number from 0 up to, but not including, 1.
Draw = Callable[[], float]


class Backoff:
    """Delays from `first` seconds to `longest`, doubled each time and jittered up to twice; as client-go's reflector."""

    def __init__(self, draw: Draw, first: float = 0.8, longest: float = 30.0, quiet: float = 120.0) -> None:
        self._draw = draw
        self._first, self._longest, self._quiet = first, longest, quiet
        self._next = first
        self._asked_at: float | None = None

    def delay(self, now: float) -> float:
        """Return the seconds to wait after a failure at `now`."""
        if self._asked_at is not None and now - self._asked_at > self._quiet:
            self._next = self._first
        self._asked_at = now
        seconds = self._next
        self._next = min(self._next * 2, self._longest)
        return seconds * (1 + self._draw())

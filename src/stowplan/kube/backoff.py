"""How long to wait after a failure: longer each time, up to a limit, with jitter; short again once things went well."""

from __future__ import annotations

from collections.abc import Callable

#: A random number from 0 up to, but not including, 1.
Draw = Callable[[], float]


class Backoff:
    """Delays from `first` seconds to `longest`, doubled each time, jittered up to twice, as in client-go's reflector.

    `quiet` seconds without a failure after a delay begin the row anew: more than an attempt to connect may take.
    """

    def __init__(self, draw: Draw, first: float = 0.8, longest: float = 30.0, quiet: float = 30.0) -> None:
        self._draw = draw
        self._first, self._longest, self._quiet = first, longest, quiet
        self._next = first
        self._over_at: float | None = None

    def delay(self, now: float) -> float:
        """Return the seconds to wait after a failure at `now`."""
        if self._over_at is not None and now - self._over_at > self._quiet:
            self._next = self._first
        seconds = self._next * (1 + self._draw())
        self._next = min(self._next * 2, self._longest)
        self._over_at = now + seconds
        return seconds

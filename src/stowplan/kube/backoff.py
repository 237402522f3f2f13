"""How long to wait after a failure, and how often a write is sent again.

Longer each time, up to a limit, with jitter; short again once things went well.
"""

from __future__ import annotations

from collections.abc import Callable

from stowplan.kube.errors import ApiError, RequestError

#: A random number from 0 up to, but not including, 1.
Draw = Callable[[], float]

# As client-go's DefaultBackoff: four tries.
_PAUSES_SECONDS = (0.01, 0.05, 0.25)
_JITTER = 0.1
# While nobody answers, writes wait for as long as an API server takes to restart: nobody would say it again.
_OUTAGE_SECONDS = 60.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.25, 5.0


class RetryDelays:
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


class WriteRetries:
    """How often one write is sent: four times if what went wrong may pass, for a minute if nobody answers."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._pauses = iter(_PAUSES_SECONDS)
        self._backoff = RetryDelays(draw, _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
        self._given_up_at: float | None = None

    def pause_after(self, error: RequestError, now: float) -> float | None:
        """Return the seconds to wait before the next try; None if there is none."""
        if not isinstance(error, ApiError):
            self._given_up_at = self._given_up_at or now + _OUTAGE_SECONDS
        elif self._given_up_at is None or not error.is_forbidden:
            pause = next(self._pauses, None) if error.is_conflict or error.is_server_fault else None
            return pause and pause * (1 + _JITTER * self._draw())
        # A server that has just come up does not know anybody's rights yet.
        return self._backoff.delay(now) if now < self._given_up_at else None

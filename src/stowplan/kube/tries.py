"""How often a write is sent again, and after how long."""

from __future__ import annotations

from stowplan.kube.backoff import Backoff, Draw
from stowplan.kube.errors import ApiError, RequestError

# As client-go's DefaultBackoff: four tries.
_PAUSES_SECONDS = (0.01, 0.05, 0.25)
_JITTER = 0.1
# While nobody answers, writes wait for as long as an API server takes to restart: nobody would say it again.
_OUTAGE_SECONDS = 60.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.25, 5.0


class Tries:
    """How often one write is sent: four times if what went wrong may pass, for a minute if nobody answers."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._pauses = iter(_PAUSES_SECONDS)
        self._backoff = Backoff(draw, _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
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

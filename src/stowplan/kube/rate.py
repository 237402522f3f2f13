"""How many requests a client sends: a token bucket of `qps` and `burst`, as client-go fills it.

Requests are let through in the order they asked. Time is the event loop's, so that it may be virtual.
"""

from __future__ import annotations

import asyncio

# What client-go uses for a client that was told nothing.
DEFAULT_QPS = 5.0
DEFAULT_BURST = 10


class TokenBucket:
    """Starts full; `qps` 0 means the default, below 0 no limit."""

    def __init__(self, qps: float, burst: int) -> None:
        if qps > 0 and burst <= 0:
            raise ValueError(f"burst is {burst} while qps is {qps}; clientConnection.burst must be greater than 0")
        self._qps = qps or DEFAULT_QPS
        self._burst = burst or DEFAULT_BURST
        self._tokens = float(self._burst)
        self._filled_at: float | None = None

    async def take(self) -> None:
        """Wait for this request's turn."""
        if self._qps < 0:
            return
        self._fill(asyncio.get_running_loop().time())
        self._tokens -= 1
        if self._tokens >= 0:
            return
        try:
            # A debt is paid at `qps` a second, so those who ask later wait longer.
            await asyncio.sleep(-self._tokens / self._qps)
        except asyncio.CancelledError:
            self._tokens += 1
            raise

    def _fill(self, now: float) -> None:
        if self._filled_at is not None:
            self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._qps)
        self._filled_at = now

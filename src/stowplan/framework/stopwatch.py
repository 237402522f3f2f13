"""Notices plugins that take long to answer. They cannot be interrupted: while one answers, nothing else is scheduled.

A slow one is told of; an answer that comes later still is not taken, so that its pod fails by name.

The clock is the scheduler's; until one is given (`wind`), no time passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from stowplan.model.pod import Pod

SECOND_NS: Final = 1_000_000_000

#: Who is asked what about whom: plugin, extension point, pod.
Blame = tuple[str, str, Pod]


def _no_time() -> int:
    return 0


def _nobody(text: str) -> None:
    """Tell nobody."""


def _unnoted(blame: Blame, took_ns: int) -> None:
    """Note nothing."""


class Stopwatch:
    """Measures every question to a plugin that answers at once, and tells of the slow ones."""

    __slots__ = ("_late_ns", "_limit_ns", "_note", "_tell", "is_wound", "now_ns")

    def __init__(self) -> None:
        #: Whether there is a clock to measure by; without one, nobody need ask.
        self.is_wound = False
        self.now_ns: Callable[[], int] = _no_time
        self._limit_ns = self._late_ns = 0
        self._tell: Callable[[str], None] = _nobody
        self._note: Callable[[Blame, int], None] = _unnoted

    def wind(self, now_ns: Callable[[], int], limits: tuple[float, float], tell: Callable[[str], None]) -> None:
        """Measure from now on, by this clock; `limits` are the seconds after which an answer is slow, and too late."""
        self.now_ns, self._tell = now_ns, tell
        self._limit_ns, self._late_ns = (round(seconds * SECOND_NS) for seconds in limits)
        self.is_wound = True

    def have_noted(self, note: Callable[[Blame, int], None]) -> None:
        """Have every question noted, with the nanoseconds that it took to answer."""
        self._note = note

    def stop(self, started_ns: int, blame: Blame) -> str:
        """Note a question put at `started_ns` and tell of a slow answer; return what is wrong if it came too late."""
        if not self.is_wound:
            return ""
        took_ns = self.now_ns() - started_ns
        self._note(blame, took_ns)
        if took_ns > self._limit_ns:
            plugin, point, pod = blame
            self._tell(
                f"plugin {plugin!r} took {took_ns / SECOND_NS:.1f} s in {point} for pod {pod.key!r}, and no other pod"
                f" was scheduled meanwhile; it should answer within {self._limit_ns / SECOND_NS:g} s"
            )
        if took_ns <= self._late_ns:
            return ""
        return f"it took {took_ns / SECOND_NS:.1f} s to answer; an answer counts within {self._late_ns / SECOND_NS:g} s"

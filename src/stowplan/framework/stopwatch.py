"""Notices plugins that take long to answer. They cannot be interrupted: while one answers, nothing else is scheduled.

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

    __slots__ = ("_limit_ns", "_note", "_tell", "is_wound", "now_ns")

    def __init__(self) -> None:
        #: Whether there is a clock to measure by; without one, nobody need ask.
        self.is_wound = False
        self.now_ns: Callable[[], int] = _no_time
        self._limit_ns = 0
        self._tell: Callable[[str], None] = _nobody
        self._note: Callable[[Blame, int], None] = _unnoted

    def wind(self, now_ns: Callable[[], int], limit_seconds: float, tell: Callable[[str], None]) -> None:
        """Measure from now on, by this clock."""
        self.now_ns, self._limit_ns, self._tell = now_ns, round(limit_seconds * SECOND_NS), tell
        self.is_wound = True

    def have_noted(self, note: Callable[[Blame, int], None]) -> None:
        """Have every question noted, with the nanoseconds that it took to answer."""
        self._note = note

    def stop(self, started_ns: int, blame: Blame) -> None:
        """Note a question that was put at `started_ns`; tell of it if it took too long to answer."""
        took_ns = self.now_ns() - started_ns
        self._note(blame, took_ns)
        if took_ns > self._limit_ns:
            plugin, point, pod = blame
            self._tell(
                f"plugin {plugin!r} took {took_ns / SECOND_NS:.1f} s in {point} for pod {pod.key!r}, and no other pod"
                f" was scheduled meanwhile; it should answer within {self._limit_ns / SECOND_NS:g} s"
            )

"""Notices plugins that take long to answer. They cannot be interrupted: while one answers, nothing else is scheduled.

A slow one is told of; an answer that comes later still is not taken, so that its pod fails by name. One that raises is
told of with the whole traceback the first time, and with the place in its file every time.

The clock is the scheduler's; until one is given (`wind`), no time passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from stowplan.framework import raised
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


def _not_awaited(blame: Blame, end: str, took_ns: int) -> None:
    """Note nothing."""


class Stopwatch:
    """Measures every question to a plugin that answers at once, and tells of the slow ones."""

    __slots__ = ("_late_ns", "_limit_ns", "_note", "_note_awaited", "_tell", "_traced", "is_wound", "now_ns")

    def __init__(self) -> None:
        #: Whether there is a clock to measure by; without one, nobody need ask.
        self.is_wound = False
        self.now_ns: Callable[[], int] = _no_time
        self._limit_ns = self._late_ns = 0
        self._tell: Callable[[str], None] = _nobody
        self._note: Callable[[Blame, int], None] = _unnoted
        self._note_awaited: Callable[[Blame, str, int], None] = _not_awaited
        #: Places in plugins that the traceback has been told of.
        self._traced: set[str] = set()

    def wind(self, now_ns: Callable[[], int], limits: tuple[float, float], tell: Callable[[str], None]) -> None:
        """Measure from now on, by this clock; `limits` are the seconds after which an answer is slow, and too late."""
        self.now_ns, self._tell = now_ns, tell
        self._limit_ns, self._late_ns = (round(seconds * SECOND_NS) for seconds in limits)
        self.is_wound = True

    def have_noted(
        self, note: Callable[[Blame, int], None], note_awaited: Callable[[Blame, str, int], None] = _not_awaited
    ) -> None:
        """Have every question noted, with the nanoseconds that it took to answer; of awaited ones, also their end."""
        self._note, self._note_awaited = note, note_awaited

    def end_waiting(self, started_ns: int, blame: Blame, end: str) -> None:
        """Note what a plugin was awaited for since `started_ns`; others went on meanwhile, so it may take its time."""
        if self.is_wound:
            self._note_awaited(blame, end, self.now_ns() - started_ns)

    def trace(self, error: raised.Fault, blame: Blame) -> None:
        """Tell the whole way to a fault of a plugin, once for each place."""
        plugin, point, pod = blame
        self._trace(error, f"plugin {plugin!r} failed in {point} for pod {pod.key!r}")

    def trace_column(self, error: raised.Fault, plugin: str, column: str, node_name: str) -> None:
        """Tell, once for each place, that a column of a plugin cannot be read off a node, which has no number there."""
        self._trace(error, f"plugin {plugin!r}: column {column!r} cannot be read off node {node_name!r}")

    def _trace(self, error: raised.Fault, what: str) -> None:
        place = raised.place_of(error)
        if place and place not in self._traced:
            self._traced.add(place)
            self._tell(f"{what}, and how it came to that is told this once:\n{raised.whole(error)}")

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

"""What was decided lately, and how fast: a listener of the flow that keeps the last decisions, and seconds of numbers.

Nobody may be watching, and every pod comes by here: what is heard is put down as it is, and made sense of when somebody
asks.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final

import msgspec
import numpy as np

from stowplan.engine.ports import Bound, Dropped, GivenBack, Placed, Report
from stowplan.observe.queue_state import timestamp
from stowplan.web.answers import DecisionAnswer, DecisionOutcome, RateAnswer

SECOND_NS: Final = 1_000_000_000
MOST_DECISIONS: Final = 1000
MOST_SECONDS: Final = 600
#: The seconds that are told at a time to who watches.
_MOST_AT_ONCE: Final = 10


class Heard(msgspec.Struct, frozen=True):
    """A report that does not say when it was."""

    report: GivenBack | Dropped
    at_ns: int


class SecondOfRates(msgspec.Struct, frozen=True):
    """What happened in one second."""

    second: int
    placed: int
    refused: int
    by_place: Mapping[str, int]
    #: Of what attempts took, in seconds; None if there were none.
    p50: float | None = None
    p99: float | None = None

    def answer(self) -> RateAnswer:
        at = timestamp(self.second * SECOND_NS)
        return RateAnswer(at, self.placed, self.refused, self.p50, self.p99, dict(self.by_place))


class DecisionLog:
    """Keeps what was decided; `by_place` counts who waits, and is asked once a second at most."""

    def __init__(self, now_ns: Callable[[], int], by_place: Callable[[], Mapping[str, int]]) -> None:
        self._now_ns, self._by_place = now_ns, by_place
        self._last: deque[Bound | Heard] = deque(maxlen=MOST_DECISIONS)
        self._seconds: deque[SecondOfRates] = deque(maxlen=MOST_SECONDS)
        # Since the beginning; and how many of them there were when this second began.
        self._placed = self._refused = self._dropped = 0
        self._before = (0, 0)
        #: What the attempts of this second took, in nanoseconds.
        self._times = array("q")
        self._ends_ns = (now_ns() // SECOND_NS + 1) * SECOND_NS

    @property
    def position(self) -> int:
        """How many decisions there have been."""
        return self._placed + self._refused + self._dropped

    def __call__(self, report: Report) -> None:
        kind = type(report)
        if kind is Placed:
            return
        if isinstance(report, Bound):
            at_ns = report.bound_at_ns
            if at_ns >= self._ends_ns:
                self._close(at_ns)
            self._placed += 1
            self._times.append(at_ns - report.taken_at_ns)
            self._last.append(report)
        elif isinstance(report, GivenBack):
            at_ns = self._now_ns()
            if at_ns >= self._ends_ns:
                self._close(at_ns)
            self._refused += 1
            self._times.append(at_ns - report.taken_at_ns)
            self._last.append(Heard(report, at_ns))
        elif isinstance(report, Dropped):
            self._dropped += 1
            self._last.append(Heard(report, self._now_ns()))

    def newest(self, since: int, until: int, most: int = MOST_DECISIONS) -> list[DecisionAnswer]:
        """Return the decisions between two positions, newest first."""
        later = self.position - until
        return [answer_of(one) for one in islice(self.heard(), later, later + min(most, until - since))]

    def heard(self) -> Iterator[Bound | Heard]:
        """Go through what was heard, newest first."""
        return reversed(self._last)

    def rates(self, until: int) -> list[RateAnswer]:
        """Return the seconds that are put down, up to one of them, oldest first."""
        return [one.answer() for one in self._seconds if one.second <= until]

    def rates_since(self, second: int) -> list[RateAnswer]:
        """Return the last seconds that are put down and come after another one, oldest first."""
        newer = [one.answer() for one in islice(reversed(self._seconds), _MOST_AT_ONCE) if one.second > second]
        return newer[::-1]

    @property
    def last_second(self) -> int:
        """The last second that is over, and was put down."""
        return self._seconds[-1].second if self._seconds else 0

    def close_second(self) -> None:
        """Put down the second before this one, also if nothing happened in it."""
        now_ns = self._now_ns()
        if now_ns >= self._ends_ns:
            self._close(now_ns)

    def _close(self, now_ns: int) -> None:
        """Put down the second that is over. A binding that is told of late counts when it is told of."""
        placed, refused = self._before
        p50 = p99 = None
        if self._times:
            p50, p99 = (round(float(one) / SECOND_NS, 6) for one in np.percentile(self._times, (50, 99)))
        counts = (self._placed - placed, self._refused - refused)
        self._seconds.append(SecondOfRates(self._ends_ns // SECOND_NS - 1, *counts, self._by_place(), p50, p99))
        self._before, self._times = (self._placed, self._refused), array("q")
        self._ends_ns = (now_ns // SECOND_NS + 1) * SECOND_NS


def answer_of(heard: Bound | Heard) -> DecisionAnswer:
    """Return a decision as it is told."""
    if isinstance(heard, Bound):
        at_ns = heard.bound_at_ns
        seconds = _seconds(at_ns - heard.taken_at_ns)
        return DecisionAnswer(
            heard.pod.key, "bound", heard.node_name, [], "", timestamp(at_ns), seconds, heard.attempts
        )
    report, at = heard.report, timestamp(heard.at_ns)
    if isinstance(report, Dropped):
        return DecisionAnswer(report.pod.key, "dropped", None, [], report.why, at, None, 0)
    node, seconds = report.nominated_node_name or None, _seconds(heard.at_ns - report.taken_at_ns)
    outcome: DecisionOutcome = "error" if report.is_error else "preempting" if node else "refused"
    plugins, text = sorted(report.plugins), report.message
    return DecisionAnswer(report.pod.key, outcome, node, plugins, text, at, seconds, report.attempts)


def _seconds(took_ns: int) -> float:
    return round(max(0, took_ns) / SECOND_NS, 6)

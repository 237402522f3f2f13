"""What became of each pod's attempts, as far back as memory is spared for it; `explain` and `queue` show it.

A listener of the flow. Pods that still wait are kept apart from those that are settled, so that a burst of placements
does not push out the one pod that somebody wonders about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import msgspec

from stowplan.engine.ports import Bound, Dropped, ExtenderSaid, GivenBack, Report
from stowplan.model.pod import Pod, pod_id

MOST_WAITING: Final = 20_000
MOST_SETTLED: Final = 10_000
#: The attempts remembered of one pod, the latest ones.
MOST_TRIES: Final = 10

TryOutcome = Literal["bound", "refused", "error", "dropped"]


class ExtenderRemark(msgspec.Struct, frozen=True, gc=False):
    """What an extender said against a pod, or how it failed."""

    extender: str
    verb: str
    said: str


class Try(msgspec.Struct, frozen=True, gc=False):
    """One attempt to place a pod. Times are nanoseconds since the epoch; a pod that was dropped has no start."""

    outcome: TryOutcome
    started_at_ns: int
    ended_at_ns: int
    message: str = ""
    #: The plugins that refused it, by name.
    plugins: tuple[str, ...] = ()
    #: Where it was bound to, or where room is made for it.
    node_name: str = ""
    #: What extenders said against it.
    extenders: tuple[ExtenderRemark, ...] = ()


class Timeline:
    """The attempts of pods, by pod."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._waiting: dict[str, tuple[Try, ...]] = {}
        self._settled: dict[str, tuple[Try, ...]] = {}
        # What extenders said of pods whose attempt is under way.
        self._heard: dict[str, tuple[ExtenderRemark, ...]] = {}

    def tries(self, pod: Pod) -> tuple[Try, ...]:
        """Return what is remembered of a pod's attempts, oldest first."""
        key = pod_id(pod)
        return self._waiting.get(key) or self._settled.get(key, ())

    def __call__(self, report: Report) -> None:
        match report:
            case Bound():
                heard = self._heard.pop(pod_id(report.pod), ())
                found = Try(
                    "bound", report.taken_at_ns, report.bound_at_ns, node_name=report.node_name, extenders=heard
                )
                self._settle(report.pod, found)
            case GivenBack():
                self._give_back(report)
            case Dropped():
                self._heard.pop(pod_id(report.pod), None)
                self._settle(report.pod, Try("dropped", 0, self._now_ns(), report.why))
            case ExtenderSaid():
                key = pod_id(report.pod)
                self._heard[key] = (
                    *self._heard.get(key, ()),
                    ExtenderRemark(report.extender, report.verb, report.text),
                )

    def _settle(self, pod: Pod, found: Try) -> None:
        key = pod_id(pod)
        self._settled[key] = (*self._waiting.pop(key, ()), found)
        if len(self._settled) > MOST_SETTLED:
            del self._settled[next(iter(self._settled))]

    def _give_back(self, report: GivenBack) -> None:
        key = pod_id(report.pod)
        known = self._waiting.get(key, ())
        message = report.message
        if known and known[-1].message == message:
            # One text for all attempts that end alike.
            message = known[-1].message
        found = Try(
            "error" if report.is_error else "refused",
            report.taken_at_ns,
            self._now_ns(),
            message,
            tuple(sorted(report.plugins)),
            report.nominated_node_name,
            self._heard.pop(key, ()),
        )
        self._waiting[key] = (*known[1 - MOST_TRIES :], found)
        if len(self._waiting) > MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]

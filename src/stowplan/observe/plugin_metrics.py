"""What plugins cost: how often each was asked, how long it took, and how long all of an extension point took together.

The framework's stopwatch notes every question (`note`, `note_awaited`); what the flow reports about the attempt says
how it ended.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from stowplan.engine.ports import GivenBack, Placed
from stowplan.framework.placing import SUCCESS
from stowplan.framework.plugin_faults import SECOND_NS, Blame
from stowplan.framework.verdict import Code
from stowplan.observe.series import SeriesSet, metric

SAMPLED: Final = 10

#: What is counted if plugins have a budget; no metrics of upstream's.
BUDGET: Final = (
    metric(
        "stowplan_plugin_over_budget_total{plugin,extension_point}",
        "[ALPHA] Answers of plugins that took longer than --plugin-budget.",
    ),
    metric(
        "stowplan_plugin_quarantined{plugin}",
        "[ALPHA] Whether the scores of a plugin are left out for a while, because they took longer than"
        " --plugin-budget.",
    ),
)

COUNTED: Final = frozenset({"PreFilter", "Filter", "PreScore", "Score"})
#: The points inside a scheduling cycle, where one pod is dealt with at a time.
CYCLE: Final[tuple[str, ...]] = ("PreFilter", "Filter", "PostFilter", "PreScore", "Score", "Reserve", "Permit")


class PluginMetrics:
    """Questions of the attempt at hand, and what they add up to."""

    def __init__(self, series: SeriesSet) -> None:
        self._asked = series.counter("scheduler_plugin_evaluation_total")
        self._took = series.histogram("scheduler_plugin_execution_duration_seconds")
        self._points = series.histogram("scheduler_framework_extension_point_duration_seconds")
        self._preemptions = series.counter("scheduler_preemption_attempts_total")
        # How often each plugin was awaited, by point.
        self._awaited: Counter[tuple[str, str]] = Counter()
        # Nanoseconds by point, in this attempt.
        self._spent: dict[str, int] = {}
        self._attempts = 0

    def note(self, blame: Blame, took_ns: int) -> None:
        """Note a question that a plugin was asked."""
        plugin, point, pod = blame
        self._spent[point] = self._spent.get(point, 0) + took_ns
        if point in COUNTED:
            self._asked.add(plugin, point, pod.spec.scheduler_name)
        elif plugin == "DefaultPreemption" and point == "PostFilter":
            self._preemptions.add()
        if self._attempts % SAMPLED == 0:
            self._took.observe(took_ns / SECOND_NS, plugin, point, SUCCESS)

    def note_awaited(self, blame: Blame, end: str, took_ns: int) -> None:
        """Note a plugin that was awaited after the scheduling cycle; of many times, every tenth."""
        plugin, point, _ = blame
        times = self._awaited[plugin, point]
        self._awaited[plugin, point] = times + 1
        if times % SAMPLED == 0:
            # As upstream, nothing that happens after the binding is anything but a success.
            self._took.observe(took_ns / SECOND_NS, plugin, point, SUCCESS if point == "PostBind" else end)

    def placed(self, report: Placed) -> None:
        """Close an attempt that found a node."""
        self._close({}, report.pod.spec.scheduler_name)

    def given_back(self, report: GivenBack) -> None:
        """Close an attempt that found none: the last point that was asked is the one that ended it."""
        asked = [point for point in CYCLE if point in self._spent and point != "PostFilter"]
        last = asked[-1] if asked else "Filter"
        ends = {last: (Code.ERROR if report.is_error else Code.UNSCHEDULABLE).value}
        if not report.nominated_node_name:
            ends["PostFilter"] = Code.UNSCHEDULABLE.value
        self._close(ends, report.pod.spec.scheduler_name)

    def point_ended(self, point: str, status: str, profile: str, took_ns: int) -> None:
        """Note a point that waits for the cluster; many pods may be there at a time."""
        self._points.observe(took_ns / SECOND_NS, point, status, profile)

    def drop(self) -> None:
        """Forget the attempt at hand."""
        self._spent.clear()

    def _close(self, ends: dict[str, str], profile: str) -> None:
        spent = self._spent
        for point in CYCLE:
            # Filters decide in every attempt, be it by what they said before.
            if point in spent or point == "Filter":
                self._points.observe(spent.get(point, 0) / SECOND_NS, point, ends.get(point, SUCCESS), profile)
        spent.clear()
        self._attempts += 1

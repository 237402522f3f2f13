"""A scheduler whose plugins from elsewhere have a budget: it goes on without the scores of those that exceed it.

Who is left out changes between two pods, as another configuration does; what was answered before is not kept then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

from stowplan.app.cluster import Cluster
from stowplan.engine.ports import Trouble
from stowplan.engine.scheduler import Scheduler
from stowplan.framework.kept.memo import Memo
from stowplan.framework.plugin_budget import PluginBudget, leaving_out
from stowplan.framework.plugin_faults import SECOND_NS, Blame
from stowplan.framework.profile import Profile
from stowplan.observe.series import SeriesSet

Note = Callable[[Blame, int], None]


class BudgetedPlugins:
    """Joins a budget with the profiles, the flow and the metrics; `beside` has it told of every question."""

    def __init__(self, cluster: Cluster, scheduler: Scheduler, limit_seconds: float, series: SeriesSet) -> None:
        self._cluster, self._scheduler, self._series = cluster, scheduler, series
        environment = scheduler.environment
        # Whoever listens may be put there later.
        self._budget = PluginBudget(
            round(limit_seconds * SECOND_NS), environment.now_ns, lambda text: environment.tell(Trouble(text))
        )
        self._budget.on_slow = self._count
        self._budget.on_left_out = lambda: scheduler.submit(self._apply)
        self._whole: Mapping[str, Profile] = {}
        self.begin()

    def beside(self, note: Note) -> Note:
        """Return what notes a question here and there."""

        def both(blame: Blame, took_ns: int) -> None:
            note(blame, took_ns)
            self._budget.note(blame, took_ns)

        return both

    def begin(self) -> None:
        """Judge the plugins of the profiles in force, as if nothing were known of them."""
        self._whole = self._cluster.profiles
        plugins = frozenset().union(*(profile.foreign_names for profile in self._whole.values()))
        self._budget.begin(plugins)
        self._show()

    def _count(self, plugin: str, point: str) -> None:
        self._series.count("stowplan_plugin_over_budget_total", plugin, point)

    def _apply(self, now_ns: int) -> None:
        """Bring the profiles up to date with who is left out, and look again when that changes by itself."""
        self._budget.take_back()
        left_out = self._budget.left_out
        shown = frozenset().union(*(profile.left_out for profile in self._cluster.profiles.values()))
        if left_out != shown:
            cluster, policy = self._cluster, self._scheduler.policy
            cluster.profiles = {name: leaving_out(one, left_out) for name, one in self._whole.items()}
            # Nothing that was answered with others is kept.
            cluster.field = replace(cluster.field, memo=Memo(cluster.cache.table))
            policy.profiles, policy.field = cluster.profiles, cluster.field
        self._show()
        wait_ns = self._budget.next_ns()
        if wait_ns is not None:
            loop = asyncio.get_running_loop()
            loop.call_later(wait_ns / SECOND_NS, self._scheduler.submit, self._apply)

    def _show(self) -> None:
        quarantined = self._series.gauge("stowplan_plugin_quarantined")
        for profile in self._whole.values():
            for plugin in profile.foreign_names:
                quarantined.set(int(plugin in self._budget.left_out), plugin)

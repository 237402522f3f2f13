"""A budget of time for plugins from elsewhere: whose answers take longer, and whose preferences are left out for it.

A plugin that is slow to score three times in a row is not asked for scores for a minute, then tried again; the time
doubles, up to ten minutes, as long as it has not been good for as long as that. Whoever says whether a pod may go
somewhere is asked all the same: without its answer pods would be where they must not be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any, Final

from stowplan.framework.contract import SKIP, Plugin, PreScore, Score
from stowplan.framework.plugin_faults import SECOND_NS, Blame
from stowplan.framework.profile import Profile
from stowplan.model.pod import Pod
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes

#: Where plugins say what they would rather have, and decide nothing.
PREFERENCES: Final = frozenset({"PreScore", "Score", "NormalizeScore"})
IN_A_ROW: Final = 3
FIRST_NS: Final = 60 * SECOND_NS
LONGEST_NS: Final = 600 * SECOND_NS
_TOLD_EVERY_NS: Final = 60 * SECOND_NS


@dataclass(slots=True)
class _Standing:
    """How a plugin has done so far."""

    in_a_row: Counter[str] = field(default_factory=Counter)
    told_ns: int | None = None
    #: For how long it is, or was last, left out; 0 if it never was.
    period_ns: int = 0
    #: When it is asked again; when it was, if that is past.
    until_ns: int = 0


class PluginBudget:
    """Judges what takes too long; `note` is given every question of a scheduling cycle, with the time that it took."""

    def __init__(self, limit_ns: int, now_ns: Callable[[], int], tell: Callable[[str], None]) -> None:
        self._limit_ns, self._now_ns, self._tell = limit_ns, now_ns, tell
        self._standings: dict[str, _Standing] = {}
        #: Told of each answer that took too long: the plugin and the extension point.
        self.on_slow: Callable[[str, str], None] = lambda plugin, point: None
        #: Told when somebody is to be left out.
        self.on_left_out: Callable[[], None] = lambda: None
        self.left_out: frozenset[str] = frozenset()

    def begin(self, plugins: Collection[str]) -> None:
        """Judge these plugins from now on, as if nothing were known of them."""
        self._standings = {plugin: _Standing() for plugin in plugins}
        self.left_out = frozenset()

    def note(self, blame: Blame, took_ns: int) -> None:
        """Note what a question took."""
        plugin, point, pod = blame
        standing = self._standings.get(plugin)
        if standing is None:
            return
        if took_ns <= self._limit_ns:
            del standing.in_a_row[point]
            return
        self.on_slow(plugin, point)
        now_ns = self._now_ns()
        if standing.told_ns is None or now_ns - standing.told_ns >= _TOLD_EVERY_NS:
            standing.told_ns = now_ns
            took = f"took {_spelled(took_ns)} in {point} for pod {pod.key!r}, more than its budget"
            self._tell(f"plugin {plugin!r} {took} of {_spelled(self._limit_ns)}; that is told once a minute")
        standing.in_a_row[point] += 1
        if point in PREFERENCES and standing.in_a_row[point] >= IN_A_ROW and plugin not in self.left_out:
            self._leave_out(plugin, standing, now_ns)

    def take_back(self) -> frozenset[str]:
        """Return whose time is over; they are asked again from now on."""
        now_ns = self._now_ns()
        back = frozenset(plugin for plugin in self.left_out if self._standings[plugin].until_ns <= now_ns)
        self.left_out -= back
        return back

    def next_ns(self) -> int | None:
        """Return in how long the next one is to be taken back, if there is one."""
        untils = [self._standings[plugin].until_ns for plugin in self.left_out]
        return max(0, min(untils) - self._now_ns()) if untils else None

    def _leave_out(self, plugin: str, standing: _Standing, now_ns: int) -> None:
        was_good = standing.period_ns == 0 or now_ns - standing.until_ns >= LONGEST_NS
        standing.period_ns = FIRST_NS if was_good else min(2 * standing.period_ns, LONGEST_NS)
        standing.until_ns = now_ns + standing.period_ns
        standing.in_a_row.clear()
        self.left_out |= {plugin}
        why = f"{IN_A_ROW} answers in a row took more than {_spelled(self._limit_ns)}"
        self._tell(f"plugin {plugin!r}: its score is left out for {_spelled(standing.period_ns)}: {why}")
        self.on_left_out()


def _spelled(nanoseconds: int) -> str:
    seconds = nanoseconds / SECOND_NS
    return f"{seconds:g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


class LeftOut(PreScore, Score):
    """Stands where a plugin scores that is not to be asked: it has nothing to say."""

    def __init__(self, inside: Plugin) -> None:
        self.inside = inside
        self.name = inside.name

    def pre_score(self, pod: Pod, nodes: Nodes) -> Any:
        return SKIP

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        raise AssertionError(f"plugin {self.name!r} is left out, and scores nothing")


def leaving_out(profile: Profile, plugins: Collection[str]) -> Profile:
    """Return a profile in which the preferences of some plugins are left out, as if they had nothing to say."""
    asked = (*profile.pre_score, *(plugin for plugin, _ in profile.score))
    silent = {plugin.name: LeftOut(plugin) for plugin in asked if plugin.name in plugins}
    prepared = {plugin.name: silent.get(plugin.name, plugin) for plugin in profile.pre_score}
    return replace(
        profile,
        pre_score=tuple({**prepared, **silent}.values()),
        score=tuple((silent.get(plugin.name, plugin), weight) for plugin, weight in profile.score),
        left_out=frozenset(silent),
    )

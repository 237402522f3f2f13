"""How good each feasible row is: PreScore, Score, normalisation, weights and the total, kept like the filters' answer.

Where nothing that a plugin read has changed, its scores stand. Where only a few rows have, those are asked again and the
total is patched there; only the search for the maximum is new work for a pod of a known signature.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stowplan.framework.asking import NO_ROWS, PluginError, Blame, Watch, ask_normalize, ask_score, union
from stowplan.framework.contract import MAX_SCORE, Normalize, PreScore, Score, Skip
from stowplan.framework.profile import Profile
from stowplan.model.pod import Pod
from stowplan.table.columns import Mask, Rows, Scores
from stowplan.table.journal import Journal
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table

INFEASIBLE = -1
EVERY_ROW = slice(None)


class _Step:
    """A score plugin with its weight and state; its raw scores and their extent if it normalises them."""

    __slots__ = (
        "extent",
        "has_scored",
        "is_new",
        "is_skipped",
        "normalizer",
        "plugin",
        "pre_score",
        "raw",
        "state",
        "weight",
    )

    def __init__(self, plugin: Score, weight: int, pre_score: PreScore | None) -> None:
        self.plugin = plugin
        self.weight = weight
        self.pre_score = pre_score
        self.normalizer = plugin if isinstance(plugin, Normalize) else None
        self.state: Any = None
        self.raw: Scores | None = None
        self.extent = (0, 0)
        self.is_skipped = False
        self.has_scored = False


class Ranking:
    """The scores of one signature over one set of feasible rows, which `feasible_journal` keeps track of."""

    def __init__(self, profile: Profile, table: Table, feasible_journal: Journal) -> None:
        self._nodes = Nodes(table)
        self._nodes.feasible_journal = feasible_journal
        self._feasible_journal = feasible_journal
        self._feasible_position = -1
        pre_scores = {plugin.name: plugin for plugin in profile.pre_score}
        self._steps = [_Step(plugin, weight, pre_scores.get(plugin.name)) for plugin, weight in profile.score]
        scored = {plugin.name for plugin, _ in profile.score}
        self._unscored = [plugin for plugin in profile.pre_score if plugin.name not in scored]
        self._skipped_unscored: frozenset[str] = frozenset()
        self._foreign = frozenset(plugin.name for plugin in profile.foreign)
        self._states_watch = Watch(table.reads)
        self._scores_watch = Watch(table.reads)
        # Plugins whose state is new, so that what they said about any row is void.
        self._restated: set[int] = set()
        self.weighted: Scores = np.zeros((len(self._steps), len(table)), dtype=np.int64)  # (plugins, nodes)
        self.total: Scores = np.full(len(table), INFEASIBLE, dtype=np.int64)

    @property
    def skipped(self) -> frozenset[str]:
        """The plugins that had nothing to say in PreScore, whether they score or not."""
        return frozenset(step.plugin.name for step in self._steps if step.is_skipped) | self._skipped_unscored

    def by_plugin(self) -> dict[str, tuple[Scores, Scores, int]]:
        """Return, for every plugin that scored, its raw and normalised scores by row, and its weight."""
        found = {}
        for index, step in enumerate(self._steps):
            if not step.is_skipped:
                normalized = self.weighted[index] // step.weight
                found[step.plugin.name] = (normalized if step.raw is None else step.raw, normalized, step.weight)
        return found

    def refresh(self, pod: Pod, feasible: Mask, few: Nodes | None = None) -> None:
        """Bring the total up to date with the table and with the rows that are feasible now.

        `few`: rows that were looked at just before, to be used again if they are the ones needed here.
        """
        self._nodes.feasible_rows = self._nodes.asked = feasible
        flipped = self._flipped()
        self._refresh_states(pod)
        stale = self._stale(is_whole=flipped is None)
        if not stale and not flipped:
            return
        rows = union([*stale.values(), flipped])
        if few is None or few.rows is None or few.rows.tobytes() != rows.tobytes():
            few = self._nodes.take(rows)
        few.asked = feasible[rows]
        is_whole = flipped is None
        for index in range(len(self._steps)) if flipped else stale:
            only = None if stale.get(index, NO_ROWS) is None else few
            is_whole = self._rescore(pod, index, only, feasible) or is_whole
        self._sum(None if is_whole else few, feasible)
        self._feasible_position = self._feasible_journal.position

    def _flipped(self) -> list[int] | None:
        """Return the rows that have become or ceased to be feasible; None the first time."""
        if self._feasible_position == self._feasible_journal.position:
            return NO_ROWS
        return None if self._feasible_position < 0 else self._feasible_journal.since(self._feasible_position)

    def _refresh_states(self, pod: Pod) -> None:
        """Run `pre_score` where what it read has changed."""
        stale = self._states_watch.stale()
        if not stale and self._feasible_position >= 0:
            return
        self._pre_score_unscored(pod)
        for index, step in enumerate(self._steps):
            if step.pre_score is not None and (index in stale or self._feasible_position < 0):
                blame = (step.plugin.name, "PreScore", pod)
                step.state = self._states_watch.ask(index, blame, step.pre_score.pre_score, pod, self._nodes)
                step.is_skipped = isinstance(step.state, Skip)
                self._restated.add(index)

    def _stale(self, *, is_whole: bool) -> dict[int, list[int] | None]:
        """Return, by plugin, the rows whose scores are void; None for all."""
        stale = self._scores_watch.stale()
        stale.update(dict.fromkeys(range(len(self._steps)) if is_whole else self._restated))
        self._restated.clear()
        return stale

    def _pre_score_unscored(self, pod: Pod) -> None:
        """Run the plugins that are enabled in PreScore alone: nobody uses their state, but they may skip or fail."""
        skipped = []
        for plugin in self._unscored:
            blame = (plugin.name, "PreScore", pod)
            state = self._states_watch.ask(len(self._steps), blame, plugin.pre_score, pod, self._nodes)
            if isinstance(state, Skip):
                skipped.append(plugin.name)
        self._skipped_unscored = frozenset(skipped)

    def _rescore(self, pod: Pod, index: int, few: Nodes | None, feasible: Mask) -> bool:
        """Score some rows of one plugin again, or all; say whether the weighted scores of other rows changed too."""
        step = self._steps[index]
        if step.is_skipped:
            return self._clear(index)
        step.has_scored = True
        nodes, rows = (self._nodes, EVERY_ROW) if few is None or few.rows is None else (few, few.rows)
        blame = (step.plugin.name, "Score", pod)
        scores = self._scores_watch.ask(index, blame, ask_score, step.plugin, pod, nodes, step.state)
        if step.normalizer is not None:
            rows, scores = self._normalized(pod, index, (rows, scores), feasible)
        if step.plugin.name in self._foreign:
            _check_range(blame, scores[feasible[rows]])
        if rows is EVERY_ROW:
            np.multiply(scores, step.weight, out=self.weighted[index])
            return True
        self.weighted[index, rows] = scores if step.weight == 1 else scores * step.weight
        return False

    def _clear(self, index: int) -> bool:
        """Take a plugin out of the total; say whether it was in it."""
        if not self._steps[index].has_scored:
            return False
        self._steps[index].has_scored = False
        self.weighted[index] = 0
        return True

    def _normalized(
        self, pod: Pod, index: int, fresh: tuple[Rows | slice, Scores], feasible: Mask
    ) -> tuple[Rows | slice, Scores]:
        """Take in fresh raw scores and normalise them; all rows if the extent of the feasible ones has moved."""
        step, (rows, scores) = self._steps[index], fresh
        if step.raw is None or rows is EVERY_ROW:
            # The plugin may have returned a column as it is, which is not ours to write to.
            step.raw = scores.copy()
        else:
            step.raw[rows] = scores
        extent = extent_of(step.raw, feasible)
        if extent != step.extent:
            step.extent, rows, scores = extent, EVERY_ROW, step.raw
        blame = (step.plugin.name, "NormalizeScore", pod)
        details = (step.normalizer, pod, scores, extent, step.state)
        return rows, self._scores_watch.ask(index, blame, ask_normalize, *details)

    def _sum(self, few: Nodes | None, feasible: Mask) -> None:
        if few is None or few.rows is None:
            np.add.reduce(self.weighted, axis=0, out=self.total)
            self.total[~feasible] = INFEASIBLE
        else:
            sums = np.add.reduce(self.weighted[:, few.rows], axis=0)
            sums[~feasible[few.rows]] = INFEASIBLE
            self.total[few.rows] = sums


def extent_of(scores: Scores, feasible: Mask) -> tuple[int, int]:
    """Return the lowest and highest score of a feasible row."""
    low = np.minimum.reduce(scores, where=feasible, initial=np.iinfo(np.int64).max)
    high = np.maximum.reduce(scores, where=feasible, initial=np.iinfo(np.int64).min)
    return int(low), int(high)


def _check_range(blame: Blame, scores: Scores) -> None:
    outside = scores[(scores < 0) | (scores > MAX_SCORE)]
    if outside.size:
        wanted = f"it should in the range of [0, {MAX_SCORE}] after normalizing"
        raise PluginError(*blame, f"returns an invalid score {outside[0]}, {wanted}")

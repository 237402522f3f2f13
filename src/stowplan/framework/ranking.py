"""How good each feasible row is: PreScore, Score, normalisation, weights and the total, kept like the filters' answer.

Where nothing that a plugin read has changed, its scores stand. Where only a few rows have, those are asked again and the
total is patched there; only the search for the maximum is new work for a pod of a known signature.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stowplan.framework.asking import NO_ROWS, Answer, PluginError, ask_normalize, ask_score, blaming, recording
from stowplan.framework.contract import MAX_SCORE, Normalize, PreScore, Score, Skip
from stowplan.framework.profile import Profile
from stowplan.model.pod import Pod
from stowplan.table.columns import Mask, Rows, Scores
from stowplan.table.journal import Journal
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table

INFEASIBLE = -1


class _Step(Answer):
    """A score plugin with its weight, its state, and the extent of its scores over the feasible rows."""

    __slots__ = ("extent", "is_new", "plugin", "pre_score", "state", "state_answer", "weight")

    def __init__(self, plugin: Score, weight: int, pre_score: PreScore | None) -> None:
        super().__init__()
        self.plugin = plugin
        self.weight = weight
        self.pre_score = pre_score
        self.state: Any = None
        self.state_answer: Answer | None = None
        self.extent: tuple[int, int] | None = None
        self.is_new = True

    @property
    def is_skipped(self) -> bool:
        return isinstance(self.state, Skip)


class Ranking:
    """The scores of one signature over one set of feasible rows, which `feasible_journal` keeps track of."""

    def __init__(self, profile: Profile, table: Table, feasible_journal: Journal) -> None:
        self._table = table
        self._nodes = Nodes(table)
        self._nodes.feasible_journal = feasible_journal
        self._feasible_journal = feasible_journal
        self._feasible_position = -1
        pre_scores = {plugin.name: plugin for plugin in profile.pre_score}
        self._steps = [_Step(plugin, weight, pre_scores.get(plugin.name)) for plugin, weight in profile.score]
        self._foreign = {plugin.name for plugin in profile.foreign}
        shape = (len(self._steps), len(table))
        self.raw: Scores = np.zeros(shape, dtype=np.int64)  # (plugins, nodes)
        self.weighted: Scores = np.zeros(shape, dtype=np.int64)  # (plugins, nodes)
        self.total: Scores = np.full(len(table), INFEASIBLE, dtype=np.int64)

    @property
    def skipped(self) -> frozenset[str]:
        return frozenset(step.plugin.name for step in self._steps if step.is_skipped)

    def by_plugin(self) -> dict[str, tuple[Scores, Scores, int]]:
        """Return, for every plugin that scored, its raw and weighted scores by row, and its weight."""
        return {
            step.plugin.name: (self.raw[index], self.weighted[index], step.weight)
            for index, step in enumerate(self._steps)
            if not step.is_skipped
        }

    def refresh(self, pod: Pod, feasible: Mask) -> None:
        """Bring the total up to date with the table and with the rows that are feasible now."""
        self._nodes.feasible_rows = feasible
        flipped = NO_ROWS if self._feasible_position == self._feasible_journal.position else self._flipped()
        stale = [self._stale(pod, step) for step in self._steps]
        is_whole = flipped is None or any(rows is None for rows in stale)
        rows = _union([*stale, flipped])
        if not is_whole and not rows.size:
            return
        few = self._nodes.take(rows) if rows.size else None
        changed = [
            self._rescore(pod, index, (stale[index], rows, few), feasible, bool(flipped is None or flipped))
            for index in range(len(self._steps))
        ]
        self._sum(None if is_whole or any(changed) else rows, feasible)
        self._feasible_position = self._feasible_journal.position

    def _flipped(self) -> list[int] | None:
        return None if self._feasible_position < 0 else self._feasible_journal.since(self._feasible_position)

    def _stale(self, pod: Pod, step: _Step) -> list[int] | None:
        """Run `pre_score` if what it read has changed, and return the rows whose scores are void; None for all."""
        if step.pre_score is not None and (step.state_answer is None or not step.state_answer.is_current):
            step.state_answer = Answer()
            with blaming(step.plugin.name, "PreScore", pod), recording(self._table.reads, step.state_answer):
                step.state = step.pre_score.pre_score(pod, self._nodes)
            step.is_new = True
        if step.is_new:
            return None
        return NO_ROWS if step.is_skipped else step.stale_rows()

    def _rescore(
        self, pod: Pod, index: int, stale: tuple[list[int] | None, Rows, Nodes | None], feasible: Mask, has_flipped: bool
    ) -> bool:
        """Score again what is void of one plugin; say whether rows beyond those at hand changed their weighted score."""
        step, (void, rows, few) = self._steps[index], stale
        step.is_new = False
        if step.is_skipped:
            if void is None:
                self.weighted[index] = 0
            return void is None
        if void is None:
            self.raw[index] = self._ask(pod, step, self._nodes, feasible)
        elif few is not None and (void or has_flipped):
            self.raw[index, rows] = self._ask(pod, step, few, feasible[rows])
        else:
            return False
        return self._weigh(pod, index, None if void is None else rows, feasible)

    def _ask(self, pod: Pod, step: _Step, nodes: Nodes, feasible: Mask) -> Scores:
        nodes.asked = feasible
        with blaming(step.plugin.name, "Score", pod), recording(self._table.reads, step):
            return ask_score(step.plugin, pod, nodes, step.state)

    def _weigh(self, pod: Pod, index: int, rows: Rows | None, feasible: Mask) -> bool:
        step, raw = self._steps[index], self.raw[index]
        if not isinstance(step.plugin, Normalize):
            scores = raw if rows is None else raw[rows]
            self._store(pod, index, rows, (scores, feasible if rows is None else feasible[rows]))
            return rows is None
        extent = extent_of(raw, feasible)
        if extent != step.extent:
            step.extent, rows = extent, None
        scores = raw if rows is None else raw[rows]
        with blaming(step.plugin.name, "NormalizeScore", pod):
            scores = ask_normalize(step.plugin, pod, scores, (*extent, step.state))
        self._store(pod, index, rows, (scores, feasible if rows is None else feasible[rows]))
        return rows is None

    def _store(self, pod: Pod, index: int, rows: Rows | None, scored: tuple[Scores, Mask]) -> None:
        step, (scores, counts) = self._steps[index], scored
        if step.plugin.name in self._foreign:
            _check_range(step.plugin, pod, scores[counts])
        if rows is None:
            np.multiply(scores, step.weight, out=self.weighted[index])
        else:
            self.weighted[index, rows] = scores * step.weight

    def _sum(self, rows: Rows | None, feasible: Mask) -> None:
        if rows is None:
            np.add.reduce(self.weighted, axis=0, out=self.total)
            self.total[~feasible] = INFEASIBLE
        else:
            sums = np.add.reduce(self.weighted[:, rows], axis=0)
            sums[~feasible[rows]] = INFEASIBLE
            self.total[rows] = sums


def extent_of(scores: Scores, feasible: Mask) -> tuple[int, int]:
    """Return the lowest and highest score of a feasible row."""
    low = np.min(scores, where=feasible, initial=np.iinfo(np.int64).max)
    high = np.max(scores, where=feasible, initial=np.iinfo(np.int64).min)
    return int(low), int(high)


def _check_range(plugin: Score, pod: Pod, scores: Scores) -> None:
    outside = scores[(scores < 0) | (scores > MAX_SCORE)]
    if outside.size:
        wanted = f"it should in the range of [0, {MAX_SCORE}] after normalizing"
        raise PluginError(plugin.name, "Score", pod, f"returns an invalid score {outside[0]}, {wanted}")


def _union(stale: list[list[int] | None]) -> Rows:
    rows = {row for some in stale if some for row in some}
    return np.fromiter(rows, dtype=np.intp, count=len(rows))

"""How good each feasible row is: PreScore, Score, normalisation, weights and the total, kept like the filters' answer.

Where nothing that a plugin read has changed, its scores stand. Where only a few rows have, those are asked again and
the total is patched there; only the search for the maximum is new work for a pod of a known signature.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np

from stowplan.framework.contract import MAX_SCORE, Indifferent, Normalize, PreScore, Score, Skip
from stowplan.framework.kept.asking import NO_MARKS, NO_NUMBER, AnswerWatch, ask_normalize, ask_score, clipped, union
from stowplan.framework.kept.incremental import FEW_ROWS, Incremental, by_amounts
from stowplan.framework.plugin_faults import Blame, PluginError
from stowplan.framework.profile import Profile
from stowplan.model.pod import Pod
from stowplan.table.columns import Mask, Rows, Scores, fitted
from stowplan.table.journal import Journal
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table

INFEASIBLE = -1
# So low that no scores bring it up to 0.
OUT_OF_REACH = -(2**62)
EVERY_ROW = slice(None)
LOWEST, HIGHEST = -(2**63), 2**63 - 1


class _Step:
    """A score plugin with its weight and state, and its scores by row: weighted, and raw if it normalises them."""

    __slots__ = ("by_amounts", "extent", "normalizer", "plugin", "pre_score", "raw", "state", "weight", "weighted")

    def __init__(self, plugin: Score, weight: int, pre_score: PreScore | None) -> None:
        self.plugin = plugin
        self.weight = weight
        self.pre_score = pre_score
        self.normalizer = plugin if isinstance(plugin, Normalize) else None
        self.by_amounts: Incremental | None = None
        self.state: Any = None
        self.raw: Scores | None = None
        self.extent = (0, 0)
        self.weighted: Scores | None = None

    def prepare(self, state: Any) -> None:
        """Take a new state."""
        self.state, self.by_amounts = state, by_amounts(state)


class Ranking:
    """The scores of one signature over one set of feasible rows, which `feasible_journal` keeps track of.

    `scored` is what Score is shown in place of the table's rows, if it is anything else.
    """

    def __init__(self, profile: Profile, table: Table, feasible_journal: Journal, scored: Nodes | None = None) -> None:
        self.total: Scores = np.full(len(table), INFEASIBLE, dtype=np.int64)
        self.nodes = Nodes(table)
        self._scored = scored if scored is not None else self.nodes
        self._table, self._layout = table, table.layout.position
        self.nodes.feasible_journal = feasible_journal
        self._feasible_journal = feasible_journal
        self._feasible_position = -1
        pre_scores = {plugin.name: plugin for plugin in profile.pre_score}
        self._steps = [_Step(plugin, weight, pre_scores.pop(plugin.name, None)) for plugin, weight in profile.score]
        # Enabled in PreScore alone: nobody uses their state, but they may skip or fail.
        self._unscored = tuple(pre_scores.values())
        self._skipped_unscored: frozenset[str] = frozenset()
        self._foreign = profile.foreign_names
        self._states_watch = AnswerWatch(table.reads, profile.stopwatch)
        self._scores_watch = AnswerWatch(table.reads, profile.stopwatch)
        # Plugins whose state is new, so that what they said about any row is void.
        self._restated: set[int] = set()
        # Who changes scores from pod to pod, and what all others add up to, out of reach where infeasible.
        self._moving: frozenset[int] = frozenset()
        self._unmoved: Scores | None = None

    @property
    def skipped(self) -> frozenset[str]:
        """The plugins that had nothing to say in PreScore, whether they score or not."""
        return self._skipped_unscored.union(step.plugin.name for step in self._steps if _is_left_out(step.state))

    def by_plugin(self) -> dict[str, tuple[Scores, Scores, int]]:
        """Return, for every plugin that scored, its raw and normalised scores by row, and its weight."""
        found = {}
        for step in self._steps:
            if step.weighted is not None:
                normalized = step.weighted // step.weight
                found[step.plugin.name] = (normalized if step.raw is None else step.raw, normalized, step.weight)
            elif isinstance(step.state, Indifferent):
                nothing = np.zeros_like(self.total)
                found[step.plugin.name] = (nothing, nothing, step.weight)
        return found

    def refresh(self, pod: Pod, feasible: Mask) -> None:
        """Bring the total up to date with the table and with the rows that are feasible now."""
        self.nodes.feasible_rows = self.nodes.asked = self._scored.asked = feasible
        is_relaid = self._layout != self._table.layout.position
        has_flipped = self._feasible_position != self._feasible_journal.position
        flipped = self._flipped() if has_flipped else NO_MARKS
        if is_relaid:
            flipped = self._fit(flipped, feasible)
        restated = self._states_watch.stale()
        if restated or self._feasible_position < 0:
            self._refresh_states(pod, restated)
        # By plugin, the rows whose scores are void; None for all.
        stale = self._scores_watch.stale()
        if is_relaid:
            stale = clipped(stale, len(feasible))
        stale.update(dict.fromkeys(range(len(self._steps)) if flipped is None else self._restated))
        self._restated.clear()
        if not stale and flipped == NO_MARKS:
            return
        # Note which plugins are going to change some of their scores.
        if flipped is not NO_MARKS or not self._moving.issuperset(stale):
            self._moving, self._unmoved = frozenset(stale), None
        whole = [index for index, marks in stale.items() if marks is None]
        is_whole = flipped is None
        for index in whole:
            del stale[index]
            is_whole = self._rescore(pod, index, None, feasible) or is_whole
        closed = flipped or NO_MARKS
        if not self._patch(stale, closed, feasible):
            others = [index for index in range(len(self._steps)) if index not in whole] if closed else list(stale)
            rows = union([*stale.values(), closed])
            is_whole = self._rescore_some(pod, others, self.nodes.take(rows), feasible) or is_whole
            if not is_whole:
                self._sum(rows, feasible)
        if is_whole:
            self._sum_all(feasible)
        self._feasible_position = self._feasible_journal.position

    def _fit(self, flipped: list[int] | None, feasible: Mask) -> list[int] | None:
        """Make the scores as long as the table; return the flipped rows that are there, None if that is not all.

        A node that is gone may have had the lowest or highest score.
        """
        self._layout, rows = self._table.layout.position, len(feasible)
        self.total, self._unmoved = fitted(self.total, rows), None
        for step in self._steps:
            step.weighted = None if step.weighted is None else fitted(step.weighted, rows)
            step.raw = None if step.raw is None else fitted(step.raw, rows)
        there = None if flipped is None else [row for row in flipped if row < rows]
        return there if there or self._keeps_extents([], feasible) else None

    def _rescore_some(self, pod: Pod, indices: list[int], few: Nodes, feasible: Mask) -> bool:
        """Score some rows of some plugins again; say whether the weighted scores of other rows changed too."""
        few.asked = feasible[few.rows]
        is_whole = False
        for index in indices:
            is_whole = self._rescore(pod, index, few, feasible) or is_whole
        return is_whole

    def _flipped(self) -> list[int] | None:
        """Return the rows that have become or ceased to be feasible; None the first time."""
        return None if self._feasible_position < 0 else self._feasible_journal.since(self._feasible_position)

    def _refresh_states(self, pod: Pod, stale: Container[int]) -> None:
        """Run `pre_score` where what it read has changed."""
        is_first = self._feasible_position < 0
        skipped = [plugin.name for plugin in self._unscored if _is_left_out(self._pre_score(pod, -1, plugin))]
        self._skipped_unscored = frozenset(skipped)
        for index, step in enumerate(self._steps):
            if step.pre_score is not None and (is_first or index in stale):
                step.prepare(self._pre_score(pod, index, step.pre_score))
                self._restated.add(index)

    def _pre_score(self, pod: Pod, index: int, plugin: PreScore) -> Any:
        blame = (plugin.name, "PreScore", pod)
        return self._states_watch.ask(index, blame, plugin.pre_score, pod, self.nodes)

    def _patch(self, stale: dict[int, list[int] | None], closed: list[int], feasible: Mask) -> bool:
        """See to rows of which only amounts have changed, and to rows that ceased to be feasible, if that is all."""
        marked: list[int] = NO_MARKS
        steps = []
        for index, marks in stale.items():
            step = self._steps[index]
            if marks is None or step.by_amounts is None or step.weighted is None:
                return False
            if marked is not marks:
                marked = marked + marks if marked and marked != marks else marks
            steps.append((step.by_amounts, step.weight, step.weighted))
        if len(marked) > max(len(feasible), FEW_ROWS) or (closed and not self._keeps_extents(closed, feasible)):
            return False
        if len(marked) > FEW_ROWS:
            self._patch_many(marked, steps, feasible)
            marked = NO_MARKS
        for row in set(marked):
            has, taken = self._table.resources.amounts(row)
            change = 0
            for state, weight, kept in steps:
                weighted = state.score_of(has, taken) * weight
                change += weighted - kept.item(row)
                kept[row] = weighted
            if feasible[row]:
                self.total[row] += change
        self.total[closed] = INFEASIBLE
        return True

    def _patch_many(self, marks: list[int], steps: list[tuple[Incremental, int, Scores]], feasible: Mask) -> None:
        rows, has, taken = self._table.resources.gather(marks)
        total = self.total[rows]
        for state, weight, kept in steps:
            weighted = state.score_each(has, taken) * weight
            total += weighted - kept[rows]
            kept[rows] = weighted
        self.total[rows] = np.where(feasible[rows], total, INFEASIBLE)

    def _keeps_extents(self, flipped: list[int], feasible: Mask) -> bool:
        """Say whether some rows only ceased to be feasible, and none of them had the lowest or highest score alone."""
        if feasible[flipped].any():
            return False
        raws = [(step.raw, step.extent) for step in self._steps if step.raw is not None]
        return all(low == high or extent_of(raw, feasible) == (low, high) for raw, (low, high) in raws)

    def _rescore(self, pod: Pod, index: int, few: Nodes | None, feasible: Mask) -> bool:
        """Score some rows of one plugin again, or all; say whether the weighted scores of other rows changed too."""
        step = self._steps[index]
        if isinstance(step.state, Skip):
            was_counted, step.weighted = step.weighted is not None, None
            return was_counted
        nodes, rows = (self._scored, EVERY_ROW) if few is None or few.rows is None else (few, few.rows)
        blame = (step.plugin.name, "Score", pod)
        scores = self._scores_watch.ask(index, blame, ask_score, step.plugin, pod, nodes, step.state)
        if step.normalizer is not None:
            rows, scores = self._normalized(pod, index, (rows, scores), feasible)
        if step.plugin.name in self._foreign:
            _check_range(blame, scores[feasible[rows]])
        if step.weighted is None or rows is EVERY_ROW:
            before, step.weighted = step.weighted, _own(scores) if step.weight == 1 else scores * step.weight
            # Where pods add up alike in all domains, a new sum is often the same score.
            return before is None or step.raw is None or not np.array_equal(before, step.weighted)
        step.weighted[rows] = scores if step.weight == 1 else scores * step.weight
        return False

    def _normalized(
        self, pod: Pod, index: int, fresh: tuple[Rows | slice, Scores], feasible: Mask
    ) -> tuple[Rows | slice, Scores]:
        """Take in fresh raw scores and normalise them; all rows if the extent of the feasible ones has moved."""
        step, (rows, scores) = self._steps[index], fresh
        if step.raw is None or rows is EVERY_ROW:
            # A copy: what a plugin returns may be a column, which nobody may write to.
            step.raw = scores.copy()
        else:
            step.raw[rows] = scores
        extent = step.extent if _changes_nothing(step, rows, scores) else extent_of(step.raw, feasible)
        if extent != step.extent:
            step.extent, rows, scores = extent, EVERY_ROW, step.raw
        blame = (step.plugin.name, "NormalizeScore", pod)
        details = (step.normalizer, pod, scores, extent, step.state)
        return rows, self._scores_watch.ask(index, blame, ask_normalize, *details)

    def _sum_all(self, feasible: Mask) -> None:
        """Add up the scores of all rows; those of the plugins that do not move were added up before."""
        if self._unmoved is None:
            others = [step.weighted for index, step in enumerate(self._steps) if index not in self._moving]
            self._unmoved = sum((some for some in others if some is not None), np.where(feasible, 0, OUT_OF_REACH))
        total = self._unmoved
        for index in self._moving:
            weighted = self._steps[index].weighted
            if weighted is not None:
                total = total + weighted
        self.total = np.maximum(total, INFEASIBLE)

    def _sum(self, rows: Rows, feasible: Mask) -> None:
        """Add up the scores of some rows."""
        parts = [step.weighted[rows] for step in self._steps if step.weighted is not None]
        self.total[rows] = np.where(feasible[rows], sum(parts), INFEASIBLE)


def _is_left_out(state: Any) -> bool:
    """Say whether a plugin has nothing to say; one that gives every row 0 has, though nothing need be added up."""
    return isinstance(state, Skip) and not isinstance(state, Indifferent)


def _own(scores: Scores) -> Scores:
    """Return scores that may be written to: what a plugin returns may be a column, which nobody may write to."""
    return scores if scores.flags.writeable and scores.base is None else scores.copy()


def _changes_nothing(step: _Step, rows: Rows | slice, scores: Scores) -> bool:
    """Say whether all rows scored the same and some were scored again, still the same: whoever comes or goes."""
    low, high = step.extent
    return low == high and rows is not EVERY_ROW and bool((scores == low).all())


def extent_of(scores: Scores, feasible: Mask) -> tuple[int, int]:
    """Return the lowest and highest score of a feasible row."""
    if np.count_nonzero(feasible) == len(feasible) > 0:
        return int(np.minimum.reduce(scores)), int(np.maximum.reduce(scores))
    # Twice as fast as to reduce under a mask.
    scores = scores.compress(feasible)
    return int(scores.min(initial=HIGHEST)), int(scores.max(initial=LOWEST))


def _check_range(blame: Blame, scores: Scores) -> None:
    outside = scores[(scores < 0) | (scores > MAX_SCORE)]
    if outside.size:
        wanted = f"it should in the range of [0, {MAX_SCORE}] after normalizing"
        score = "that is no number (NaN, or infinite)" if outside[0] == NO_NUMBER else outside[0]
        raise PluginError(*blame, f"returns an invalid score {score}, {wanted}")

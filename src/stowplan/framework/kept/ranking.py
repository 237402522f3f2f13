"""How good each row is: PreScore, Score, normalisation, weights and the total, kept like the filters' answer.

Where nothing that a plugin read has changed, its scores stand. Where only a few rows have, those are asked again and
the total is patched there; where a score follows from a label (`by_domain`), its domains are. Only the search for the
maximum is new work for a pod of a known signature.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stowplan.framework.contract import MAX_SCORE, Indifferent, PreScore, Skip
from stowplan.framework.kept.asking import (
    NO_NUMBER,
    AnswerWatch,
    VoidRows,
    ask_normalize,
    ask_score,
    clipped,
    each_once,
    joined,
)
from stowplan.framework.kept.incremental import FEW_ROWS
from stowplan.framework.kept.score_step import EVERY, ScoreStep, is_left_out
from stowplan.framework.plugin_faults import Blame, PluginError
from stowplan.framework.profile import Profile
from stowplan.model.pod import Pod
from stowplan.table.columns import NO_ROWS, Mask, Rows, Scores, fitted
from stowplan.table.journal import Journal
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table

#: In the place of the total of a row that is not feasible.
INFEASIBLE: Final = -1


class Ranking:
    """The scores of one signature over the feasible rows; `feasible_journal` is marked when the filters leave others.

    `scored` is what Score is shown in place of the table's rows, if it is anything else.
    """

    def __init__(self, profile: Profile, table: Table, feasible_journal: Journal, scored: Nodes | None = None) -> None:
        self.nodes = Nodes(table)
        self._scored = scored if scored is not None else self.nodes
        self._table, self._layout = table, table.layout.position
        self.nodes.feasible_journal = self._scored.feasible_journal = self._feasible_journal = feasible_journal
        self._feasible_position = -1
        pre_scores = {plugin.name: plugin for plugin in profile.pre_score}
        self._steps = [ScoreStep(plugin, weight, pre_scores.pop(plugin.name, None)) for plugin, weight in profile.score]
        # Enabled in PreScore alone: nobody uses their state, but they may skip or fail.
        self._unscored = tuple(pre_scores.values())
        self._skipped_unscored: frozenset[str] = frozenset()
        self._foreign = profile.foreign_names
        self._states_watch = AnswerWatch(table.reads, profile.stopwatch)
        self._scores_watch = AnswerWatch(table.reads, profile.stopwatch)
        # Plugins of which nothing is known that holds for any row.
        self._void = set(range(len(self._steps)))
        # Narrow numbers are several times as fast to add up and to search; weights may be too large for them.
        highest = sum(weight for _, weight in profile.score) * MAX_SCORE
        kind = next(kind for kind in (np.int16, np.int32, np.int64) if highest < np.iinfo(kind).max // 2)
        #: Live: the total of each row, less than 0 where it is not feasible.
        self.sums: NDArray[Any] = np.zeros(len(table), dtype=kind)
        # What is added for rows that are not feasible, so that no score brings them up to 0.
        self._out_of_reach = np.iinfo(self.sums.dtype).min // 2
        self._is_to_sum = True

    @property
    def skipped(self) -> frozenset[str]:
        """The plugins that had nothing to say in PreScore, whether they score or not."""
        return self._skipped_unscored.union(step.plugin.name for step in self._steps if is_left_out(step.state))

    @property
    def total(self) -> Scores:
        """The weighted sum of all scores by row, -1 for rows that are not feasible."""
        total: Scores = np.maximum(self.sums, INFEASIBLE).astype(np.int64)
        return total

    def by_plugin(self) -> dict[str, tuple[Scores, Scores, int]]:
        """Return, for every plugin that scored, its raw and normalised scores by row, and its weight."""
        found = {}
        for step in self._steps:
            if step.weighted is not None:
                normalized = step.by_row(step.weighted, self.nodes) // step.weight
                raw = normalized if step.raw is None else step.by_row(step.raw, self.nodes)
                found[step.plugin.name] = (raw, normalized, step.weight)
            elif isinstance(step.state, Indifferent):
                nothing = np.zeros(len(self.nodes), dtype=np.int64)
                found[step.plugin.name] = (nothing, nothing, step.weight)
        return found

    def refresh(self, pod: Pod, feasible: Mask) -> None:
        """Bring the total up to date with the table and with the rows that are feasible now."""
        is_relaid = self._layout != self._table.layout.position
        fresh = self._fit() if is_relaid else NO_ROWS
        # By the filters, or by others who leave fewer rows than they.
        has_flipped = (
            feasible is not self.nodes.feasible_rows or self._feasible_position != self._feasible_journal.position
        )
        if has_flipped:
            self._flip(feasible)
        restated = self._states_watch.stale()
        if restated or self._feasible_position < 0:
            self._refresh_states(pod, restated)
        void = self._scores_watch.stale()
        if is_relaid:
            known = clipped(void, len(feasible))
            void = {index: joined(known.get(index, NO_ROWS), fresh) for index in range(len(self._steps))}
        void.update(dict.fromkeys(self._void))
        self._void.clear()
        if void and not self._patch(void):
            self._rescore(pod, void, feasible)
        for index, step in enumerate(self._steps if has_flipped else ()):
            # Others than before may be lowest and highest.
            if step.raw is not None and not step.is_flat:
                self._weigh(pod, index, (NO_ROWS, NO_ROWS), feasible)
        if self._is_to_sum:
            self.sums[:] = np.where(feasible, 0, self._out_of_reach)
            for step in self._steps:
                if step.weighted is not None:
                    self.sums += step.by_row(step.weighted, self.nodes)
            self._is_to_sum = False
        self._feasible_position = self._feasible_journal.position

    def _flip(self, feasible: Mask) -> None:
        """Take over which rows are feasible now."""
        self._scored.asked = feasible
        flipped = self.nodes.put_feasible(feasible)
        if flipped is None:
            self._is_to_sum = True
        elif len(flipped):
            self._feasible_journal.mark_each(flipped)
            self.sums[flipped] += np.where(feasible[flipped], -self._out_of_reach, self._out_of_reach)
        for step in self._steps:
            step.held = None

    def _fit(self) -> Rows | None:
        """Make the scores as long as the table; return the rows that are other nodes', None if that is not known."""
        layout, rows = self._table.layout, len(self._table)
        marked = layout.since(self._layout)
        self._layout = layout.position
        fresh = None if marked is None else marked[marked < rows]
        self.nodes.fit_feasible(fresh)
        self.sums = fitted(self.sums, rows)
        # Scores by domain are in the total of every row, and are found out anew.
        self._is_to_sum = self._is_to_sum or fresh is None or any(step.key for step in self._steps)
        for index, step in enumerate(self._steps):
            if not step.fit(rows, fresh):
                self._void.add(index)
        if fresh is not None:
            self.sums[fresh] = self._out_of_reach
        return fresh

    def _refresh_states(self, pod: Pod, stale: Container[int]) -> None:
        """Run `pre_score` where what it read has changed."""
        is_first = self._feasible_position < 0
        skipped = [plugin.name for plugin in self._unscored if is_left_out(self._pre_score(pod, -1, plugin))]
        self._skipped_unscored = frozenset(skipped)
        for index, step in enumerate(self._steps):
            if step.pre_score is not None and (is_first or index in stale):
                step.prepare(self._pre_score(pod, index, step.pre_score))
                self._void.add(index)
                if step.by_domain is not None:
                    self._scores_watch.note(index, {log: log.position for log in step.by_domain[1].logs})

    def _pre_score(self, pod: Pod, index: int, plugin: PreScore) -> Any:
        blame = (plugin.name, "PreScore", pod)
        return self._states_watch.ask(index, blame, plugin.pre_score, pod, self.nodes)

    def _patch(self, void: VoidRows) -> bool:
        """See to a few rows of which only amounts have changed, if that is all: what a pod more on a node comes to."""
        rows, steps = next(iter(void.values())), []
        for index, others in void.items():
            step = self._steps[index]
            # Whoever reads the same journals is given the same array.
            if others is not rows or step.by_amounts is None or step.weighted is None:
                return False
            steps.append((step.by_amounts, step.weight, step.weighted))
        if rows is None or len(rows) > FEW_ROWS:
            return False
        for row in set(rows.tolist()):
            has, taken = self._table.resources.amounts(row)
            for state, weight, kept in steps:
                before, now = kept.item(row), state.score_of(has, taken) * weight
                if now != before:
                    kept[row] = now
                    self.sums[row] += now - before
        return True

    def _rescore(self, pod: Pod, void: VoidRows, feasible: Mask) -> None:
        """Score again what is void."""
        # Answers that read the same journal share one array, and what is gathered for it.
        last, few = NO_ROWS, self.nodes
        for index, rows in void.items():
            step = self._steps[index]
            if isinstance(step.state, Skip):
                self._is_to_sum = self._is_to_sum or step.weighted is not None
                step.drop()
            elif rows is None:
                if not self._rescore_domains(pod, index, feasible):
                    self._rescore_rows(pod, index, self._scored, feasible)
            elif step.key or not len(rows) or self._patch({index: rows}):
                continue
            else:
                if len(rows) != len(last) or not np.array_equal(rows, last):
                    last, few = rows, self.nodes.take(each_once(rows, len(feasible)))
                    few.asked = feasible[few.all_rows]
                self._rescore_rows(pod, index, few, feasible)

    def _rescore_rows(self, pod: Pod, index: int, nodes: Nodes, feasible: Mask) -> None:
        """Score the rows given of one plugin again."""
        step, at = self._steps[index], EVERY if nodes.rows is None else nodes.rows
        blame = (step.plugin.name, "Score", pod)
        details = (step.plugin, pod, nodes, step.state, step.plugin.name in self._foreign)
        scores = self._scores_watch.ask(index, blame, ask_score, *details)
        step.take(at, scores)
        self._weigh(pod, index, (at, scores), feasible)

    def _rescore_domains(self, pod: Pod, index: int, feasible: Mask) -> bool:
        """Score all rows by their domains, if that can be done."""
        step = self._steps[index]
        if step.by_domain is None or self._scored is not self.nodes:
            return False
        key, summed = step.by_domain[0], step.by_domain[1].read()
        codes = step.follow(key, summed, self.nodes.population(key))
        self._weigh(pod, index, (codes, summed.by_code[codes]), feasible)
        return True

    def _weigh(self, pod: Pod, index: int, fresh: tuple[Rows | slice, Scores], feasible: Mask) -> None:
        """Take over the scores of some rows, or domains, into what is kept and into the total.

        Where another is lowest or highest than before, all of them are normalised anew.
        """
        step, (at, scores) = self._steps[index], fresh
        if step.raw is not None:
            extent = step.find_extent(self.nodes)
            if extent != step.extent:
                step.extent, at = extent, EVERY
            elif not len(scores):
                return
            elif (
                step.is_flat and step.weighted is not None and at is not EVERY and step.plugin.name not in self._foreign
            ):
                # They score what all others do.
                self._add(step, at, np.full(len(scores), step.level, dtype=self.sums.dtype))
                return
            blame = (step.plugin.name, "NormalizeScore", pod)
            details = (step.normalizer, pod, step.raw[at], extent, step.state)
            scores = self._scores_watch.ask(index, blame, ask_normalize, *details)
        if step.plugin.name in self._foreign and not step.key:
            _check_range((step.plugin.name, "Score", pod), scores[feasible[at]])
        if step.normalizer is not None:
            # Rows that are not feasible may be above the highest or below the lowest.
            scores = np.minimum(np.maximum(scores, 0), MAX_SCORE)
        weighted = scores.astype(self.sums.dtype)
        if step.weight != 1:
            weighted *= step.weight
        self._add(step, at, weighted)

    def _add(self, step: ScoreStep, at: Rows | slice, weighted: NDArray[Any]) -> None:
        """Put new weighted scores in the place of those before, in the total, too."""
        before = step.weighted
        if at is EVERY and len(weighted):
            step.level = int(weighted[0])
        if before is None:
            step.weighted, self._is_to_sum = weighted, True
            return
        change = weighted - before[at]
        if at is EVERY:
            step.weighted = weighted
        else:
            before[at] = weighted
        if not step.key:
            self.sums[at] += change
        # Where pods add up alike in all domains, a new sum is often the same score.
        elif at is EVERY and change.any():
            self.sums += step.by_row(change, self.nodes)
        elif isinstance(at, np.ndarray):
            for code, by in zip(at.tolist(), change.tolist(), strict=True):
                self.sums[self.nodes.rows_with(step.key, code)] += by


def _check_range(blame: Blame, scores: Scores) -> None:
    outside = scores[(scores < 0) | (scores > MAX_SCORE)]
    if outside.size:
        wanted = f"it should in the range of [0, {MAX_SCORE}] after normalizing"
        score = "that is no number (NaN, or infinite)" if outside[0] == NO_NUMBER else outside[0]
        raise PluginError(*blame, f"returns an invalid score {score}, {wanted}")

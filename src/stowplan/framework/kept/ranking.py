"""How good each feasible row is: PreScore, Score, normalisation, weights and the total, kept like the filters' answer.

Where nothing that a plugin read has changed, its scores stand. Where only a few rows have, those are asked again and
the total is patched there; where a score follows from a label (`by_domain`), its domains are. Only the search for the
maximum is new work for a pod of a known signature (`totals`).
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np

from stowplan.framework.contract import MAX_SCORE, Indifferent, PreScore, Skip
from stowplan.framework.kept.asking import NO_MARKS, NO_NUMBER, AnswerWatch, ask_normalize, ask_score, clipped, union
from stowplan.framework.kept.domains import HIGHEST, LOWEST, DomainScores
from stowplan.framework.kept.incremental import FEW_ROWS, Incremental
from stowplan.framework.kept.score_step import EVERY_ROW, ScoreStep, changes_nothing, extent_of, is_left_out, own
from stowplan.framework.kept.totals import Totals
from stowplan.framework.plugin_faults import Blame, PluginError
from stowplan.framework.profile import Profile
from stowplan.model.pod import Pod
from stowplan.table.columns import NO_ROWS, Mask, Rows, Scores
from stowplan.table.journal import Journal
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table

StaleRows = dict[int, list[int] | None]

# Rows are few if there are so many times as many in all.
FEW = 4


class Ranking:
    """The scores of one signature over the feasible rows; `feasible_journal` is marked when the filters leave others.

    `scored` is what Score is shown in place of the table's rows, if it is anything else.
    """

    def __init__(self, profile: Profile, table: Table, feasible_journal: Journal, scored: Nodes | None = None) -> None:
        #: Live: what the engine picks from.
        self.totals = Totals(len(table))
        self.nodes = Nodes(table)
        self._scored = scored if scored is not None else self.nodes
        self._table, self._layout = table, table.layout.position
        self.nodes.feasible_journal = feasible_journal
        self._feasible_journal = feasible_journal
        self._feasible_position = -1
        pre_scores = {plugin.name: plugin for plugin in profile.pre_score}
        self._steps = [ScoreStep(plugin, weight, pre_scores.pop(plugin.name, None)) for plugin, weight in profile.score]
        # Enabled in PreScore alone: nobody uses their state, but they may skip or fail.
        self._unscored = tuple(pre_scores.values())
        self._skipped_unscored: frozenset[str] = frozenset()
        self._foreign = profile.foreign_names
        self._states_watch = AnswerWatch(table.reads, profile.stopwatch)
        self._scores_watch = AnswerWatch(table.reads, profile.stopwatch)
        # Plugins whose state is new, so that what they said about any row is void.
        self._restated: set[int] = set()
        # What some rows had in the total is no longer known.
        self._is_to_sum = False

    @property
    def skipped(self) -> frozenset[str]:
        """The plugins that had nothing to say in PreScore, whether they score or not."""
        return self._skipped_unscored.union(step.plugin.name for step in self._steps if is_left_out(step.state))

    @property
    def total(self) -> Scores:
        """The weighted sum of all scores by row, -1 for rows that are not feasible."""
        return self.totals.shown()

    def by_plugin(self) -> dict[str, tuple[Scores, Scores, int]]:
        """Return, for every plugin that scored, its raw and normalised scores by row, and its weight."""
        found = {}
        for step in self._steps:
            weighted = step.by_row(self.nodes)
            if weighted is not None:
                normalized, raw = weighted // step.weight, step.raw
                if step.domains is not None:
                    raw = step.domains.raw.take(self.nodes.label(step.domains.key).codes)
                found[step.plugin.name] = (normalized if raw is None else raw, normalized, step.weight)
            elif isinstance(step.state, Indifferent):
                nothing = np.zeros(len(self.nodes), dtype=np.int64)
                found[step.plugin.name] = (nothing, nothing, step.weight)
        return found

    def refresh(self, pod: Pod, feasible: Mask) -> None:
        """Bring the total up to date with the table and with the rows that are feasible now."""
        is_relaid = self._layout != self._table.layout.position
        fresh = self._fit() if is_relaid else NO_MARKS
        # By the filters, or by others who leave fewer rows than they.
        has_flipped = feasible is not self.nodes.feasible_rows or (
            self._feasible_position != self._feasible_journal.position
        )
        flipped = self._flip(feasible) if has_flipped else NO_ROWS
        restated = self._states_watch.stale()
        if restated or self._feasible_position < 0:
            self._refresh_states(pod, restated)
        # By plugin, the rows whose scores are void; None for all.
        stale = self._scores_watch.stale()
        if is_relaid:
            stale = self._with_fresh(clipped(stale, len(feasible)), fresh)
        stale.update(dict.fromkeys(range(len(self._steps)) if flipped is None else self._restated))
        self._restated.clear()
        if flipped is not None and len(flipped):
            for index, step in enumerate(self._steps):
                if step.domains is not None:
                    step.domains.forget_extent()
                    stale[index] = None
        for index in [index for index, marks in stale.items() if marks is None]:
            del stale[index]
            self._rescore(pod, index, None, feasible)
        if stale and not self._patch(stale):
            self._rescore_some(pod, list(stale), self.nodes.take(union(stale.values())), feasible)
        if flipped is not None and (len(flipped) or is_relaid):
            self._rescore_flipped(pod, flipped, feasible)
        if self._is_to_sum:
            parts = [step.by_row(self.nodes) for step in self._steps]
            self.totals.start(feasible, [part for part in parts if part is not None])
            self._is_to_sum = False
        self._feasible_position = self._feasible_journal.position

    def _fit(self) -> list[int] | None:
        """Make the scores as long as the table; return the rows that are other nodes', None if that is not known."""
        layout, rows = self._table.layout, len(self._table)
        marked = layout.since(self._layout)
        self._layout = layout.position
        self.nodes.fit_feasible()
        self.totals, self._is_to_sum = Totals(rows), True
        for step in self._steps:
            step.fit(rows)
        return None if marked is None else [row for row in set(marked) if row < rows]

    def _with_fresh(self, stale: StaleRows, fresh: list[int] | None) -> StaleRows:
        """Have everybody score the rows that are other nodes' than before, too, and whoever scores domains, all."""
        for index, step in enumerate(self._steps):
            marks = stale.get(index, NO_MARKS)
            stale[index] = None if fresh is None or marks is None or step.weighted is None else [*marks, *fresh]
        return stale

    def _flip(self, feasible: Mask) -> Rows | None:
        """Open and close the rows that have become or ceased to be feasible, and return them; None the first time."""
        self._scored.asked = feasible
        flipped = self.nodes.flip_feasible(feasible)
        if flipped is None:
            self.totals.start(feasible, [])
        elif len(flipped):
            self._feasible_journal.mark_all()
            self.totals.open_or_close(flipped, feasible[flipped])
        return flipped

    def _rescore_flipped(self, pod: Pod, flipped: Rows, feasible: Mask) -> None:
        """Score rows that have become feasible, and normalise anew where others than before are lowest and highest."""
        opened = flipped[feasible[flipped]]
        # All others have scored every row, feasible or not.
        partial = [index for index, step in enumerate(self._steps) if step.is_partial]
        if partial and len(opened):
            self._rescore_some(pod, partial, self.nodes.take(opened), feasible)
        for index, step in enumerate(self._steps):
            # Where all rows score the same, it does not matter which of them are feasible.
            if step.raw is not None and step.bounds[0] != step.bounds[1]:
                extent = extent_of(step.raw, feasible)
                if extent != step.extent:
                    step.extent = extent
                    self._reweigh(pod, index, (EVERY_ROW, self._normalize(pod, index, step.raw, extent)), feasible)

    def _rescore_some(self, pod: Pod, indices: list[int], few: Nodes, feasible: Mask) -> None:
        """Score some rows of some plugins again."""
        few.asked = feasible[few.rows]
        for index in indices:
            self._rescore(pod, index, few, feasible)

    def _refresh_states(self, pod: Pod, stale: Container[int]) -> None:
        """Run `pre_score` where what it read has changed."""
        is_first = self._feasible_position < 0
        skipped = [plugin.name for plugin in self._unscored if is_left_out(self._pre_score(pod, -1, plugin))]
        self._skipped_unscored = frozenset(skipped)
        for index, step in enumerate(self._steps):
            if step.pre_score is not None and (is_first or index in stale):
                step.prepare(self._pre_score(pod, index, step.pre_score))
                self._restated.add(index)

    def _pre_score(self, pod: Pod, index: int, plugin: PreScore) -> Any:
        blame = (plugin.name, "PreScore", pod)
        return self._states_watch.ask(index, blame, plugin.pre_score, pod, self.nodes)

    def _patch(self, stale: StaleRows) -> bool:
        """See to rows of which only amounts have changed, if that is all."""
        marked: list[int] = NO_MARKS
        steps = []
        for index, marks in stale.items():
            step = self._steps[index]
            if marks is None or step.by_amounts is None or step.weighted is None:
                return False
            if marked is not marks:
                marked = marked + marks if marked and marked != marks else marks
            steps.append((step.by_amounts, step.weight, step.weighted))
        if len(marked) > FEW_ROWS:
            return self._patch_many(marked, steps)
        for row in set(marked):
            has, taken = self._table.resources.amounts(row)
            change = 0
            for state, weight, kept in steps:
                weighted = state.score_of(has, taken) * weight
                change += weighted - kept.item(row)
                kept[row] = weighted
            if change:
                self.totals.add_one(row, change)
        return True

    def _patch_many(self, marks: list[int], steps: list[tuple[Incremental, int, Scores]]) -> bool:
        if len(marks) > len(self._table):
            return False
        rows, has, taken = self._table.resources.gather(marks)
        change: Scores = np.zeros(len(rows), dtype=np.int64)
        for state, weight, kept in steps:
            weighted = state.score_each(has, taken) * weight
            change += weighted - kept[rows]
            kept[rows] = weighted
        self.totals.add(rows, change)
        return True

    def _rescore(self, pod: Pod, index: int, few: Nodes | None, feasible: Mask) -> None:
        """Score some rows of one plugin again, or all."""
        step = self._steps[index]
        if isinstance(step.state, Skip):
            self._drop(step)
            return
        if few is None and self._rescore_domains(pod, index):
            return
        if step.domains is not None:
            if few is not None:
                return
            self._drop(step)
        nodes, rows = (self._scored, EVERY_ROW) if few is None or few.rows is None else (few, few.rows)
        blame = (step.plugin.name, "Score", pod)
        nodes.is_asked_read = False
        scores = self._scores_watch.ask(index, blame, ask_score, step.plugin, pod, nodes, step.state)
        step.is_partial = step.is_partial or nodes.is_asked_read
        if step.normalizer is not None:
            rows, scores = self._normalized(pod, index, (rows, scores), feasible)
        self._reweigh(pod, index, (rows, scores), feasible)

    def _reweigh(self, pod: Pod, index: int, fresh: tuple[Rows | slice, Scores], feasible: Mask) -> None:
        """Take over the scores of some rows, or all, into what is kept and into the total."""
        step, (rows, scores) = self._steps[index], fresh
        if step.plugin.name in self._foreign:
            is_feasible = feasible[rows]
            _check_range((step.plugin.name, "Score", pod), scores[is_feasible])
            # What it says about others is not looked at, be it a number or not.
            scores, step.is_partial = np.where(is_feasible, scores, 0), True
        before, weighted = step.weighted, scores if step.weight == 1 else scores * step.weight
        if isinstance(rows, slice):
            step.weighted = own(weighted)
            if before is None:
                self.totals.add_all(weighted)
            # Where pods add up alike in all domains, a new sum is often the same score.
            elif step.raw is None or not np.array_equal(before, weighted):
                np.subtract(weighted, before, out=before)
                self.totals.add_all(before)
        elif before is not None:
            self.totals.add(rows, weighted - before[rows])
            before[rows] = weighted

    def _drop(self, step: ScoreStep) -> None:
        """Take back what a plugin added to the total."""
        if step.weighted is not None or step.domains is not None:
            self._is_to_sum = True
        step.weighted = step.raw = step.domains = None

    def _rescore_domains(self, pod: Pod, index: int) -> bool:
        """Score all rows by their domains, if that can be done."""
        step, nodes = self._steps[index], self.nodes
        found = step.state.by_domain() if isinstance(step.state, Incremental) and self._scored is nodes else None
        if found is None:
            return False
        key, summed = found
        population, held = nodes.population(key), nodes.feasible_population(key)

        def weigh(raw: Scores, extent: tuple[int, int]) -> Scores:
            scores = self._normalize(pod, index, raw, extent)
            return scores if step.weight == 1 else scores * step.weight

        known = step.domains
        if known is None or known.population is not population:
            self._drop(step)
            step.domains = DomainScores(key, population, summed, held, weigh)
            self._is_to_sum = True
        else:
            self._shift(known, *known.follow(summed, held, weigh))
        return True

    def _shift(self, domains: DomainScores, changed: Rows, change: Scores) -> None:
        """Add to the totals of all rows of some domains, given by their codes."""
        if not len(changed):
            return
        nodes, key, population = self.nodes, domains.key, domains.population
        if int(population[changed].sum()) * FEW > len(nodes):
            by_code = np.zeros(len(population), dtype=np.int64)
            by_code[changed] = change
            self.totals.add_all(by_code.take(nodes.label(key).codes))
        else:
            last = len(population) - 1
            rows = [nodes.rows_with(key, (code if code != last else -1,)) for code in changed.tolist()]
            self.totals.add(np.concatenate(rows), np.repeat(change, [len(some) for some in rows]))

    def _normalized(
        self, pod: Pod, index: int, fresh: tuple[Rows | slice, Scores], feasible: Mask
    ) -> tuple[Rows | slice, Scores]:
        """Take in fresh raw scores and normalise them; all rows if the extent of the feasible ones has moved."""
        step, (rows, scores) = self._steps[index], fresh
        if step.raw is None or rows is EVERY_ROW:
            # A copy: what a plugin returns may be a column, which nobody may write to.
            step.raw = scores.copy()
            step.bounds = (int(scores.min(initial=HIGHEST)), int(scores.max(initial=LOWEST)))
        else:
            step.raw[rows] = scores
            low, high = step.bounds
            step.bounds = (min(low, int(scores.min(initial=low))), max(high, int(scores.max(initial=high))))
        extent = step.extent if changes_nothing(step, rows, scores) else extent_of(step.raw, feasible)
        if extent != step.extent:
            step.extent, rows, scores = extent, EVERY_ROW, step.raw
        return rows, self._normalize(pod, index, scores, extent)

    def _normalize(self, pod: Pod, index: int, scores: Scores, extent: tuple[int, int]) -> Scores:
        step = self._steps[index]
        blame = (step.plugin.name, "NormalizeScore", pod)
        details = (step.normalizer, pod, scores, extent, step.state)
        return self._scores_watch.ask(index, blame, ask_normalize, *details)


def _check_range(blame: Blame, scores: Scores) -> None:
    outside = scores[(scores < 0) | (scores > MAX_SCORE)]
    if outside.size:
        wanted = f"it should in the range of [0, {MAX_SCORE}] after normalizing"
        score = "that is no number (NaN, or infinite)" if outside[0] == NO_NUMBER else outside[0]
        raise PluginError(*blame, f"returns an invalid score {score}, {wanted}")

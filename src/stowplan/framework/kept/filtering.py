"""Which rows can take a pod: the filters' answer, kept and refreshed only where something that was read has changed.

The rule of upstream's short circuit: a row carries the word of the first plugin, in order, that refuses it. Asking
again follows the same rule: a plugin is asked about a row only if no plugin before it refuses that row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stowplan.framework.contract import Filter
from stowplan.framework.kept.asking import AnswerWatch, VoidRows, ask_filter, clipped, each_once, joined
from stowplan.framework.kept.incremental import FEW_ROWS, Incremental, TellsVolumesApart, by_amounts
from stowplan.framework.kept.pre_filtering import PreFiltering
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection, Verdict, Vocabulary, Words
from stowplan.model.pod import Pod
from stowplan.table.columns import NO_ROWS, Mask, Rows, fitted
from stowplan.table.journal import Journal
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table

NOT_EVALUATED = -1
# Rows are few if there are so many times as many in all.
FEW = 8

# Who refused each row, as an index into the active steps; one past the last means nobody.
Refusers = NDArray[np.int16]


class _Step:
    """A filter with the state it is given."""

    __slots__ = ("by_amounts", "changed", "index", "is_by_row", "is_new", "plugin", "state")

    def __init__(self, index: int, plugin: Filter) -> None:
        self.index = index
        self.plugin = plugin
        self.state: Any = None
        self.by_amounts: Incremental | None = None
        self.is_by_row = False
        # Its state has changed, so what it said is void: about any row, or about some.
        self.is_new = True
        self.changed: Rows = NO_ROWS

    def take(self, state: Any, nodes: Nodes, is_relaid: bool) -> bool:
        """Take over the state that is true now; say whether anything that it said is void."""
        before, self.state, self.by_amounts = self.state, state, by_amounts(state)
        self.is_by_row = isinstance(state, Incremental) and state.is_by_row
        if state is not before and not self.is_new:
            # States before and after a node came or went are not about the same rows.
            rows = None if is_relaid else _changed_rows(before, state, nodes)
            if rows is None or len(rows) * FEW > len(nodes):
                self.is_new = True
            elif len(rows):
                self.changed = np.concatenate((self.changed, rows))
        return self.is_new or self.changed is not NO_ROWS


class Filtering:
    """The filters' answer for the pods of one signature."""

    def __init__(self, profile: Profile, table: Table) -> None:
        self.pre = PreFiltering(profile, table.reads)
        self.nodes = Nodes(table)
        self.vocabulary = Vocabulary()
        #: Marked when rows become or cease to be feasible.
        self.feasible_journal = Journal()
        self.feasible: Mask = np.zeros(len(table), dtype=bool)
        self.feasible_count = 0
        #: Moves on when the filters may say something else than before about any hypothetical row.
        self.states_position = 0
        self._words: Words = np.zeros(len(table), dtype=np.int32)
        self._refused_by: Refusers = np.zeros(len(table), dtype=np.int16)
        self._table = table
        self._steps = [_Step(index, plugin) for index, plugin in enumerate(profile.filter)]
        self._stopwatch = profile.stopwatch
        self._watch = self.new_watch()
        self._active: list[_Step] = []
        self._narrowed: frozenset[str] | None = None
        self._is_void = True
        self._has_new = True
        self._layout = table.layout.position

    def adopt(self, vocabulary: Vocabulary) -> None:
        """Speak in the words of a verdict from now on; nothing changes if it was given here."""
        if vocabulary is not self.vocabulary:
            self.vocabulary, self._is_void = vocabulary, True
            self.states_position += 1

    def refresh(self, pod: Pod) -> None:
        """Bring the answer up to date with the table."""
        is_relaid = self._layout != self._table.layout.position
        fresh = self._fit() if is_relaid else NO_ROWS
        if self.pre.refresh(pod, self.nodes):
            self._take_states(is_relaid)
        if self.pre.rejection is not None:
            self._is_void = self._is_void or is_relaid
            return
        stale = self._watch.stale()
        if self._is_void:
            self._begin()
            self._walk(pod, None, [None] * len(self._active))
        elif is_relaid:
            self._reevaluate(pod, clipped(stale, len(self._table)), fresh)
        elif stale or self._has_new:
            self._reevaluate(pod, stale, fresh)
        self._has_new = False

    def _fit(self) -> Rows:
        """Make the answer as long as the table; return the rows of which it knows nothing: they are other nodes'."""
        layout, rows = self._table.layout, len(self._table)
        marked = layout.since(self._layout)
        self._layout = layout.position
        self._words, self._refused_by = fitted(self._words, rows), fitted(self._refused_by, rows)
        self.feasible = fitted(self.feasible, rows)
        self.feasible_journal.mark_all()
        if marked is None or self._narrowed is not None:
            self._is_void = True
            return NO_ROWS
        fresh = marked[marked < rows]
        self._words[fresh], self._refused_by[fresh], self.feasible[fresh] = 0, len(self._active), False
        self.feasible_count = int(np.count_nonzero(self.feasible))
        return fresh

    def _begin(self) -> None:
        """Forget what was said; nobody is asked about rows that are ruled out by name."""
        self._words = np.zeros(len(self._table), dtype=np.int32)
        self._refused_by = np.full(len(self._table), len(self._active), dtype=np.int16)
        if self._narrowed is not None:
            self._refused_by[~self.nodes.with_names(self._narrowed)] = NOT_EVALUATED
        self._is_void = False

    def verdict(self) -> Verdict:
        """Return the answer as data that stays as it is now."""
        evaluated = None if self.pre.narrowed is None else self.nodes.with_names(self.pre.narrowed)
        return Verdict(
            # A pod that is refused as a whole has no word about any node; what is kept is from another time.
            words=self._words.copy() if self.pre.rejection is None else np.zeros_like(self._words),
            vocabulary=self.vocabulary,
            names=self._table.names(),
            evaluated=evaluated,
            pre_filter=self.pre.rejection,
            narrowed_to=self.pre.narrowed,
            narrowed_by=self.pre.narrowed_by,
            skipped=self.pre.skipped,
            prepared=self.pre.prepared,
        )

    def tells_names_apart(self, pod: Pod) -> bool:
        """Say whether what is said of hypothetical rows may depend on what the claims of a pod are called."""
        return bool(pod.spec.volumes) and any(
            isinstance(step.plugin, TellsVolumesApart) and step.plugin.tells_names_apart(pod) for step in self._active
        )

    def new_watch(self) -> AnswerWatch:
        """Return a watch for somebody who keeps what the filters say of hypothetical rows."""
        return AnswerWatch(self._table.reads, self._stopwatch)

    @property
    def asked_plugins(self) -> list[Filter]:
        """The filters that have something to say."""
        return [step.plugin for step in self._active]

    def suppose(
        self, pod: Pod, nodes: Nodes, without: frozenset[str] = frozenset(), watch: AnswerWatch | None = None
    ) -> Words:
        """Return the words for hypothetical rows, of all filters but some; who keeps them notes what was read."""
        # What is read for an answer that nobody keeps must not void those that are kept here.
        watch = watch if watch is not None else self.new_watch()
        words = np.zeros(len(nodes), dtype=np.int32)
        for step in self._active:
            if step.plugin.name in without:
                continue
            nodes.asked = words == 0
            if not nodes.asked.any():
                break
            said = self._put(pod, step, nodes, watch)
            if said is not None:
                np.copyto(words, said, where=nodes.asked)
        return words

    def _take_states(self, is_relaid: bool) -> None:
        restated = self.pre.restated
        self.states_position += 1 if restated is None else len(restated)
        if restated is None:
            active = [step for step in self._steps if step.plugin.name not in self.pre.skipped]
            if self.pre.narrowed != self._narrowed or active != self._active or self.pre.rejection is not None:
                self._is_void = True
            self._active, self._narrowed = active, self.pre.narrowed
        for step in self._active:
            if restated is None or step.plugin.name in restated:
                is_void = step.take(self.pre.states.get(step.plugin.name), self.nodes, is_relaid)
                self._has_new = self._has_new or is_void

    def _reevaluate(self, pod: Pod, stale: VoidRows, fresh: Rows) -> None:
        """Ask again where the answer is void: where facts or states changed, and everybody about `fresh` rows."""
        is_restated = any(step.changed is not NO_ROWS for step in self._active)
        void = [
            self._void(index, stale.get(step.index, NO_ROWS))
            if step.index in stale or step.is_new or step.changed is not NO_ROWS
            else NO_ROWS
            for index, step in enumerate(self._active)
        ]
        if any(rows is None for rows in void):
            self._walk(pod, None, [joined(rows, fresh) for rows in void])
            return
        if len(fresh):
            void = self._open(pod, each_once(fresh, len(self._words)), void)
        some = [rows for rows in void if rows is not None and len(rows)]
        if not some:
            return
        rows = each_once(some[0] if len(some) == 1 else np.concatenate(some), len(self._words))
        # Where a state says that its answer has changed, it has.
        if not self._close(rows, void) and (is_restated or not self._still_pass(pod, rows, void)):
            self._walk(pod, rows, void)

    def _open(self, pod: Pod, fresh: Rows, void: Sequence[Rows | None]) -> list[Rows | None]:
        """Ask everybody about rows of which nothing is known; return what is void beside them, or with them."""
        self._walk(pod, fresh, [fresh] * len(self._active))
        known = set(fresh.tolist())
        is_seen_to = (rows is not None and len(rows) <= FEW_ROWS and known.issuperset(rows.tolist()) for rows in void)
        return [NO_ROWS if is_seen else rows for is_seen, rows in zip(is_seen_to, void, strict=True)]

    def _void(self, index: int, marks: Rows | None) -> Rows | None:
        """Return the rows about which what a filter said is void; None for all."""
        step = self._active[index]
        changed, step.changed = step.changed, NO_ROWS
        if step.is_new or marks is None:
            return None
        return changed if not len(marks) or self._still_fit(index, marks) else joined(marks, changed)

    def _still_fit(self, index: int, marks: Rows) -> bool:
        """Say whether a few rows of which only amounts have changed are no more refused by a filter than before."""
        state, resources = self._active[index].by_amounts, self._table.resources
        if state is None or len(marks) > FEW_ROWS:
            return False
        for row in set(marks.tolist()):
            # A row that a filter before refuses is not asked about here.
            refuser = self._refused_by.item(row)
            if refuser == index or (refuser > index and not state.fits(*resources.amounts(row))):
                return False
        return True

    def _close(self, rows: Rows, void: Sequence[Rows | None]) -> bool:
        """See to a few rows that were feasible, one by one, if all who are to be asked about them can say it so."""
        asked = [(index, some) for index, some in enumerate(void) if some is not None and len(some)]
        if len(rows) > FEW_ROWS or not all(self._active[index].is_by_row for index, _ in asked):
            return False
        if not self.feasible[rows].all():
            return False
        for index, some in asked:
            state, plugin = self._active[index].state, self._active[index].plugin.name
            for row in some.tolist():
                refusal = state.refusal_of(row, self.nodes) if self.feasible.item(row) else None
                if refusal is not None:
                    self._words[row] = self.vocabulary.number(Rejection(refusal.reasons, refusal.code, plugin))
                    self._refused_by[row], self.feasible[row] = index, False
                    self.feasible_count -= 1
                    self.feasible_journal.mark(row)
        return True

    def _still_pass(self, pod: Pod, rows: Rows, stale: Sequence[Rows | None]) -> bool:
        """Say whether the stale rows were feasible and stay so: what a pod more on a node usually comes to."""
        if not self.feasible[rows].all():
            return False
        nodes = self.nodes.take(rows)
        for index, step in enumerate(self._active):
            some = stale[index]
            if some is not None and len(some) and self._put(pod, step, nodes) is not None:
                return False
        return True

    def _walk(self, pod: Pod, rows: Rows | None, void: Sequence[Rows | None]) -> None:
        """Ask every plugin in order about its void rows and about those that a plugin before it no longer refuses."""
        nodes = self.nodes if rows is None else self.nodes.take(rows)
        refused_by = self._refused_by.copy() if rows is None else self._refused_by[rows]
        words = self._words.copy() if rows is None else self._words[rows]
        # Rows that everybody so far lets pass but that somebody, here or later in the order, used to refuse.
        onward: Mask = np.zeros(len(words), dtype=bool)
        is_walking = False
        for index, step in enumerate(self._active):
            own = void[index]
            if not is_walking and own is not None and not len(own):
                continue
            asked = refused_by >= index
            if own is not None and own is not rows:
                asked &= _positions(rows, own, len(self._words))
            if is_walking:
                asked |= onward
            step.is_new = False
            if not np.count_nonzero(asked):
                # No row depends on this filter's word: each is refused by somebody before it.
                continue
            nodes.asked = asked
            said = self._put(pod, step, nodes)
            onward |= asked & (refused_by == index)
            if said is not None:
                refused = asked & (said != 0)
                onward &= ~refused
                np.copyto(refused_by, index, where=refused)
                np.copyto(words, said, where=refused)
            is_walking = bool(np.count_nonzero(onward))
        if is_walking:
            np.copyto(refused_by, len(self._active), where=onward)
            np.copyto(words, 0, where=onward)
        self._keep(rows, refused_by, words)

    def _put(self, pod: Pod, step: _Step, nodes: Nodes, watch: AnswerWatch | None = None) -> Words | None:
        blame = (step.plugin.name, "Filter", pod)
        details = (step.plugin, pod, nodes, step.state, self.vocabulary)
        return (watch or self._watch).ask(step.index, blame, ask_filter, *details)

    def _keep(self, rows: Rows | None, refused_by: Refusers, words: Words) -> None:
        now = refused_by == len(self._active)
        if rows is None:
            flipped = np.flatnonzero(self.feasible != now)
            self._refused_by, self._words, self.feasible = refused_by, words, now
        else:
            flipped = rows[self.feasible[rows] != now]
            self._refused_by[rows], self._words[rows], self.feasible[rows] = refused_by, words, now
        if len(flipped):
            self.feasible_count = int(np.count_nonzero(self.feasible))
            self.feasible_journal.mark_each(flipped)


def _changed_rows(before: Any, now: Any, nodes: Nodes) -> Rows | None:
    return now.changed_rows(before, nodes) if isinstance(now, Incremental) and type(before) is type(now) else None


def _positions(rows: Rows | None, stale: Rows, count: int) -> Mask:
    """Say which of the rows at hand are stale, in a table of `count` rows."""
    mask = np.zeros(count, dtype=bool)
    mask[stale] = True
    return mask if rows is None else mask[rows]

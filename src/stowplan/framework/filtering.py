"""Which rows can take a pod: PreFilter and Filter, kept and refreshed only where something that was read has changed.

The rule of upstream's short circuit: a row carries the word of the first plugin, in order, that refuses it. Asking again
follows the same rule: a plugin is asked about a row only if no plugin before it refuses that row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stowplan.framework.asking import Answer, ask_filter, blaming, recording
from stowplan.framework.contract import Filter, Narrowed, PreFilter, Skip
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection, Verdict, Vocabulary, Words
from stowplan.model.pod import Pod
from stowplan.table.columns import Mask, Rows
from stowplan.table.journal import Journal
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table

NOT_EVALUATED = -1


class _State(Answer):
    """The kept answer of a plugin's `pre_filter`."""

    __slots__ = ("plugin", "value")

    def __init__(self, plugin: PreFilter) -> None:
        super().__init__()
        self.plugin = plugin
        self.value: Any = None


class _Step(Answer):
    """A filter with the state it is given."""

    __slots__ = ("is_new", "plugin", "state")

    def __init__(self, plugin: Filter) -> None:
        super().__init__()
        self.plugin = plugin
        self.state: Any = None
        # Its state has changed, so what it said about any row is void.
        self.is_new = True

    def pass_over(self) -> None:
        """Take note that no row depends on this filter's word: each is refused by somebody before it."""
        self.absorb({})
        self.is_new = False


class Filtering:
    """The filters' answer for the pods of one signature."""

    def __init__(self, profile: Profile, table: Table) -> None:
        self.nodes = Nodes(table)
        self.vocabulary = Vocabulary()
        self.rejection: Rejection | None = None
        self.narrowed: frozenset[str] | None = None
        self.narrowed_by: tuple[str, ...] = ()
        self.skipped: frozenset[str] = frozenset()
        #: Marked with every row that becomes or ceases to be feasible.
        self.feasible_journal = Journal()
        rows = len(table)
        self.words: Words = np.zeros(rows, dtype=np.int32)
        self.feasible: Mask = np.zeros(rows, dtype=bool)
        self.feasible_count = 0
        self._table = table
        self._profile = profile
        self._states: list[_State] = []
        self._steps = [_Step(plugin) for plugin in profile.filter]
        self._active: list[_Step] = []
        # Who refused each row, as an index into the active steps; one past the last means nobody.
        self._refused_by: NDArray[np.int16] = np.zeros(rows, dtype=np.int16)
        self._is_void = True

    def refresh(self, pod: Pod) -> None:
        """Bring the answer up to date with the table."""
        if self._refresh_states(pod):
            self._apply_states()
        if self.rejection is None:
            self._refresh_words(pod)

    def verdict(self) -> Verdict:
        """Return the answer as data that stays as it is now."""
        evaluated = None if self.narrowed is None else self.nodes.with_names(self.narrowed)
        return Verdict(
            words=self.words.copy(),
            vocabulary=self.vocabulary,
            names=self._table.names(),
            evaluated=evaluated,
            pre_filter=self.rejection,
            narrowed_to=self.narrowed,
            narrowed_by=self.narrowed_by,
            skipped=self.skipped,
        )

    def suppose(self, pod: Pod, nodes: Nodes) -> Words:
        """Return the words for hypothetical rows; nothing is kept."""
        words = np.zeros(len(nodes), dtype=np.int32)
        for step in self._active:
            with blaming(step.plugin.name, "Filter", pod):
                nodes.asked = words == 0
                said = ask_filter(step.plugin, (pod, nodes, step.state), self.vocabulary)
            if said is not None:
                np.copyto(words, said, where=words == 0)
        return words

    # PreFilter

    def _refresh_states(self, pod: Pod) -> bool:
        """Run `pre_filter` where what it read has changed; stop at a rejection. Say whether any answer changed."""
        changed = False
        for index, plugin in enumerate(self._profile.pre_filter):
            if index == len(self._states):
                self._states.append(_State(plugin))
            elif self._states[index].is_current:
                if isinstance(self._states[index].value, Rejection):
                    return changed
                continue
            changed = True
            state = self._states[index]
            with blaming(plugin.name, "PreFilter", pod), recording(self._table.reads, state):
                state.value = plugin.pre_filter(pod, self.nodes)
            if isinstance(state.value, Rejection):
                del self._states[index + 1 :]
                return True
        return changed

    def _apply_states(self) -> None:
        values = {state.plugin.name: state.value for state in self._states}
        self.skipped = frozenset(name for name, value in values.items() if isinstance(value, Skip))
        narrowings = {name: value.names for name, value in values.items() if isinstance(value, Narrowed)}
        self.rejection = next(
            (Rejection(v.reasons, v.code, name) for name, v in values.items() if isinstance(v, Rejection)), None
        ) or _contradiction(narrowings)
        narrowed = frozenset.intersection(*narrowings.values()) if narrowings else None
        active = [step for step in self._steps if step.plugin.name not in self.skipped]
        if narrowed != self.narrowed or active != self._active or self.rejection is not None:
            self._is_void = True
        self.narrowed, self.narrowed_by, self._active = narrowed, tuple(narrowings), active
        for step in active:
            value = values.get(step.plugin.name)
            state = value.state if isinstance(value, Narrowed) else value
            step.is_new = step.is_new or state is not step.state
            step.state = state

    # Filter

    def _refresh_words(self, pod: Pod) -> None:
        if self._is_void:
            self._refused_by.fill(len(self._active))
            if self.narrowed is not None:
                self._refused_by[~self.nodes.with_names(self.narrowed)] = NOT_EVALUATED
            self.words.fill(0)
            self._walk(pod, None, [None] * len(self._active))
            self._is_void = False
            return
        stale = [None if step.is_new else step.stale_rows() for step in self._active]
        if any(rows is None for rows in stale):
            self._walk(pod, None, stale)
        elif any(stale):
            self._walk(pod, _union(stale), stale)

    def _walk(self, pod: Pod, rows: Rows | None, stale: list[list[int] | None]) -> None:
        """Ask every plugin in order about its stale rows and about those that a plugin before it no longer refuses."""
        nodes = self.nodes if rows is None else self.nodes.take(rows)
        refused_by = self._refused_by.copy() if rows is None else self._refused_by[rows]
        words = self.words.copy() if rows is None else self.words[rows]
        nobody = len(self._active)
        # Rows that everybody so far lets pass but that somebody, maybe later in the order, used to refuse.
        onward: Mask = refused_by == nobody if self._is_void else np.zeros(len(refused_by), dtype=bool)
        walking = self._is_void
        for index, step in enumerate(self._active):
            if not walking and not stale[index] and stale[index] is not None:
                continue
            asked = onward | (_positions(rows, stale[index], len(words)) & (refused_by >= index))
            said = self._ask(pod, step, nodes, asked)
            if said is None:
                onward = onward | (asked & (refused_by == index))
            else:
                refused = asked & (said != 0)
                onward = (onward | (asked & (refused_by == index))) & ~refused
                refused_by[refused] = index
                words[refused] = said[refused]
            walking = self._is_void or bool(onward.any())
        refused_by[onward] = nobody
        words[onward] = 0
        self._keep(rows, refused_by, words)

    def _ask(self, pod: Pod, step: _Step, nodes: Nodes, asked: Mask) -> Words | None:
        if not asked.any():
            step.pass_over()
            return None
        nodes.asked = asked
        with blaming(step.plugin.name, "Filter", pod), recording(self._table.reads, step):
            said = ask_filter(step.plugin, (pod, nodes, step.state), self.vocabulary)
        step.is_new = False
        return said

    def _keep(self, rows: Rows | None, refused_by: NDArray[np.int16], words: Words) -> None:
        nobody = len(self._active)
        now = refused_by == nobody
        if rows is None:
            flipped = np.flatnonzero(self.feasible != now)
            self._refused_by, self.words, self.feasible = refused_by, words, now
        else:
            flipped = rows[self.feasible[rows] != now]
            self._refused_by[rows], self.words[rows], self.feasible[rows] = refused_by, words, now
        if flipped.size:
            self.feasible_count = int(np.count_nonzero(self.feasible))
            for row in flipped.tolist() if flipped.size < len(self.words) // 4 else ():
                self.feasible_journal.mark(row)
            if flipped.size >= len(self.words) // 4:
                self.feasible_journal.mark_all()


def _contradiction(narrowings: dict[str, frozenset[str]]) -> Rejection | None:
    """Refuse a pod when the node names that plugins allow have none in common."""
    if not narrowings or frozenset.intersection(*narrowings.values()):
        return None
    plugins = sorted(narrowings)
    reason = f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}] simultaneously"
    if len(plugins) == 1:
        reason = f"node(s) didn't satisfy plugin {plugins[0]}"
    return Rejection((reason,), Code.UNRESOLVABLE)


def _union(stale: list[list[int] | None]) -> Rows:
    rows = {row for some in stale if some for row in some}
    return np.fromiter(rows, dtype=np.intp, count=len(rows))


def _positions(rows: Rows | None, stale: list[int] | None, count: int) -> Mask:
    """Say which of the rows at hand are stale."""
    if stale is None:
        return np.ones(count, dtype=bool)
    if rows is not None:
        return np.isin(rows, stale) if len(rows) > 1 else np.full(1, bool(stale))
    mask = np.zeros(count, dtype=bool)
    mask[stale] = True
    return mask

"""Every filter's opinion of every row, without upstream's short circuit; and the nodes that almost fit.

`explain` puts the opinions in order. `nearest` groups rows that are refused for few reasons by what would help, each
claim checked by the filters. What a row needs for one plugin is for that plugin to say (`remedies` in the contract); a
plugin that says nothing gets the remedy that names it and its reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stowplan.engine.scheduling_cycle import ChoiceInputs, find_feasible
from stowplan.framework.contract import Filter, Narrowed, Skip
from stowplan.framework.kept.asking import AnswerWatch, ask_filter
from stowplan.framework.plugin_faults import FAULTS, PluginError
from stowplan.framework.profile import Profile
from stowplan.framework.remedies import Need, RejectedRows, Remedy
from stowplan.framework.verdict import Rejection, Vocabulary, Words
from stowplan.model.pod import Pod
from stowplan.table.columns import Mask, Rows
from stowplan.table.journal import Reads
from stowplan.table.nodes import Nodes
from stowplan.table.shape import PodShape


@dataclass(frozen=True, slots=True)
class Opinions:
    """Who refuses which row, and who refuses the pod as a whole."""

    plugins: tuple[Filter, ...]
    words: NDArray[np.int32]  # (plugins, nodes)
    vocabulary: Vocabulary
    #: What PreFilter says of the pod as a whole, in the order of the plugins.
    refusals: tuple[Rejection, ...] = ()
    #: Plugins that failed when they were asked about rows that another plugin refuses already.
    faults: tuple[str, ...] = ()

    def about(self, row: int) -> tuple[Rejection, ...]:
        """Return every rejection of a row, in the order of the plugins."""
        return tuple(self.vocabulary[number] for number in self.words[:, row].tolist() if number)


@dataclass(frozen=True, slots=True)
class Panel:
    """The filters of a profile, ready to be asked about a pod or a variant of it."""

    profile: Profile
    reads: Reads
    #: All rows, which PreFilter looks at.
    whole: Nodes
    #: The rows in question, first as they would be with the pods nominated to them, if there are any, then as they are.
    views: tuple[Nodes, ...]

    def hear(self, pod: Pod) -> Opinions:
        """Ask every filter about every row."""
        vocabulary = Vocabulary()
        said: list[tuple[Filter, Words]] = []
        refusals: list[Rejection] = []
        faults: list[str] = []
        for plugin in self.profile.filter:
            try:
                answer = self._ask(plugin, pod, vocabulary)
            except PluginError as error:
                faults.append(str(error))
                continue
            if isinstance(answer, Rejection):
                refusals.append(answer)
            else:
                said.append((plugin, answer))
        words = np.stack([answer for _, answer in said]) if said else np.zeros((0, self._rows), dtype=np.int32)
        refusals += self._refusals_without_filter(pod)
        return Opinions(tuple(plugin for plugin, _ in said), words, vocabulary, tuple(refusals), tuple(faults))

    def refused(self, plugin: Filter, pod: Pod) -> Mask:
        """Say which rows a plugin refuses to `pod`."""
        answer = self._ask(plugin, pod, Vocabulary())
        return np.ones(self._rows, dtype=bool) if isinstance(answer, Rejection) else answer != 0

    @property
    def _rows(self) -> int:
        return len(self.views[0])

    def _ask(self, plugin: Filter, pod: Pod, vocabulary: Vocabulary) -> Words | Rejection:
        state = self._state(plugin.name, pod)
        if isinstance(state, Rejection):
            return state
        words = np.zeros(self._rows, dtype=np.int32)
        for nodes in () if isinstance(state, Skip) else self.views:
            nodes.asked = words == 0
            blame = (plugin.name, "Filter", pod)
            said = AnswerWatch(self.reads).ask(0, blame, ask_filter, plugin, pod, nodes, state, vocabulary)
            if said is not None:
                np.copyto(words, said, where=words == 0)
        return words

    def _state(self, name: str, pod: Pod) -> Any:
        """Return what the plugin's `filter` is to be given: None without a `pre_filter`."""
        plugin = next((plugin for plugin in self.profile.pre_filter if plugin.name == name), None)
        if plugin is None:
            return None
        answer = AnswerWatch(self.reads).ask(0, (name, "PreFilter", pod), plugin.pre_filter, pod, self.whole)
        if isinstance(answer, Rejection):
            return Rejection(answer.reasons, answer.code, name)
        return answer.state if isinstance(answer, Narrowed) else answer

    def _refusals_without_filter(self, pod: Pod) -> list[Rejection]:
        """Ask the plugins that take part in PreFilter alone."""
        filters = {plugin.name for plugin in self.profile.filter}
        states = (self._state(plugin.name, pod) for plugin in self.profile.pre_filter if plugin.name not in filters)
        return [state for state in states if isinstance(state, Rejection)]


def panel(field: ChoiceInputs, profile: Profile, pod: Pod, rows: Rows | None = None) -> Panel:
    """Return the panel that judges `pod` on rows of the field's table; on all, if none are named."""
    table = field.table
    whole = Nodes(table)
    as_is = whole if rows is None else whole.take(rows)
    nominated = {
        table.row_of[name]: [as_is.shape_of(other) for other in pods]
        for name, pods in field.nominations.ahead_of(pod).items()
        if name in table.row_of
    }
    if not nominated:
        return Panel(profile, table.reads, whole, (as_is,))
    added = [nominated.get(row, []) for row in as_is.all_rows.tolist()]
    return Panel(profile, table.reads, whole, (as_is.suppose(as_is.all_rows, added, [[] for _ in added]), as_is))


MOST_REMEDIES = 3
MOST_MISSES = 8


@dataclass(frozen=True, slots=True)
class NearMiss:
    """Nodes that need the same remedies, the nearest first."""

    remedies: tuple[Remedy, ...]
    nodes: tuple[str, ...]
    #: Whether the filters accept all these nodes for a pod changed by the remedies; False where no change of it helps.
    is_checked: bool

    def __str__(self) -> str:
        count = f"{len(self.nodes)} node{'' if len(self.nodes) == 1 else 's'}"
        return f"{count} would fit {' and '.join(map(str, self.remedies))}"


@dataclass(frozen=True, slots=True)
class Satisfy(Remedy):
    """Satisfy a plugin of which nobody knows what would change its mind."""

    plugin: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"if {self.plugin} did not object: {', '.join(self.reasons)}"


@dataclass(frozen=True, slots=True)
class _Group:
    needs: tuple[Need, ...]
    rows: Rows

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """The remedies, with the amounts that these rows need filled in."""
        return tuple(dict.fromkeys(_filled_in(need, self.rows) for need in self.needs))


def nearest(field: ChoiceInputs, panel: Panel, pod: Pod, opinions: Opinions) -> tuple[NearMiss, ...]:
    """Return the nearest misses: few remedies first, then many nodes."""
    if opinions.refusals:
        return ()
    found = _groups(_all_needs(panel, pod, opinions), len(field.table))
    few = [group for group in found if len(group.remedies) <= MOST_REMEDIES]
    few.sort(key=lambda group: (_relaxed(group.remedies, pod) is None, len(group.remedies), -len(group.rows)))
    checked = (_miss(field, panel.profile, pod, group) for group in few[:MOST_MISSES])
    return tuple(miss for miss in checked if miss is not None)


def _all_needs(panel: Panel, pod: Pod, opinions: Opinions) -> list[Need]:
    """Return what all refused rows need, the needs of one plugin after those of another."""
    found: list[Need] = []
    for plugin, words in zip(opinions.plugins, opinions.words, strict=True):
        refused = words != 0
        if not refused.any():
            continue
        own = _needs(plugin, RejectedRows(pod, panel.views[0], refused, partial(panel.refused, plugin)))
        found += own
        unmet = refused & ~np.logical_or.reduce([need.rows for need in own]) if own else refused
        for number in np.unique(words[unmet]).tolist():
            rejection = opinions.vocabulary[number]
            found.append(Need(Satisfy(plugin.name, rejection.reasons), unmet & (words == number)))
    return found


def _needs(plugin: Filter, rejected: RejectedRows) -> list[Need]:
    """Return what the rows need for a plugin to accept them, as far as it says so; one that fails says nothing."""
    try:
        return [need for need in plugin.remedies(rejected) if need.rows.any()]
    except FAULTS:
        return []


def _groups(found: list[Need], rows: int) -> list[_Group]:
    """Put rows together that have the same needs."""
    needs_of: list[list[int]] = [[] for _ in range(rows)]
    for index, need in enumerate(found):
        for row in np.flatnonzero(need.rows).tolist():
            needs_of[row].append(index)
    rows_of: dict[tuple[int, ...], list[int]] = {}
    for row, indices in enumerate(needs_of):
        if indices:
            rows_of.setdefault(tuple(indices), []).append(row)
    return [
        _ordered(tuple(found[index] for index in indices), np.array(some, dtype=np.intp))
        for indices, some in rows_of.items()
    ]


def _ordered(group: tuple[Need, ...], rows: Rows) -> _Group:
    """Put the rows first that lack the smallest part of what is requested."""
    lack = np.zeros(len(rows))
    for need in group:
        if need.amounts is not None:
            lack += need.amounts[rows] / need.requested
    return _Group(group, rows[np.argsort(lack, kind="stable")])


def _filled_in(need: Need, rows: Rows) -> Remedy:
    if need.amounts is None:
        return need.remedy
    amounts = need.amounts[rows]
    return need.remedy.with_amounts(int(amounts.min()), int(amounts.max()))


def _relaxed(remedies: Iterable[Remedy], pod: Pod) -> Pod | None:
    """Return the pod with what it asks for changed by the remedies; None if one is beyond the pod."""
    for remedy in remedies:
        changed = remedy.relax(pod)
        if changed is None:
            return None
        pod = changed
    return pod


def _miss(field: ChoiceInputs, profile: Profile, pod: Pod, group: _Group) -> NearMiss | None:
    """Let the filters check the claim; None if they accept none of the rows after all."""
    relaxed = _relaxed(group.remedies, pod)
    rows = group.rows
    if relaxed is not None:
        rows = rows[_feasible(field, profile, relaxed)[rows]]
    if not rows.size:
        return None
    names = field.table.names()
    return NearMiss(_Group(group.needs, rows).remedies, tuple(names[row] for row in rows.tolist()), relaxed is not None)


def _feasible(field: ChoiceInputs, profile: Profile, pod: Pod) -> Mask:
    try:
        return find_feasible(field, profile, pod, PodShape(b"", pod)).feasible
    except PluginError:
        return np.zeros(len(field.table), dtype=bool)

"""The nodes that almost fit: refused for few reasons, grouped by what would help, each claim checked by the filters.

What a row needs for one plugin is for that plugin to say (`remedies` in the contract); here the needs of a row are put
together. A plugin that says nothing gets the remedy that names it and its reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from stowplan.engine.scheduling_cycle import Field, find_feasible
from stowplan.framework.plugin_faults import FAULTS, PluginError
from stowplan.framework.profile import Profile
from stowplan.framework.remedies import Need, RejectedRows, Remedy
from stowplan.model.pod import Pod
from stowplan.observe.opinions import Opinions, Panel
from stowplan.table.columns import Mask, Rows
from stowplan.table.shape import PodShape

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


def nearest(field: Field, panel: Panel, pod: Pod, opinions: Opinions) -> tuple[NearMiss, ...]:
    """Return the nearest misses: few remedies first, then many nodes."""
    if opinions.refusals:
        return ()
    found = _groups(_all_needs(panel, pod, opinions), len(field.table))
    few = [group for group in found if len(group.remedies) <= MOST_REMEDIES]
    few.sort(key=lambda group: (_is_beyond_the_pod(group.remedies, pod), len(group.remedies), -len(group.rows)))
    checked = (_miss(field, panel.profile, pod, group) for group in few[:MOST_MISSES])
    return tuple(miss for miss in checked if miss is not None)


def _all_needs(panel: Panel, pod: Pod, opinions: Opinions) -> list[Need]:
    """Return what all refused rows need, the needs of one plugin after those of another."""
    found: list[Need] = []
    for plugin, words in zip(opinions.plugins, opinions.words, strict=True):
        refused = words != 0
        if not refused.any():
            continue
        own = _needs(panel, plugin, RejectedRows(pod, panel.views[0], refused, partial(panel.refused, plugin)))
        found += own
        unmet = refused & ~np.logical_or.reduce([need.rows for need in own]) if own else refused
        for number in np.unique(words[unmet]).tolist():
            rejection = opinions.vocabulary[number]
            found.append(Need(Satisfy(plugin, rejection.reasons), unmet & (words == number)))
    return found


def _needs(panel: Panel, plugin: str, rejected: RejectedRows) -> list[Need]:
    """Return what the rows need for a plugin to accept them, as far as it says so; one that fails says nothing."""
    try:
        return [need for need in panel.filter(plugin).remedies(rejected) if need.rows.any()]
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


def _is_beyond_the_pod(remedies: Iterable[Remedy], pod: Pod) -> bool:
    return _relaxed(remedies, pod) is None


def _relaxed(remedies: Iterable[Remedy], pod: Pod) -> Pod | None:
    for remedy in remedies:
        changed = remedy.relax(pod)
        if changed is None:
            return None
        pod = changed
    return pod


def _miss(field: Field, profile: Profile, pod: Pod, group: _Group) -> NearMiss | None:
    """Let the filters check the claim; None if they accept none of the rows after all."""
    relaxed = _relaxed(group.remedies, pod)
    rows = group.rows
    if relaxed is not None:
        rows = rows[_feasible(field, profile, relaxed)[rows]]
    if not rows.size:
        return None
    names = field.table.names()
    return NearMiss(_Group(group.needs, rows).remedies, tuple(names[row] for row in rows.tolist()), relaxed is not None)


def _feasible(field: Field, profile: Profile, pod: Pod) -> Mask:
    try:
        return find_feasible(field, profile, pod, PodShape(b"", pod)).feasible
    except PluginError:
        return np.zeros(len(field.table), dtype=bool)

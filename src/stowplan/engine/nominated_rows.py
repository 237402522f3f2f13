"""Rows that must leave room for pods nominated to them, and the scores of the rows that are left.

A nominated pod closes a row to all that are less important until it gets there. With preemption under way that is the
usual state, so neither its shape nor the scores of the other rows are found out anew for every pod.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from stowplan.framework.kept.memo import Kept
from stowplan.framework.kept.ranking import Ranking
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Words
from stowplan.model.pod import Pod
from stowplan.table.columns import Mask
from stowplan.table.journal import Journal
from stowplan.table.nodes import Nodes
from stowplan.table.shape import PodShape
from stowplan.table.table import Table

#: So many kinds of pods keep such scores; each takes as much memory as those that it keeps for all feasible rows.
_MOST_KEPT: Final = 4


class KeptRankings:
    """The scores of pods of several kinds on rows that are not all that the filters leave."""

    def __init__(self) -> None:
        self._layout = -1
        # By identity, and with that which it is the identity of.
        self._rankings: dict[int, tuple[Kept, Ranking, Journal]] = {}

    def rank(self, profile: Profile, table: Table, pod: Pod, kept: Kept, feasible: Mask) -> Ranking:
        """Score the feasible rows; only what has changed since a pod of the same kind is asked for again."""
        if self._layout != table.layout.position:
            self._layout = table.layout.position
            self._rankings.clear()
        known = self._rankings.pop(id(kept), None)
        if known is None:
            journal = Journal()
            ranking = Ranking(profile, table, journal)
            ranking.nodes.requests_journal = kept.filtering.nodes.requests_journal
            if len(self._rankings) >= _MOST_KEPT:
                self._rankings.pop(next(iter(self._rankings)))
        else:
            _, ranking, journal = known
            if ranking.nodes.feasible_rows is None or (ranking.nodes.feasible_rows != feasible).any():
                journal.mark_all()
        ranking.refresh(pod, feasible)
        self._rankings[id(kept)] = (kept, ranking, journal)
        return ranking


class NominatedRows:
    """What nominated pods take of their nodes, as other pods see it."""

    def __init__(self) -> None:
        # By identity; nominated pods are asked about again and again, and wait for long.
        self._shapes: dict[int, tuple[Pod, PodShape]] = {}

    def words(self, table: Table, kept: Kept, pod: Pod, ahead: Mapping[str, Sequence[Pod]]) -> Words | None:
        """Return the words of rows that must leave room for the pods ahead, 0 elsewhere; None if there are none."""
        nodes = Nodes(table)
        before, self._shapes = self._shapes, {}
        nominated = {
            table.row_of[name]: [self._shape_of(other, nodes, before) for other in pods]
            for name, pods in ahead.items()
            if name in table.row_of
        }
        if not nominated:
            return None
        rows = np.fromiter(nominated, dtype=np.intp, count=len(nominated))
        supposed = nodes.suppose(rows, list(nominated.values()), [[] for _ in nominated])
        words = np.zeros(len(table), dtype=np.int32)
        words[rows] = kept.filtering.suppose(pod, supposed)
        return words

    def _shape_of(self, pod: Pod, nodes: Nodes, before: Mapping[int, tuple[Pod, PodShape]]) -> PodShape:
        found = before.get(id(pod))
        known = self._shapes[id(pod)] = found if found is not None else (pod, nodes.shape_of(pod))
        return known[1]

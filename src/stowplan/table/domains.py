"""What pods add up to in each topology domain: all nodes that share the value of a label.

Sums are taken over the whole cluster once; a row then looks up the sum of its own domain. A hypothetical row is a world
of its own: what is supposed of it changes the sum of its domain for that row alone.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stowplan.table.columns import NO_ROWS, Rows, Scores, Summed
from stowplan.table.counts import MatchedPods
from stowplan.table.nodes import Nodes
from stowplan.table.terms import CarriedTerm

#: Pods that are counted: those that a rule matches, or those that carry a term.
Counted = MatchedPods | CarriedTerm
#: A topology key, the weight of each pod there, and which pods.
Weighted = tuple[str, int, Counted]


class Domains:
    """The weighted sums of some pods over the domains of one topology key."""

    __slots__ = ("_trail", "key", "parts", "sums")

    def __init__(self, nodes: Nodes, key: str, parts: list[tuple[int, Counted]]) -> None:
        self.key = key
        self.parts = parts
        #: By code of the label's value; the last entry, which code -1 finds, is for nodes without the label.
        self.sums, self._trail = _sums(nodes, key, parts)

    def at_rows(self, nodes: Nodes) -> Scores:
        """Return the sum of each row's domain; 0 for a row without the label."""
        codes = nodes.label(self.key).codes
        sums: Scores = self.sums.take(codes)
        for weight, counted in self.parts:
            change = change_of(nodes, counted)
            if change is None:
                break
            sums += weight * change * (codes >= 0)
        return sums

    def where_others_are(self, before: Domains, nodes: Nodes) -> Rows:
        """Return the rows in whose domain there are pods where there were none before, or the other way round."""
        if self.sums is before.sums:
            return NO_ROWS
        now, then = self.sums, before.sums
        others = [code for code in self._changed(before) if (now.item(code) > 0) != (then.item(code) > 0)]
        return nodes.rows_with(self.key, others) if others else NO_ROWS

    def _changed(self, before: Domains) -> Iterable[int]:
        """Return the codes whose sum may be another than before: the sums say so themselves, if there is one kind."""
        now, then = self._trail, before._trail
        if now is not None and then is not None and now.journal is then.journal:
            marks = now.journal.since(min(now.position, then.position))
            if marks is not None:
                return set(marks)
        changed: list[int] = np.flatnonzero(self.sums[:-1] != before.sums[:-1]).tolist()
        return changed

    def has_pods(self, nodes: Nodes) -> bool:
        """Say whether any of the pods is on a node with the label, even if the weights add up to nothing."""
        if self.sums.any():
            return True
        has_label = nodes.label(self.key).codes >= 0
        return any(_count(nodes, counted)[has_label].any() for _, counted in self.parts)


def by_key(nodes: Nodes, weighted: Iterable[Weighted]) -> tuple[Domains, ...]:
    """Add up the pods by topology key: one `Domains` for each."""
    parts: dict[str, list[tuple[int, Counted]]] = {}
    for key, weight, counted in weighted:
        parts.setdefault(key, []).append((weight, counted))
    return tuple(Domains(nodes, key, of_key) for key, of_key in parts.items())


def change_of(nodes: Nodes, counted: Counted) -> Scores | None:
    """Return by how much each hypothetical row differs from the real one; None when nothing is supposed."""
    return nodes.change_of_carriers(counted) if isinstance(counted, CarriedTerm) else nodes.change_of(counted)


def _sums(nodes: Nodes, key: str, parts: list[tuple[int, Counted]]) -> tuple[Scores, Summed | None]:
    """Return the weighted sums, and the counts themselves if they are that."""
    # The journal of terms tells when one comes into use, so the column of one that is not need not be read.
    used = [part for part in parts if not isinstance(part[1], CarriedTerm) or part[1].is_used]
    if not used:
        return np.zeros(len(nodes.label(key).meanings) + 1, dtype=np.int64), None
    (weight, counted), *others = used
    summed = nodes.sums(key, counted)
    if weight == 1 and not others:
        return summed.by_code, summed
    sums = summed.by_code * weight
    for weight, counted in others:
        sums = sums + nodes.sums(key, counted).by_code * weight
    return sums, None


def _count(nodes: Nodes, counted: Counted) -> Scores:
    return nodes.carriers(counted) if isinstance(counted, CarriedTerm) else nodes.count(counted)

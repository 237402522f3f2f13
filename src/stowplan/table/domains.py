"""What pods add up to in each topology domain: all nodes that share the value of a label.

Sums are taken over the whole cluster once; a row then looks up the sum of its own domain. A hypothetical row is a world
of its own: what is supposed of it changes the sum of its domain for that row alone.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stowplan.table.columns import NO_ROWS, Rows, Scores
from stowplan.table.matched_pods import MatchedPods
from stowplan.table.nodes import Nodes
from stowplan.table.terms import CarriedTerm

#: Pods that are counted: those that a rule matches, or those that carry a term.
Counted = MatchedPods | CarriedTerm
#: A topology key, the weight of each pod there, and which pods.
Weighted = tuple[str, int, Counted]


class Domains:
    """The weighted sums of some pods over the domains of one topology key."""

    __slots__ = ("key", "parts", "sums")

    def __init__(self, nodes: Nodes, key: str, parts: list[tuple[int, Counted]]) -> None:
        self.key = key
        self.parts = parts
        # By code of the label's value; the last entry, which code -1 finds, is for nodes without the label.
        self.sums = _sums(nodes, key, parts)

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
        # Few of many domains have changed, and fewer from some pods to none: look at those alone.
        changed = np.flatnonzero(self.sums != before.sums)
        changed = changed[(self.sums[changed] > 0) != (before.sums[changed] > 0)]
        codes = nodes.label(self.key).codes
        if len(changed) > 1:
            is_other = np.zeros(len(self.sums), dtype=bool)
            is_other[changed] = True
            return np.flatnonzero(is_other.take(codes))
        return np.flatnonzero(codes == changed[0]) if len(changed) else NO_ROWS

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


def _sums(nodes: Nodes, key: str, parts: list[tuple[int, Counted]]) -> Scores:
    # The journal of terms tells when one comes into use, so the column of one that is not need not be read.
    used = [part for part in parts if not isinstance(part[1], CarriedTerm) or part[1].is_used]
    if not used:
        return np.zeros(len(nodes.label(key).meanings) + 1, dtype=np.int64)
    (weight, counted), *others = used
    sums = nodes.sums(key, counted) if weight == 1 else nodes.sums(key, counted) * weight
    for weight, counted in others:
        sums = sums + nodes.sums(key, counted) * weight
    return sums


def _count(nodes: Nodes, counted: Counted) -> Scores:
    return nodes.carriers(counted) if isinstance(counted, CarriedTerm) else nodes.count(counted)

"""What pods add up to in each topology domain: all nodes that share the value of a label.

Sums are taken over the whole cluster once; a row then looks up the sum of its own domain. A hypothetical row is a world
of its own: what is supposed of it changes the sum of its domain for that row alone.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stowplan.table.columns import Scores
from stowplan.table.matched_pods import MatchedPods
from stowplan.table.nodes import Nodes
from stowplan.table.terms import CarriedTerm

# Rows that count are picked out first if there are so many times as many in all.
SPARSE = 4

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
    codes, meanings, _ = nodes.label(key)
    amounts: Scores | None = None
    for weight, counted in parts:
        # The journal of terms tells when one comes into use, so the column of one that is not need not be read.
        if isinstance(counted, CarriedTerm) and not counted.is_used:
            continue
        count = _count(nodes, counted)
        amount = count if weight == 1 else count * weight
        amounts = amount if amounts is None else amounts + amount
    sums = np.zeros(len(meanings) + 1, dtype=np.int64)
    if amounts is not None:
        counting = np.flatnonzero(amounts)
        if len(counting) * SPARSE < len(amounts):
            codes, amounts = codes[counting], amounts[counting]
        # Sums of counts and weights are far below 2^53, so floats hold them exactly.
        sums[:-1] = np.bincount(codes + 1, weights=amounts, minlength=len(sums))[1:]
    return sums


def _count(nodes: Nodes, counted: Counted) -> Scores:
    return nodes.carriers(counted) if isinstance(counted, CarriedTerm) else nodes.count(counted)

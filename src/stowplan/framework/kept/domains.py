"""The scores of a plugin that follow from a label, domain by domain: raw, normalised and weighted.

There may be a handful of domains or as many as nodes, so a change is followed where the scores tell which of them
changed (`Summed.changed_since`). With every pod the highest may be another, and all the others be normalised by it; but
few different scores are among them, and often none of these comes to another one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

import numpy as np

from stowplan.table.columns import NO_ROWS, Mask, Rows, Scores
from stowplan.table.domain_sums import Summed

LOWEST, HIGHEST = -(2**63), 2**63 - 1
#: So many domains, or different scores, are faster looked at one by one than all domains at once.
FEW: Final = 64

NO_CHANGE: Final[Scores] = np.empty(0, dtype=np.int64)
#: Tells how many feasible rows have each code.
Held = Callable[[], Scores]
#: Brings raw scores to weighted ones, given the lowest and highest of a feasible row.
Weigh = Callable[[Scores, tuple[int, int]], Scores]
#: The code of a domain, and its raw score before and now; None while it has no feasible row.
Move = tuple[int, int | None, int | None]


class DomainScores:
    """The scores by code of one label, at the end those of rows without it.

    Domains without feasible rows keep what they had, until they have one.
    """

    __slots__ = ("_extent", "_has_flipped", "_is_held", "_summed", "_values", "_weights", "key", "population", "weighted")

    def __init__(self, key: str, population: Scores, summed: Summed, held: Held, weigh: Weigh) -> None:
        self.key = key
        #: How many rows have each code; another array when a row gets another code.
        self.population = population
        self.weighted: Scores = np.zeros(len(population), dtype=np.int64)
        self._summed = summed
        self._is_held: Mask = held() > 0
        self._has_flipped = False
        # How many domains with feasible rows have each raw score, and what each comes to; empty while not known.
        self._values: dict[int, int] = {}
        self._weights: dict[int, int] = {}
        self._extent = self._search()
        self._weigh_all(weigh)

    @property
    def raw(self) -> Scores:
        return self._summed.by_code

    def forget_extent(self) -> None:
        """Have the lowest and highest found anew: other rows are feasible now."""
        self._has_flipped = True

    def follow(self, summed: Summed, held: Held, weigh: Weigh) -> tuple[Rows, Scores]:
        """Take over raw scores; return the codes whose weighted score changed, and by how much."""
        changed = summed.changed_since(self._summed)
        self._summed = summed
        moves = None if changed is None else self._moves(changed, held)
        if moves is None:
            self._is_held, self._has_flipped = held() > 0, False
            self._values, self._weights = {}, {}
            self._extent = self._search()
            return self._weigh_all(weigh)
        extent = self._extent
        self._recount(moves)
        if self._extent != extent and not self._keeps_weights(weigh):
            return self._weigh_all(weigh)
        return self._weigh_some([code for code, _, now in moves if now is not None], weigh)

    def _moves(self, changed: dict[int, int], held: Held) -> list[Move] | None:
        """Return what is new about each domain; None if that is said of too many."""
        was_held: Mask = self._is_held
        codes: Collection[int] = changed
        if self._has_flipped:
            self._is_held, self._has_flipped = held() > 0, False
            codes = {*changed, *(was_held != self._is_held).nonzero()[0].tolist()}
        if len(codes) > FEW:
            return None
        moves: list[Move] = []
        for code in codes:
            now = self._summed.by_code.item(code)
            before = changed.get(code, now) if was_held.item(code) else None
            moves.append((code, before, now if self._is_held.item(code) else None))
        return moves

    def _search(self) -> tuple[int, int]:
        """Find the lowest and highest raw score of a domain with feasible rows."""
        scores = self._summed.by_code.compress(self._is_held)
        return int(scores.min(initial=HIGHEST)), int(scores.max(initial=LOWEST))

    def _recount(self, moves: Collection[Move]) -> None:
        """Follow some domains in how many have each raw score, and so in which are the lowest and highest."""
        values, (low, high) = self._values, self._extent
        if not values:
            found, counts = np.unique(self._summed.by_code.compress(self._is_held), return_counts=True)
            self._values = dict(zip(found.tolist(), counts.tolist(), strict=True))
            self._extent = self._search()
            return
        for _, before, now in moves:
            if now is not None:
                values[now] = values.get(now, 0) + 1
                low, high = min(low, now), max(high, now)
            if before is not None:
                values[before] -= 1
                if not values[before]:
                    del values[before]
        low = low if low in values else min(values, default=HIGHEST)
        self._extent = (low, high if high in values else max(values, default=LOWEST))

    def _keeps_weights(self, weigh: Weigh) -> bool:
        """Weigh each raw score by the new extent; say whether all that were there before still come to the same."""
        values, before = list(self._values), self._weights
        self._weights = {}
        if len(values) > FEW:
            return False
        self._weights = dict(zip(values, weigh(np.array(values), self._extent).tolist(), strict=True))
        return bool(before) and all(before.get(value, now) == now for value, now in self._weights.items())

    def _weigh_all(self, weigh: Weigh) -> tuple[Rows, Scores]:
        change = weigh(self._summed.by_code, self._extent) - self.weighted
        codes = (change * self._is_held).nonzero()[0]
        self.weighted[codes] += change[codes]
        return codes, change[codes]

    def _weigh_some(self, codes: list[int], weigh: Weigh) -> tuple[Rows, Scores]:
        values = [self._summed.by_code.item(code) for code in codes]
        weights = self._weights
        if not weights.keys() >= set(values):
            weights = dict(zip(values, weigh(np.array(values), self._extent).tolist(), strict=True))
            if self._weights:
                self._weights.update(weights)
        changes = {}
        for code, value in zip(codes, values, strict=True):
            change = weights[value] - self.weighted.item(code)
            if change:
                changes[code] = change
                self.weighted[code] = weights[value]
        if not changes:
            return NO_ROWS, NO_CHANGE
        return np.array(list(changes)), np.array(list(changes.values()))

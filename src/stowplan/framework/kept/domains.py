"""The scores of a plugin that follow from a label, domain by domain: raw, normalised and weighted.

There may be a handful of domains or as many as nodes, so a change is followed where the scores tell which of them
changed (`Summed.changed_since`), and the lowest and highest are searched anew only when the last that had them is gone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stowplan.table.columns import Rows, Scores
from stowplan.table.domain_sums import Summed

LOWEST, HIGHEST = -(2**63), 2**63 - 1

#: Brings raw scores to weighted ones, given the lowest and highest of a feasible row.
Weigh = Callable[[Scores, tuple[int, int]], Scores]


class DomainScores:
    """The scores by code of one label, at the end those of rows without it."""

    __slots__ = ("_at_extent", "_extent", "_summed", "key", "population", "weighted")

    def __init__(self, key: str, population: Scores, summed: Summed, held: Scores, weigh: Weigh) -> None:
        self.key = key
        #: How many rows have each code; another array when a row gets another code.
        self.population = population
        self._summed = summed
        self._search(held)
        self.weighted = weigh(summed.by_code, self._extent)

    @property
    def raw(self) -> Scores:
        return self._summed.by_code

    def forget_extent(self) -> None:
        """Have the lowest and highest searched anew: other rows are feasible now."""
        self._at_extent = (0, 0)

    def follow(self, summed: Summed, held: Scores, weigh: Weigh) -> tuple[Rows, Scores]:
        """Take over raw scores; return the codes whose weighted score changed, and by how much."""
        changed = summed.changed_since(self._summed)
        extent, self._summed = self._extent, summed
        if changed is None or not self._keeps_extent(changed, held):
            self._search(held)
        if changed is None or self._extent != extent:
            weighted = weigh(summed.by_code, self._extent)
            change = weighted - self.weighted
            codes = change.nonzero()[0]
            self.weighted = weighted
            return codes, change[codes]
        codes = np.fromiter(changed, dtype=np.intp, count=len(changed))
        weighted = weigh(summed.by_code[codes], extent)
        change = weighted - self.weighted[codes]
        self.weighted[codes] = weighted
        return codes, change

    def _search(self, held: Scores) -> None:
        """Find the lowest and highest score of a domain with feasible rows, and in how many of them each is."""
        scores = self._summed.by_code.compress(held > 0)
        low, high = int(scores.min(initial=HIGHEST)), int(scores.max(initial=LOWEST))
        self._extent = (low, high)
        self._at_extent = (int(np.count_nonzero(scores == low)), int(np.count_nonzero(scores == high)))

    def _keeps_extent(self, changed: dict[int, int], held: Scores) -> bool:
        """Follow some changes; say whether the lowest and highest are known without a search."""
        (low, high), (lows, highs) = self._extent, self._at_extent
        if not lows or not highs:
            return False
        raw = self._summed.by_code
        for code, before in changed.items():
            now = raw.item(code)
            if not held.item(code) or now == before:
                continue
            if now < low or now > high:
                return False
            lows += (now == low) - (before == low)
            highs += (now == high) - (before == high)
        self._at_extent = (lows, highs)
        return lows > 0 and highs > 0

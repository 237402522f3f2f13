"""A score plugin with its state and the scores that are kept of it, by row or by domain; `ranking` asks it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stowplan.framework.contract import Indifferent, Normalize, PreScore, Score, Skip
from stowplan.framework.kept.incremental import FEW_ROWS, Incremental, by_amounts
from stowplan.table.columns import Mask, Rows, Scores, fitted
from stowplan.table.domain_sums import LiveSums, Summed
from stowplan.table.nodes import Nodes

EVERY: Final = slice(None)
LOWEST, HIGHEST = -(2**63), 2**63 - 1


class ScoreStep:
    """A score plugin with its weight and state, and its scores: weighted, and raw if it normalises them.

    By row; where they follow from a label, `key`, by the codes of its values, at the end those of rows without one.
    """

    def __init__(self, plugin: Score, weight: int, pre_score: PreScore | None) -> None:
        self.plugin = plugin
        self.weight = weight
        self.pre_score = pre_score
        self.normalizer = plugin if isinstance(plugin, Normalize) else None
        self.state: Any = None
        self.by_amounts: Incremental | None = None
        self.by_domain: tuple[str, LiveSums] | None = None
        self.drop()

    def drop(self) -> None:
        """Forget all scores."""
        self.key = ""
        self.raw: Scores | None = None
        self.weighted: NDArray[Any] | None = None
        #: The lowest and highest raw score of a feasible row.
        self.extent = (0, 0)
        #: The places of feasible rows, or of domains that have one; None until somebody wants to know.
        self.held: Mask | slice | None = None
        #: Whether all rows score the same, so that it does not matter which of them are feasible; and what, weighted.
        self.is_flat = False
        self.level = 0
        self._summed: Summed | None = None
        self._population: Scores | None = None

    def prepare(self, state: Any) -> None:
        """Take a new state."""
        self.state, self.by_amounts = state, by_amounts(state)
        self.by_domain = state.by_domain() if isinstance(state, Incremental) else None

    def fit(self, rows: int, fresh: Rows | None) -> bool:
        """Take over that nodes came or went, `fresh` rows are others'; say whether the scores of the rest are known."""
        if self.key or self.weighted is None:
            self.drop()
            return False
        self.weighted = fitted(self.weighted, rows)
        if fresh is not None:
            self.weighted[fresh] = 0
        self.raw = None if self.raw is None else fitted(self.raw, rows)
        return True

    def by_row(self, scores: NDArray[Any], nodes: Nodes) -> NDArray[Any]:
        """Return raw or weighted scores by row."""
        return scores.take(nodes.label(self.key).codes) if self.key else scores

    def take(self, at: Rows | slice, scores: Scores) -> None:
        """Take in raw scores of some rows, or all."""
        if self.key:
            self.drop()
        if self.normalizer is None:
            return
        if self.raw is None or at is EVERY:
            # A copy: what a plugin returns may be a column, which nobody may write to.
            self.raw = scores.astype(np.int64)
            self.is_flat = len(scores) > 0 and int(scores.min()) == int(scores.max())
        else:
            self.raw[at] = scores
            self.is_flat = self.is_flat and bool((scores == self.extent[0]).all())

    def follow(self, key: str, summed: Summed, population: Scores) -> Rows | slice:
        """Take in raw scores by domain; return the codes whose score may have changed, if they are few."""
        changed = None
        if self.key == key and self._population is population and self._summed is not None:
            changed = summed.changed_since(self._summed)
        else:
            self.drop()
        self.key, self.raw, self._summed, self._population = key, summed.by_code, summed, population
        return EVERY if changed is None or len(changed) > FEW_ROWS else np.array([*changed], dtype=np.intp)

    def find_extent(self, nodes: Nodes) -> tuple[int, int]:
        """Return the lowest and highest raw score of a feasible row, or of a domain that has one."""
        scores = self.raw
        assert scores is not None
        if self.is_flat:
            return int(scores[0]), int(scores[0])
        if self.held is None:
            held = nodes.feasible_population(self.key) > 0 if self.key else nodes.feasible
            places = np.count_nonzero(held)
            # The last stands for rows without the label, of which there are often none.
            is_run = places == len(held) or (places == len(held) - 1 and not held[-1])
            self.held = slice(0, places) if is_run else held
        return extent_of(scores, self.held)


def extent_of(scores: Scores, held: Mask | slice) -> tuple[int, int]:
    """Return the lowest and highest score of those that are held."""
    scores = scores[held] if isinstance(held, slice) else scores.compress(held)
    return int(scores.min(initial=HIGHEST)), int(scores.max(initial=LOWEST))


def is_left_out(state: Any) -> bool:
    """Say whether a plugin has nothing to say; one that gives every row 0 has, though nothing need be added up."""
    return isinstance(state, Skip) and not isinstance(state, Indifferent)

"""A score plugin with its state and the scores that are kept of it, by row or by domain.

`ranking` asks it, and adds up what it says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stowplan.framework.contract import Indifferent, Normalize, PreScore, Score, Skip
from stowplan.framework.kept.domains import HIGHEST, LOWEST, DomainScores
from stowplan.framework.kept.incremental import Incremental, by_amounts
from stowplan.table.columns import Mask, Rows, Scores, fitted
from stowplan.table.domain_sums import LiveSums
from stowplan.table.nodes import Nodes

EVERY_ROW = slice(None)


class ScoreStep:
    """A score plugin with its weight and state, and its scores by row: weighted, and raw if it normalises them.

    Where they follow from a label, `domains` has them instead.
    """

    __slots__ = (
        "bounds",
        "by_amounts",
        "by_domain",
        "domains",
        "extent",
        "is_partial",
        "normalizer",
        "plugin",
        "pre_score",
        "raw",
        "state",
        "weight",
        "weighted",
    )

    def __init__(self, plugin: Score, weight: int, pre_score: PreScore | None) -> None:
        self.plugin = plugin
        self.weight = weight
        self.pre_score = pre_score
        self.normalizer = plugin if isinstance(plugin, Normalize) else None
        self.by_amounts: Incremental | None = None
        self.by_domain: tuple[str, LiveSums] | None = None
        self.state: Any = None
        self.raw: Scores | None = None
        # The lowest and highest raw score of a feasible row; and what no row at all is below or above.
        self.extent = (0, 0)
        self.bounds = (0, 0)
        self.weighted: Scores | None = None
        self.domains: DomainScores | None = None
        # It may have scored only rows that were feasible.
        self.is_partial = False

    def prepare(self, state: Any) -> None:
        """Take a new state."""
        self.state, self.by_amounts = state, by_amounts(state)
        self.by_domain = state.by_domain() if isinstance(state, Incremental) else None

    def fit(self, rows: int) -> None:
        """Take over that nodes came or went."""
        self.weighted = None if self.weighted is None else fitted(self.weighted, rows)
        self.raw = None if self.raw is None else fitted(self.raw, rows)
        self.domains = None

    def by_row(self, nodes: Nodes) -> Scores | None:
        """Return the weighted scores of all rows; None if there are none."""
        domains = self.domains
        return self.weighted if domains is None else domains.weighted.take(nodes.label(domains.key).codes)


def is_left_out(state: Any) -> bool:
    """Say whether a plugin has nothing to say; one that gives every row 0 has, though nothing need be added up."""
    return isinstance(state, Skip) and not isinstance(state, Indifferent)


def own(scores: Scores) -> Scores:
    """Return scores that may be written to: what a plugin returns may be a column, which nobody may write to."""
    return scores if scores.flags.writeable and scores.base is None else scores.copy()


def changes_nothing(step: ScoreStep, rows: Rows | slice, scores: Scores) -> bool:
    """Say whether all rows scored the same and some were scored again, still the same: whoever comes or goes."""
    low, high = step.extent
    return low == high and rows is not EVERY_ROW and bool((scores == low).all())


def extent_of(scores: Scores, feasible: Mask) -> tuple[int, int]:
    """Return the lowest and highest score of a feasible row."""
    if np.count_nonzero(feasible) == len(feasible) > 0:
        return int(np.minimum.reduce(scores)), int(np.maximum.reduce(scores))
    # Twice as fast as to reduce under a mask.
    scores = scores.compress(feasible)
    return int(scores.min(initial=HIGHEST)), int(scores.max(initial=LOWEST))

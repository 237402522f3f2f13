"""Nodes as they are scored after an extender sent them back whole: with nothing on them.

Upstream then knows of a node only what the extender said, and that is the Node alone: no pods, and no images it
could look up. What concerns other nodes, too (sums over domains), is counted as ever.
"""

from __future__ import annotations

import numpy as np

from stowplan.table.columns import Counted, Scores
from stowplan.table.images import Images
from stowplan.table.nodes import Nodes
from stowplan.table.resources import Matrix
from stowplan.table.standing import Standing, StandingRule
from stowplan.table.terms import CarriedTerm


class EmptyNodes(Nodes):
    """All rows of the table, as if no pod were on them."""

    __slots__ = ()

    @property
    def requested(self) -> Matrix:
        return np.zeros_like(super().requested)

    def standing(self, rule: StandingRule) -> Standing | None:
        return None

    def count(self, counted: Counted) -> Scores:
        return np.zeros_like(super().count(counted))

    def carriers(self, term: CarriedTerm) -> Scores:
        return np.zeros_like(super().carriers(term))

    @property
    def images(self) -> Images:
        return Images()

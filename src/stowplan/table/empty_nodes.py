"""Rows of the table as if no pod were on them: what nodes are scored as that an extender sent back whole."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stowplan.table.columns import Counted, Scores
from stowplan.table.facts import Images
from stowplan.table.nodes import Nodes
from stowplan.table.resources import Derived, DerivedRule, Matrix
from stowplan.table.terms import CarriedTerm


class EmptyNodes(Nodes):
    """All rows of the table, as if no pod were on them."""

    __slots__ = ()

    @property
    def requested(self) -> Matrix:
        return np.zeros_like(super().requested)

    def free(self, resource: int) -> NDArray[np.int64]:
        has: NDArray[np.int64] = self.allocatable[resource]
        return has

    def derived(self, rule: DerivedRule) -> Derived | None:
        return None

    def count(self, counted: Counted) -> Scores:
        return np.zeros_like(super().count(counted))

    def carriers(self, term: CarriedTerm) -> Scores:
        return np.zeros_like(super().carriers(term))

    @property
    def images(self) -> Images:
        return Images()

"""What in-tree plugins may inherit so that kept answers are brought up to date for less than by asking again.

`FitsAmounts` and `ScoresAmounts`: the answer about a node follows from what it has and what is taken of it, and from
nothing else. A pod that is placed changes just that, on one row. For a handful of rows plain integers are many times
faster than arrays, so these plugins are asked row by row (`filtering`, `ranking`); for many rows, by their array
methods as everybody is. Both must give the same answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any

from stowplan.model.pod import Pod
from stowplan.table.columns import Rows
from stowplan.table.domain_sums import Summed
from stowplan.table.nodes import Nodes

#: What a node has and what is taken of it, by row of `table.resources`.
RowAmounts = tuple[list[int], list[int]]

#: Up to so many rows are faster one by one than as arrays.
FEW_ROWS = 8


class FitsAmounts:
    """A filter that is decided by amounts."""

    @abstractmethod
    def fits(self, state: Any, has: list[int], taken: list[int]) -> bool:
        """Say whether a node with these amounts can take the pod."""


class ScoresAmounts:
    """A score that is decided by amounts, and needs no normalising."""

    def is_by_amounts(self, state: Any) -> bool:
        """Say whether that holds for a pod of this state."""
        return True

    @abstractmethod
    def score_of(self, state: Any, has: list[int], taken: list[int]) -> int:
        """Return the score of a node with these amounts."""


class Successive(ABC):
    """A state for `filter` that can tell where its answer differs from that of the state before it.

    A pod more in a domain is a new state, but seldom another answer: then only some rows need be asked about again.
    """

    @abstractmethod
    def changed_rows(self, before: Any, nodes: Nodes) -> Rows | None:
        """Return the rows of all `nodes` where the answer may differ from what it was by `before`; None for all.

        `before` is an earlier state of the same class. Facts of the nodes that have changed meanwhile are none of its
        concern: who reads them is asked again anyway.
        """


class TellsApart:
    """A plugin that tells pods of one signature apart: what it says in `sign` becomes part of the signature.

    What an in-tree plugin signs beside that is in the signature of every pod anyway, and is not asked for.
    """

    @abstractmethod
    def sign(self, pod: Pod) -> Hashable:
        """Return what tells pods apart; asked for every pod, so it should cost next to nothing for most of them."""


class ByDomain(ABC):
    """A state for `score` that may know the raw score of every row by the value of one label.

    Then rows are neither scored nor normalised: their domains are, and where a domain comes to another score than
    before, its rows are.
    """

    @abstractmethod
    def by_domain(self) -> tuple[str, Summed] | None:
        """Return the label and the raw scores by code of its values, at the end without one; None if that is not all.

        They must be what `score` returns for a row, and the codes those of the table as it stands. Their log tells
        where they differ from those of the state before, if that state had the same log.
        """

"""Plugins whose answer about a node follows from what it has and what is taken of it, and from nothing else.

A pod that is placed changes just that, on one row. For a handful of rows plain integers are many times faster than
arrays, so these plugins are asked row by row (`filtering`, `ranking`); for many rows, by their array methods as
everybody is. Both must give the same answer.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

#: What a node has and what is taken of it, by row of `table.resources`.
Amounts = tuple[list[int], list[int]]

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

"""Patterns as rules may use them: what all of one evaluation weigh together is bounded by `PatternMeter`."""

from __future__ import annotations

from typing import Final

from stowplan.cel import patterns
from stowplan.cel.functions import COST_EXCEEDED, Function

_MOST_WEIGHT: Final = 100_000
#: Finding goes on where the last one ended, and most are near.
_SEARCHES: Final = 25


class PatternMeter:
    """Counts the weight of the patterns that rules use; reset it before each evaluation."""

    def __init__(self, most_weight: int = _MOST_WEIGHT) -> None:
        self._most_weight = most_weight
        self._left = most_weight

    @property
    def is_exceeded(self) -> bool:
        return self._left < 0

    @property
    def spent(self) -> int:
        return self._most_weight - self._left

    def reset(self) -> None:
        self._left = self._most_weight

    def functions(self) -> list[Function]:
        """Return the functions, which are counted here."""
        return [
            Function("Matches", False, ("string", "string"), "bool", self._matches),
            Function("Matches", True, ("string", "string"), "bool", self._matches),
            Function("find", True, ("string", "string"), "string", self._find),
            Function("findAll", True, ("string", "string"), "strings", self._find_all),
            Function("findAll", True, ("string", "string", "int"), "strings", self._find_all),
        ]

    def _spend(self, pattern: str, text: str) -> None:
        # Finding takes time with the text as well.
        self._left -= patterns.cost(pattern[:10_000], text) + len(text) // 100
        if self._left < 0:
            raise ValueError(COST_EXCEEDED)

    def _matches(self, text: str, pattern: str) -> bool:
        self._spend(pattern, text)
        patterns.check(pattern)
        return patterns.matches(pattern, text)

    def _find(self, text: str, pattern: str) -> str:
        return next(iter(self._find_all(text, pattern, 1)), "")

    def _find_all(self, text: str, pattern: str, most: int = -1) -> list[str]:
        self._spend(pattern, text)
        patterns.check(pattern)
        try:
            found = patterns.find_all(pattern, text, most)
        except ValueError:
            self._left = -1
            raise
        self._left -= len(found) * patterns.cost(pattern, text) // _SEARCHES
        return found

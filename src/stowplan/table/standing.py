"""How nodes stand before a pod comes: what follows, node by node, from what a node has and what is taken of it.

Scores begin with it, whatever the pod requests. It is kept for all rows and brought up to date where amounts moved, so
that a pod like none before pays for what it changes alone.
"""

from __future__ import annotations

import math
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from stowplan.table.resources import Resources

# So many rows and all of them are as fast.
MOST_PATCHED: Final = 16
MOST_KEPT: Final = 16

Lines = NDArray[np.float64]


class StandingRule(Protocol):
    """A hashable rule that derives some numbers of each node, the same for one row and for many."""

    def of_rows(self, allocatable: NDArray[np.int64], requested: NDArray[np.int64]) -> Lines:
        """Return the numbers of some rows, given their amounts. # (lines, nodes), from (resources, nodes)"""

    def of_row(self, has: list[int], taken: list[int]) -> list[float]:
        """Return the numbers of one row."""

    def __hash__(self) -> int: ...


class Standing:
    """The numbers of all rows under one rule. # (lines, nodes)"""

    __slots__ = ("_as_of", "_rule", "_values", "highest", "lines", "lowest")

    def __init__(self, rule: StandingRule) -> None:
        self._rule = rule
        self._as_of = (-1, -1, -1)
        self._values: Lines = np.empty((0, 0))
        #: What readers see: read-only.
        self.lines = self._values
        #: By line, what no row exceeds, and what none is below.
        self.highest: list[float] = []
        self.lowest: list[float] = []

    def bring_up(self, resources: Resources, layout: int) -> None:
        """Take over what changed since the last time; `layout` tells when rows moved."""
        as_of = (layout, resources.allocatable_journal.position, resources.requested_journal.position)
        if as_of == self._as_of:
            return
        stale = self._stale(resources, layout)
        if stale is None:
            self._derive(resources)
        else:
            for row in stale:
                self._patch(row, resources)
        self._as_of = as_of

    def _stale(self, resources: Resources, layout: int) -> set[int] | None:
        """Return the rows whose amounts have moved; None for all."""
        known_layout, allocatable_at, requested_at = self._as_of
        if layout != known_layout:
            return None
        changed = resources.allocatable_journal.since(allocatable_at)
        taken = resources.requested_journal.since(requested_at)
        if changed is None or taken is None or len(changed) + len(taken) > MOST_PATCHED:
            return None
        return {*changed, *taken}

    def _derive(self, resources: Resources) -> None:
        self._values = self._rule.of_rows(resources.allocatable, resources.requested)
        self.lines = self._values.view()
        self.lines.flags.writeable = False
        self.highest = self._values.max(axis=1, initial=-math.inf).tolist()
        self.lowest = self._values.min(axis=1, initial=math.inf).tolist()

    def _patch(self, row: int, resources: Resources) -> None:
        numbers = self._rule.of_row(*resources.amounts(row))
        self._values[:, row] = numbers
        highest, lowest = self.highest, self.lowest
        for line, number in enumerate(numbers):
            if number > highest[line]:
                highest[line] = number
            if number < lowest[line]:
                lowest[line] = number


class Standings:
    """The rules that were asked about lately, each with its numbers."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._by_rule: dict[StandingRule, Standing] = {}

    def rules(self) -> list[StandingRule]:
        return list(self._by_rule)

    def find(self, rule: StandingRule, layout: int) -> Standing:
        """Return the numbers of a rule as of now; `layout` tells when rows moved."""
        standing = self._by_rule.get(rule)
        if standing is None:
            if len(self._by_rule) >= MOST_KEPT:
                del self._by_rule[next(iter(self._by_rule))]
            standing = self._by_rule[rule] = Standing(rule)
        standing.bring_up(self._resources, layout)
        return standing

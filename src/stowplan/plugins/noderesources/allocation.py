"""How scores see what a node has and what its pods take: the arithmetic that all resource scores share.

A rule is written once, with whole numbers in mind, and runs in two ways: over arrays for many rows, over plain integers
for a few, where each call into NumPy would cost more than the whole rule. `plugins.noderesources.fit` and
`plugins.noderesources.balanced_allocation` hold the rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from stowplan.framework.contract import MAX_SCORE
from stowplan.framework.kept.incremental import FEW_ROWS, Incremental
from stowplan.model.quantity import as_int64
from stowplan.model.requests import Requests
from stowplan.plugins.noderesources.arguments import ResourceSpec
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes
from stowplan.table.resources import CPU, EPHEMERAL_STORAGE, MEMORY, NON_ZERO_CPU, NON_ZERO_MEMORY, Matrix

#: How many scores of nodes in different conditions are kept per kind of pod.
MOST_KNOWN: Final = 4096

#: Whole numbers below this are exact as floats.
EXACT: Final = 2**53

# What the nodes have and what is taken of it, for the resources that count.
NodeAmounts = tuple[Any, Any]

# An integer for one row, an array of them for many; booleans and fractions alike.
Numeric = Any


class ResourceShare(msgspec.Struct, frozen=True, gc=False):
    """One resource that counts in a score: its row in the table, what the pod adds to it, and its weight."""

    row: int
    amount: int
    weight: int


#: How many devices serve a resource on each row, and how many of them are taken.
CountServed = Callable[[str, Nodes], tuple[Scores, Scores]]


class CountedResources(Incremental):
    """The resources that count in a score for pods of one kind, and the scores given so far.

    Nodes with the same room and the same load score the same, and most nodes of a cluster are like many others; not
    so where devices serve a resource: `served` has the row of each such resource in the table, and its name.
    """

    __slots__ = ("_pick", "known", "rule", "served", "shares")

    def __init__(
        self, rule: ScoreRule, shares: tuple[ResourceShare, ...], served: tuple[tuple[int, str], ...] = ()
    ) -> None:
        self.rule = rule
        self.shares = shares
        self.served = served
        self.known: dict[NodeAmounts, int] = {}
        self._pick = itemgetter(*(share.row for share in shares)) if shares else lambda _: ()

    @property
    def is_by_amounts(self) -> bool:
        return not self.served

    def score_of(self, has: list[int], taken: list[int]) -> int:
        """Return the score of one row: remembered, if a row in the same condition has been scored before."""
        condition = self._pick(has), self._pick(taken)
        score = self.known.get(condition)
        if score is None:
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            # What the pods of a node ask for may add up to more than there are numbers for, and the score with it.
            score = self.known[condition] = _limited(self.rule(ONE_ROW, self.shares, has, taken))
        return score

    def score_each(self, has: Matrix, taken: Matrix) -> Scores:
        """Return the scores of several rows. # (resources, nodes)"""
        scores = self.rule(MANY_ROWS, self.shares, has, taken)
        if isinstance(scores, np.ndarray):
            # As for one row; what is too large for an integer could not even be cast.
            return np.minimum(np.maximum(scores, 0), MAX_SCORE).astype(np.int64, copy=False)
        return np.full(has.shape[1], _limited(scores), dtype=np.int64)


def _limited(score: int) -> int:
    return max(0, min(score, MAX_SCORE))


def nothing_served(resource: str) -> bool:
    """Say that no device serves a resource."""
    return False


def count_for(
    resources: Sequence[ResourceSpec],
    added: Requests,
    nodes: Nodes,
    *,
    is_never_zero: bool,
    serves: Callable[[str], bool] = nothing_served,
) -> tuple[tuple[ResourceShare, ...], tuple[tuple[int, str], ...]]:
    """Return the resources that count for a pod that adds `added`: a scalar resource only if the pod requests it.

    `is_never_zero`: cpu and memory are counted with at least 100m and 200Mi for every container. `serves` says whether
    devices serve a resource; those are returned beside.
    """
    served = []
    counted = []
    for spec in resources:
        match spec.name:
            case "cpu" if is_never_zero:
                place = NON_ZERO_CPU, added.non_zero_milli_cpu
            case "memory" if is_never_zero:
                place = NON_ZERO_MEMORY, added.non_zero_memory
            case "cpu":
                place = CPU, added.milli_cpu
            case "memory":
                place = MEMORY, added.memory
            case "ephemeral-storage":
                place = EPHEMERAL_STORAGE, added.ephemeral_storage
            case name if added.scalar.get(name, 0):
                place = nodes.resource(name), added.scalar[name]
                if serves(name):
                    served.append((place[0], name))
            case _:
                continue
        counted.append(ResourceShare(*place, spec.weight))
    return tuple(counted), tuple(served)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """What operators cannot say for integers and arrays alike."""

    lesser: Callable[[Numeric, Numeric], Numeric]
    #: A sum as an int64 keeps it.
    counted: Callable[[Numeric], Numeric]
    #: Whether an amount is not zero: True if that holds for every row.
    is_there: Callable[[Numeric], Numeric]
    real: Callable[[Numeric], Numeric]
    #: How many hundredths a part is of the whole, fractions cut off; overflowing as upstream does.
    percent: Callable[[Numeric, Numeric], Numeric]
    #: Cut off the fraction.
    whole: Callable[[Numeric], Numeric]
    root: Callable[[Numeric], Numeric]
    choose: Callable[[Numeric, Numeric, Numeric], Numeric]
    look_up: Callable[[Scores, Numeric], Numeric]
    #: A whole number, or the nearest from 0 to a bound, to look up by.
    within: Callable[[Numeric, int], Numeric]


#: As narrow as whole numbers may be: up to a hundred they all hold.
Numbers = NDArray[np.signedinteger[Any]]

#: Returns the scores of rows by what is kept of their nodes; None where only the rule is exact.
ScoreShortcut = Callable[[tuple[ResourceShare, ...], Nodes], Numbers | None]
ScoreRule = Callable[[Arithmetic, tuple[ResourceShare, ...], Numeric, Numeric], Numeric]


def score_rows(counted: CountedResources, nodes: Nodes, shortcut: ScoreShortcut | None) -> Numbers:
    """Return the score of every row."""
    if nodes.rows is not None and len(nodes.rows) <= FEW_ROWS:
        return np.array([counted.score_of(has, taken) for has, taken in nodes.amounts()], dtype=np.int64)
    scores = shortcut(counted.shares, nodes) if shortcut is not None else None
    return counted.score_each(nodes.allocatable, nodes.requested) if scores is None else scores


def score_served(counted: CountedResources, nodes: Nodes, count: CountServed) -> Scores:
    """Return the score of every row, where the devices that serve a resource stand in for what a row lacks."""
    allocatable, requested = nodes.allocatable.copy(), nodes.requested.copy()
    for row, name in counted.served:
        has, taken = count(name, nodes)
        is_lacking = allocatable[row] == 0
        allocatable[row] = np.where(is_lacking, has, allocatable[row])
        requested[row] = np.where(is_lacking, taken, requested[row])
    return counted.score_each(allocatable, requested)


def divisor(amount: Numeric, is_there: Numeric) -> Numeric:
    """Return what to divide by: the amount, or 1 in place of zero."""
    return amount if is_there is True else amount + (amount == 0)


def _is_there(amounts: Numeric) -> Numeric:
    return True if np.count_nonzero(amounts) == len(amounts) else amounts != 0


def _percents(parts: Numeric, wholes: Numeric) -> Numeric:
    # Below 2^53 a fraction is further from the next whole number than the error of a division, so floats are exact;
    # dividing integers takes several times as long.
    largest = EXACT // MAX_SCORE
    if wholes.max(initial=0) >= largest or parts.min(initial=0) <= -largest or parts.max(initial=0) >= largest:
        hundredfold = parts * MAX_SCORE
        with np.errstate(over="ignore"):
            quotients = hundredfold // wholes
        # Towards zero, not down.
        return quotients + ((quotients < 0) & (quotients * wholes != hundredfold))
    percents = parts * float(MAX_SCORE)
    percents /= wholes.astype(np.float64)
    return np.trunc(percents, out=percents)


def _percent(part: int, whole: int) -> int:
    hundredfold = as_int64(as_int64(part) * MAX_SCORE)
    quotient = abs(hundredfold) // abs(whole)
    return as_int64(quotient if (hundredfold < 0) == (whole < 0) else -quotient)


ONE_ROW: Final = Arithmetic(
    lesser=min,
    counted=as_int64,
    is_there=bool,
    real=float,
    percent=_percent,
    whole=int,
    root=math.sqrt,
    choose=lambda condition, yes, no: yes if condition else no,
    look_up=lambda values, index: values.item(int(index)),
    within=lambda number, most: max(0, min(number, most)),
)

MANY_ROWS: Final = Arithmetic(
    lesser=np.minimum,
    counted=lambda amounts: amounts,
    is_there=_is_there,
    real=lambda amounts: amounts.astype(np.float64),
    percent=_percents,
    whole=np.trunc,
    root=np.sqrt,
    choose=np.where,
    look_up=lambda values, indices: values[indices.astype(np.intp)],
    within=lambda numbers, most: np.minimum(np.maximum(numbers, 0), most),
)

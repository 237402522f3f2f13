"""Prefer nodes whose resources a pod brings into balance. What a score counts is in `allocation.py`."""

from __future__ import annotations

import math
from itertools import combinations
from operator import add, gt

import msgspec
import numpy as np
from numpy.typing import NDArray

from stowplan.framework.contract import MAX_SCORE, SKIP, PreScore, Score, Skip
from stowplan.model.pod import Pod
from stowplan.plugins.dynamicresources.claim_tracker import ClaimsHandle
from stowplan.plugins.dynamicresources.extended_resource_amounts import ExtendedResourceAmounts
from stowplan.plugins.noderesources.allocation import (
    EXACT,
    MANY_ROWS,
    ONE_ROW,
    Arithmetic,
    CountedResources,
    Numbers,
    Numeric,
    ResourceShare,
    count_for,
    divisor,
    nothing_served,
    score_rows,
    score_served,
)
from stowplan.plugins.noderesources.arguments import NodeResourcesBalancedAllocationArgs
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes
from stowplan.table.resources import DerivedLines

# Half of the range is for nodes that the pod tilts, half for those that it evens out, from 50 to 100.
NEUTRAL = 75
DEFAULT_ARGS = NodeResourcesBalancedAllocationArgs()


class NodeResourcesBalancedAllocation(PreScore, Score):
    """Prefer nodes where the pod makes the used fractions of the resources more alike.

    Scores: a node is as balanced as the standard deviation of its used fractions is small: 100 if they are all alike.
        The score compares that with and without the pod: 75 if nothing changes, more if the pod evens the node out,
        less if it tilts it. A resource that the node does not have is left out, and so is an extended resource that the
        pod does not request. Of a resource that a device class serves, a node that has none itself has the devices of
        the class it can reach. Pods that request none of the resources are not scored.
    Arguments: `resources`, those to balance; default cpu and memory. Their weights do not matter.
    Upstream: `pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go`.
    """

    args_type = NodeResourcesBalancedAllocationArgs
    default_weight = 1

    def __init__(
        self, args: NodeResourcesBalancedAllocationArgs = DEFAULT_ARGS, *, handle: ClaimsHandle | None = None
    ) -> None:
        """Without a handle no device class is known."""
        self._resources = args.resources
        self._served = ExtendedResourceAmounts(handle) if handle is not None else None

    def pre_score(self, pod: Pod, nodes: Nodes) -> CountedResources | Skip:
        serves = self._served.serves if self._served is not None else nothing_served
        counted = count_for(self._resources, nodes.accounted(pod), nodes, is_never_zero=False, serves=serves)
        return CountedResources(_improvement, *counted) if any(share.amount for share in counted[0]) else SKIP

    def score(self, pod: Pod, nodes: Nodes, state: CountedResources | None) -> Scores:
        # A profile may enable the score without its preparation, which is then made up for here.
        counted = self.pre_score(pod, nodes) if state is None else state
        if isinstance(counted, Skip):
            return np.zeros(len(nodes), dtype=np.int64)
        if counted.served and self._served is not None:
            return score_served(counted, nodes, self._served.of)
        return score_rows(counted, nodes, _improvement_of_all)


class Evenness(msgspec.Struct, frozen=True):
    """Of two resources what is taken, then the capacities; at last, what a node scores twice, but for the pod's part.

    Where one of the two is not there, capacities without end make both fractions nothing, and so alike.
    """

    first: int
    second: int

    def of_rows(self, allocatable: NDArray[np.int64], requested: NDArray[np.int64]) -> DerivedLines:
        rows = [self.first, self.second]
        taken, has = requested[rows].astype(np.float64), allocatable[rows].astype(np.float64)
        has[:, (has == 0).any(axis=0)] = math.inf
        fractions = np.minimum(taken, has) / has
        return np.vstack((taken, has, 2 * NEUTRAL - _balance(MANY_ROWS, list(fractions), [True, True])))

    def of_row(self, has: list[int], taken: list[int]) -> list[float]:
        one, other = float(taken[self.first]), float(taken[self.second])
        of_one, of_other = float(has[self.first]), float(has[self.second])
        if not of_one or not of_other:
            of_one = of_other = math.inf
        fractions: list[Numeric] = [min(one, of_one) / of_one, min(other, of_other) / of_other]
        return [one, other, of_one, of_other, float(2 * NEUTRAL - _balance(ONE_ROW, fractions, [True, True]))]


def _improvement_of_all(counted: tuple[ResourceShare, ...], nodes: Nodes) -> Numbers | None:
    """Return the scores of rows, starting from how each stands; None where only the general rule is exact."""
    derived = nodes.derived(Evenness(counted[0].row, counted[1].row)) if len(counted) == 2 else None
    if derived is None or min(derived.lowest[:4]) < 0 or any(share.amount < 0 for share in counted):
        return None
    if any(derived.highest[i] + share.amount >= EXACT for i, share in enumerate(counted)):
        return None
    lines, amounts = derived.lines, [float(share.amount) for share in counted]
    used: DerivedLines = lines[:2] + np.array([amounts]).T
    if any(map(gt, map(add, amounts, derived.highest), derived.lowest[2:4])):
        np.minimum(used, lines[2:4], out=used)
    used /= lines[2:4]
    # To halve and to double is exact, so this is what `_balance` gives, in fewer passes over the rows.
    balance: DerivedLines = np.subtract(used[0], used[1], out=used[0])
    np.abs(balance, out=balance)
    np.subtract(2.0, balance, out=balance)
    balance *= MAX_SCORE / 2
    # Narrow whole numbers are several times as fast as others; to make them cuts fractions off.
    scores = balance.astype(np.int16)
    scores += lines[4].astype(np.int16)
    scores >>= 1
    return scores


def _improvement(
    arithmetic: Arithmetic, counted: tuple[ResourceShare, ...], allocatable: Numeric, requested: Numeric
) -> Numeric:
    if len(counted) < 2:
        # One resource alone is always in balance.
        return NEUTRAL
    with_pod, without_pod, are_there = [], [], []
    for share in counted:
        has, taken = allocatable[share.row], requested[share.row]
        is_there = arithmetic.is_there(has)
        with_pod.append(_fraction(arithmetic, arithmetic.counted(taken + share.amount), has, is_there))
        without_pod.append(_fraction(arithmetic, taken, has, is_there))
        are_there.append(is_there)
    change = _balance(arithmetic, with_pod, are_there) - _balance(arithmetic, without_pod, are_there)
    # A change is at most 50, so this is 50 to 100; half a point is cut off.
    return arithmetic.whole(change * 0.5 + (NEUTRAL - MAX_SCORE // 2)) + MAX_SCORE // 2


def _fraction(arithmetic: Arithmetic, taken: Numeric, has: Numeric, is_there: Numeric) -> Numeric:
    """Return which part of a resource is taken, at most all of it."""
    fraction = arithmetic.lesser(arithmetic.real(taken) / arithmetic.real(divisor(has, is_there)), 1.0)
    return fraction if is_there is True else fraction * is_there


def _balance(arithmetic: Arithmetic, fractions: list[Numeric], are_there: list[Numeric]) -> Numeric:
    """Return how alike the fractions are, at most 100; a resource that is not there has fraction 0, not counted."""
    if len(fractions) == 2:
        deviation = _half_distance(fractions[0], fractions[1], are_there[0] & are_there[1])
    else:
        deviation = _deviation(arithmetic, fractions, are_there)
    evenness = 1 - deviation
    evenness *= float(MAX_SCORE)
    return arithmetic.whole(evenness)


def _half_distance(one: Numeric, other: Numeric, are_both_there: Numeric) -> Numeric:
    distance = abs(one - other)
    distance *= 0.5 if are_both_there is True else 0.5 * are_both_there
    return distance


def _deviation(arithmetic: Arithmetic, fractions: list[Numeric], are_there: list[Numeric]) -> Numeric:
    """Return the standard deviation, added up in the order configured: another gives other last digits."""
    total = squares = of_two = 0.0
    for fraction in fractions:
        total = total + fraction
    count = sum(are_there)
    mean = total / divisor(count, count > 0)
    for fraction, is_there in zip(fractions, are_there, strict=True):
        squares = squares + (fraction - mean) * (fraction - mean) * is_there
    deviation = arithmetic.root(squares / divisor(count, count > 0))
    if (count > 2) is True:
        return deviation
    # Where only two are there, theirs is half their distance, which is not rounded.
    for one, other in combinations(range(len(fractions)), 2):
        of_two = of_two + _half_distance(fractions[one], fractions[other], are_there[one] & are_there[other])
    return arithmetic.choose(count > 2, deviation, of_two)

"""Prefer nodes whose resources a pod brings into balance. What a score counts is in `framework.allocation`."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from stowplan.config.arguments import ResourceSpec
from stowplan.framework.allocation import (
    CPU_AND_MEMORY,
    Amount,
    Arithmetic,
    Counted,
    Share,
    count_for,
    divisor,
    score_one,
    score_rows,
)
from stowplan.framework.by_amounts import ScoresAmounts
from stowplan.framework.contract import MAX_SCORE, SKIP, PreScore, Score, Skip
from stowplan.model.pod import Pod
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes

# Half of the range is for nodes that the pod tilts, half for those that it evens out, from 50 to 100.
NEUTRAL = 75


class NodeResourcesBalancedAllocation(PreScore, Score, ScoresAmounts):
    """Prefer nodes where the pod makes the used fractions of the resources more alike.

    Scores: a node is as balanced as the standard deviation of its used fractions is small: 100 if they are all alike.
        The score compares that with and without the pod: 75 if nothing changes, more if the pod evens the node out,
        less if it tilts it. A resource that the node does not have is left out, and so is an extended resource that the
        pod does not request. Pods that request none of the resources are not scored.
    Arguments: `resources`, those to balance; default cpu and memory. Their weights do not matter.
    Upstream: `pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go`.
    """

    def __init__(self, *, resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY) -> None:
        self._resources = resources

    def pre_score(self, pod: Pod, nodes: Nodes) -> Counted | Skip:
        counted = count_for(self._resources, nodes.accounted(pod), nodes, is_never_zero=False)
        return counted if any(share.amount for share in counted.shares) else SKIP

    def score(self, pod: Pod, nodes: Nodes, state: Counted | None) -> Scores:
        # A profile may enable the score without its preparation, which is then made up for here.
        counted = self.pre_score(pod, nodes) if state is None else state
        if isinstance(counted, Skip):
            return np.zeros(len(nodes), dtype=np.int64)
        return score_rows(_improvement, counted, nodes)

    def score_of(self, state: Counted, has: list[int], taken: list[int]) -> int:
        return score_one(_improvement, state, has, taken)


def _improvement(arithmetic: Arithmetic, counted: tuple[Share, ...], allocatable: Amount, requested: Amount) -> Amount:
    if len(counted) < 2:
        # One resource alone is always in balance.
        return NEUTRAL
    lesser, real = arithmetic.lesser, arithmetic.real
    with_pod, without_pod, are_there = [], [], []
    for share in counted:
        has, taken = allocatable[share.row], requested[share.row]
        is_there = arithmetic.is_there(has)
        capacity = real(divisor(has, is_there))
        with_pod.append(real(lesser(taken + share.amount, has)) / capacity)
        without_pod.append(real(lesser(taken, has)) / capacity)
        are_there.append(is_there)
    change = _balance(arithmetic, with_pod, are_there) - _balance(arithmetic, without_pod, are_there)
    # A change is at most 50, so this is 50 to 100; half a point is cut off.
    return arithmetic.whole(change * 0.5 + NEUTRAL)


def _balance(arithmetic: Arithmetic, fractions: list[Amount], are_there: list[Amount]) -> Amount:
    """Return how alike the fractions are, at most 100; a resource that is not there has fraction 0, not counted."""
    if len(fractions) == 2:
        deviation = _half_distance(fractions[0], fractions[1], are_there[0] & are_there[1])
    else:
        deviation = _deviation(arithmetic, fractions, are_there)
    evenness = 1 - deviation
    evenness *= float(MAX_SCORE)
    return arithmetic.whole(evenness)


def _half_distance(one: Amount, other: Amount, are_both_there: Amount) -> Amount:
    distance = abs(one - other)
    distance *= 0.5 if are_both_there is True else 0.5 * are_both_there
    return distance


def _deviation(arithmetic: Arithmetic, fractions: list[Amount], are_there: list[Amount]) -> Amount:
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

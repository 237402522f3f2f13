"""Reject nodes without room for a pod's requests, and prefer the emptiest or the fullest of the others.

What a score counts is in `allocation.py`; what may help a pod without room, in `hints.py`; what a pod requests, in
`model/requests.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import gt
from typing import Any, Final, Protocol

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from stowplan.config.feature_gates import rules_of
from stowplan.framework.contract import (
    MAX_SCORE,
    Awaited,
    Filter,
    PlacementScore,
    PreFilter,
    PreScore,
    Reject,
    Requeue,
    Score,
    reject,
)
from stowplan.framework.kept.incremental import FEW_ROWS, Incremental
from stowplan.framework.pod_groups import PlacedIn
from stowplan.framework.remedies import Need, RejectedRows
from stowplan.framework.verdict import WordedError
from stowplan.model import requests
from stowplan.model.dra import DeviceClass
from stowplan.model.pod import Pod
from stowplan.model.pod_group import OwnGroup
from stowplan.model.quantity import as_int64
from stowplan.model.requests import USUAL, Requests, is_extended
from stowplan.plugins.dynamicresources.claim_tracker import ClaimsHandle
from stowplan.plugins.dynamicresources.extended_resource_amounts import ExtendedResourceAmounts
from stowplan.plugins.noderesources import arguments, hints
from stowplan.plugins.noderesources.allocation import (
    EXACT,
    Arithmetic,
    CountedResources,
    Numbers,
    Numeric,
    ResourceShare,
    ScoreRule,
    count_for,
    divisor,
    nothing_served,
    score_rows,
    score_served,
)
from stowplan.plugins.noderesources.arguments import LEAST_ALLOCATED, NodeResourcesFitArgs, ScoringStrategy
from stowplan.plugins.noderesources.placement_score import score_fullness
from stowplan.plugins.shape_score import MAX_UTILIZATION, UtilizationShapePoint, curve_of
from stowplan.table.columns import NO_ROWS, Rows, Scores
from stowplan.table.nodes import Nodes
from stowplan.table.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Derived, DerivedLines

DEFAULT_ARGS = NodeResourcesFitArgs()
#: So much may the resources weigh that percentages of them add up to a narrow number.
MOST_NARROW: Final = np.iinfo(np.int16).max // MAX_SCORE
#: From a hundred times as little free as this on, one pod more may be more than there are numbers for.
OVERFLOWING: Final = MAX_SCORE * 2.0**62


class FitHandle(ClaimsHandle, Protocol):
    """The handle of a scheduler that knows which devices are taken, and which pods count on a node."""

    def is_placed(self, pod: Pod) -> bool:
        """Say whether a pod counts on its node."""


class NodeResourcesFit(PreFilter, Filter, PreScore, Score, PlacementScore, Requeue):
    """Reject nodes without room for the pod; of the others prefer the emptiest, or the fullest.

    Rejects: `Too many pods`, and `Insufficient <resource>` for every resource of which the pod requests more than the
        node has left. Unresolvable if the pod requests more of a resource than the node has in all. Where the node has
        none at all of a resource that a device class serves, DynamicResources decides. A pod that runs there already,
        and is to grow, needs what exceeds what is counted for it.
    Scores: the weighted average over the resources of how much is free (LeastAllocated), used (MostAllocated), or of a
        curve over the used percentage (RequestedToCapacityRatio), as if the pod were there. A container that says
        nothing about cpu or memory counts 100m and 200Mi; pod-level requests of the pod itself do not count. A resource
        that the node does not have is left out, and so is an extended resource that the pod does not request. Of a
        resource that a device class serves, a node that has none itself has the devices of the class it can reach.
        Of several placements of a pod group, the fullest scores highest, over the same resources.
    Arguments: `scoringStrategy`, type, weighted resources and curve; default LeastAllocated over cpu and memory.
        `ignoredResources` and `ignoredResourceGroups`: extended resources, by name or by the part before the slash,
        that are not checked.
    Requeued by: a pod deleted or scaled down, a node added or grown, a device class that serves a requested resource.
    Remedies: to request less, or nothing, of what is short; fewer pods on the node.
    Upstream: `pkg/scheduler/framework/plugins/noderesources/fit.go`.
    """

    looks_at_rows_alone = True
    args_type = NodeResourcesFitArgs
    default_weight = 1
    lists = ("DeviceClass",)

    def __init__(self, args: NodeResourcesFitArgs = DEFAULT_ARGS, *, handle: FitHandle | None = None) -> None:
        """Without a handle no device class is known."""
        self._served = ExtendedResourceAmounts(handle) if handle is not None else None
        is_served = handle is not None and handle.feature_gates.enabled("DRAExtendedResource")
        self._device_classes = partial(handle.listers.list, DeviceClass) if handle is not None and is_served else None
        self._rules = rules_of(handle.feature_gates) if handle is not None else USUAL
        resizes = handle is not None and handle.feature_gates.enabled("InPlacePodVerticalScalingSchedulerPreemption")
        #: Says whether a pod counts on its node already; None where such pods are not tried.
        self._is_placed = handle.is_placed if handle is not None and resizes else None
        self._resources = args.scoring_strategy.resources
        self._rule = _rule_of(args.scoring_strategy)
        self._is_least_allocated = args.scoring_strategy.type == LEAST_ALLOCATED
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)

    def pre_filter(self, pod: Pod, nodes: Nodes) -> Demands:
        wanted = nodes.incoming(pod)
        if self._is_placed is not None and pod.spec.node_name and self._is_placed(pod):
            return self._growth(wanted, requests.accounted(pod, self._rules), nodes)
        demands = [
            Demand(PODS, 1, "Too many pods"),
            Demand(CPU, wanted.milli_cpu, "Insufficient cpu"),
            Demand(MEMORY, wanted.memory, "Insufficient memory"),
            Demand(EPHEMERAL_STORAGE, wanted.ephemeral_storage, "Insufficient ephemeral-storage"),
        ]
        for name, amount in sorted(wanted.scalar.items()):
            if not self._is_ignored(name):
                is_served = hints.is_served(self._device_classes or tuple, name)
                demands.append(Demand(nodes.resource(name), amount, f"Insufficient {name}", is_served))
        # An overcommitted node takes a pod that requests nothing of what it lacks; overflows below 0 count as nothing.
        return Demands(demand for demand in demands if demand.amount > 0)

    def _growth(self, wanted: Requests, counted: Requests, nodes: Nodes) -> Demands:
        """Return what a node must have free for a pod that counts there already: what exceeds that."""
        fixed = (
            (CPU, wanted.milli_cpu, counted.milli_cpu, "cpu"),
            (MEMORY, wanted.memory, counted.memory, "memory"),
            (EPHEMERAL_STORAGE, wanted.ephemeral_storage, counted.ephemeral_storage, "ephemeral-storage"),
        )
        demands = [Demand(PODS, 1, "Too many pods")]
        demands += [
            Demand(row, max(0, as_int64(amount - known)), f"Insufficient {name}", whole=amount)
            for row, amount, known, name in fixed
            if amount > 0
        ]
        for name, amount in sorted(wanted.scalar.items()):
            more = as_int64(amount - counted.scalar.get(name, 0))
            if amount > 0 < more and not self._is_ignored(name):
                is_served = hints.is_served(self._device_classes or tuple, name)
                demands.append(Demand(nodes.resource(name), more, f"Insufficient {name}", is_served))
        return Demands(demands)

    def _is_ignored(self, name: str) -> bool:
        return is_extended(name) and (name in self._ignored or name.partition("/")[0] in self._ignored_groups)

    def filter(self, pod: Pod, nodes: Nodes, state: Demands | None) -> Iterator[Reject]:
        if state is None:
            raise WordedError('error reading "PreFilterNodeResourcesFit" from cycleState: not found')
        is_few = nodes.rows is not None and len(nodes.rows) <= FEW_ROWS
        if is_few and all(state.fits(has, taken) for has, taken in nodes.amounts()):
            return
        for demand in state:
            is_short = nodes.free(demand.row) < demand.amount
            if not np.count_nonzero(is_short):
                continue
            has = nodes.allocatable[demand.row]
            if demand.is_served:
                is_short &= has > 0
            # Evicting pods always makes room for one more, however few the node takes.
            unresolvable = demand.row != PODS and has < (demand.whole or demand.amount)
            yield reject(is_short, demand.reason, unresolvable=unresolvable)

    def pre_score(self, pod: Pod, nodes: Nodes) -> CountedResources:
        serves = self._served.serves if self._served is not None else nothing_served
        wanted = _container_requests(pod, nodes)
        counted = count_for(self._resources, wanted, nodes, is_never_zero=True, serves=serves)
        return CountedResources(self._rule, *counted)

    def score(self, pod: Pod, nodes: Nodes, state: CountedResources | None) -> Scores:
        # A profile may enable the score without its preparation.
        counted = self.pre_score(pod, nodes) if state is None else state
        if counted.served and self._served is not None:
            return score_served(counted, nodes, self._served.of)
        return score_rows(counted, nodes, score_all if self._is_least_allocated else None)

    def score_placements(self, group: OwnGroup, nodes: Nodes, found: Sequence[PlacedIn]) -> Sequence[int]:
        return score_fullness(self._resources, nodes, found, lambda pod: _container_requests(pod, nodes))

    def events(self) -> tuple[Awaited, ...]:
        return hints.awaited(self._device_classes, self._rules, resizes=self._is_placed is not None)

    def remedies(self, rejected: RejectedRows) -> Iterator[Need]:
        return hints.remedies(rejected)


class Demand(msgspec.Struct, frozen=True, gc=False):
    """What a node must have free of one resource, and the reason to give if it has not."""

    row: int
    amount: int
    reason: str
    #: Whether devices serve the resource, so that a node without any is for DynamicResources to judge.
    is_served: bool = False
    #: What the pod requests in all, if it has a part of it already.
    whole: int = 0


class Demands(tuple[Demand, ...], Incremental):
    """Everything that a node must have free for a pod."""

    __slots__ = ()

    @property
    def is_by_amounts(self) -> bool:
        return True

    def fits(self, has: list[int], taken: list[int]) -> bool:
        for demand in self:
            free = as_int64(has[demand.row] - taken[demand.row])
            if free < demand.amount and (has[demand.row] > 0 or not demand.is_served):
                return False
        return True

    def changed_rows(self, before: Demands, nodes: Nodes) -> Rows | None:
        if len(self) != len(before):
            return None
        others = NO_ROWS
        for now, then in zip(self, before, strict=True):
            is_other = now.row != then.row or now.reason != then.reason or now.is_served != then.is_served
            if is_other:
                return None
            if now.amount != then.amount:
                rows = _rows_between(then.amount, now.amount, now.row, nodes)
                if rows is None:
                    return None
                others = np.append(others, rows) if len(rows) else others
        return others


def _rows_between(one: int, other: int, resource: int, nodes: Nodes) -> Rows | None:
    """Return the rows that have enough of a resource, free or in all, for one amount and too little for another.

    None if the rows are not as they are.
    """
    low, high = (one, other) if one < other else (other, one)
    all_free = nodes.derived(Free(resource))
    if all_free is None:
        return None
    # As floats, amounts may be rounded, but they stay in order.
    if all_free.lowest[0] > float(high):
        return NO_ROWS
    rows = np.flatnonzero(all_free.lines[0] <= high)
    has = nodes.allocatable[resource, rows]
    free = has - nodes.requested[resource, rows]
    return rows.compress((free < high) & ((free >= low) | ((has >= low) & (has < high))))


class Free(msgspec.Struct, frozen=True):
    """What is free of one resource."""

    row: int

    def of_rows(self, allocatable: NDArray[np.int64], requested: NDArray[np.int64]) -> DerivedLines:
        return (allocatable[self.row : self.row + 1] - requested[self.row : self.row + 1]).astype(np.float64)

    def of_row(self, has: list[int], taken: list[int]) -> list[float]:
        return [float(as_int64(has[self.row] - taken[self.row]))]


def _container_requests(pod: Pod, nodes: Nodes) -> Requests:
    """Return what a pod's containers request: as upstream scores, pod-level requests count only for placed pods."""
    if pod.spec.resources is None:
        return nodes.incoming(pod)
    return requests.incoming(replace(pod, spec=replace(pod.spec, resources=None)))


def _rule_of(strategy: ScoringStrategy) -> ScoreRule:
    match strategy.type:
        case arguments.LEAST_ALLOCATED:
            return _average_of(lambda has, used: has - used)
        case arguments.MOST_ALLOCATED:
            return _average_of(lambda _, used: used)
        case arguments.REQUESTED_TO_CAPACITY_RATIO if strategy.requested_to_capacity_ratio is not None:
            return _curve_of(strategy.requested_to_capacity_ratio.shape)
    known = "LeastAllocated, MostAllocated, or RequestedToCapacityRatio with a shape"
    raise ValueError(f"NodeResourcesFit: scoringStrategy of type {strategy.type!r} is not usable; use {known}")


def _average_of(part: Callable[[Numeric, Numeric], Numeric]) -> ScoreRule:
    """Return the rule that averages, by weight, the percentage that a part of each resource makes up."""

    def rule(
        arithmetic: Arithmetic, counted: tuple[ResourceShare, ...], allocatable: Numeric, requested: Numeric
    ) -> Numeric:
        total = weights = 0
        for share in counted:
            has = allocatable[share.row]
            is_there = arithmetic.is_there(has)
            used = arithmetic.lesser(arithmetic.counted(requested[share.row] + share.amount), has)
            percent = arithmetic.percent(part(has, used), divisor(has, is_there))
            # Not in place: very large amounts give whole numbers, others fractions.
            weight = share.weight if is_there is True else is_there * share.weight
            weighted = percent if share.weight == 1 and is_there is True else percent * weight
            total = arithmetic.counted(total + weighted)
            weights += weight
        return arithmetic.whole(total / (weights + (weights == 0)))

    return rule


def _curve_of(shape: Sequence[UtilizationShapePoint]) -> ScoreRule:
    """Return the rule that averages, by weight, a curve over the used percentage; what scores 0 does not weigh."""
    curve = curve_of(shape)

    def rule(
        arithmetic: Arithmetic, counted: tuple[ResourceShare, ...], allocatable: Numeric, requested: Numeric
    ) -> Numeric:
        total = weights = 0
        for share in counted:
            has = allocatable[share.row]
            is_there = arithmetic.is_there(has)
            used = arithmetic.counted(requested[share.row] + share.amount)
            percent = arithmetic.percent(arithmetic.lesser(used, has), divisor(has, is_there))
            percent = arithmetic.choose(used > has, MAX_UTILIZATION, percent)
            height = arithmetic.look_up(curve, arithmetic.within(percent, MAX_UTILIZATION))
            weight = ((height > 0) & is_there) * share.weight
            total += height * weight
            weights += weight
        # To the nearest, halves up.
        return (2 * total + weights) // (2 * (weights + (weights == 0)))

    return rule


class FreeRoom(msgspec.Struct, frozen=True):
    """By resource, a hundred times what is free, then the capacity; at last, what the resources that are there weigh.

    Where nothing is there to divide by, 1 stands.
    """

    rows: tuple[int, ...]
    weights: tuple[int, ...]

    def of_rows(self, allocatable: NDArray[np.int64], requested: NDArray[np.int64]) -> DerivedLines:
        rows = list(self.rows)
        has = allocatable[rows]
        free = (has - requested[rows]) * float(MAX_SCORE)
        weighs = np.array(self.weights, dtype=np.int64) @ (has != 0)
        return np.vstack((free, has + (has == 0), np.maximum(weighs, 1)))

    def of_row(self, has: list[int], taken: list[int]) -> list[float]:
        free, capacities, weighs = [], [], 0
        for row, weight in zip(self.rows, self.weights, strict=True):
            capacity = has[row]
            free.append(float(as_int64(capacity - taken[row])) * MAX_SCORE)
            capacities.append(float(capacity or 1))
            weighs += weight if capacity else 0
        return [*free, *capacities, float(weighs or 1)]


def _are_exact(derived: Derived, shares: tuple[ResourceShare, ...]) -> bool:
    """Say whether floats hold what is divided, so that no quotient is rounded up, and nothing overflows."""
    count = len(shares)
    if min(derived.lowest[count:-1]) < 0 or MAX_SCORE * max(derived.highest[count:-1]) >= EXACT:
        return False
    # Less than nothing may be off, and comes to nothing.
    is_near = max(derived.highest[:count]) < EXACT and min(derived.lowest[:count]) > -OVERFLOWING
    return is_near and all(abs(share.amount) < EXACT for share in shares)


def score_all(shares: tuple[ResourceShare, ...], nodes: Nodes) -> Numbers | None:
    """Return the scores of rows for a pod that adds these shares; None where only the general rule is exact."""
    rule = FreeRoom(tuple([share.row for share in shares]), tuple([share.weight for share in shares]))
    derived = nodes.derived(rule) if shares else None
    count = len(shares)
    if derived is None or not _are_exact(derived, shares):
        return None
    lines, amounts = derived.lines, [float(share.amount) * MAX_SCORE for share in shares]
    parts = lines[:count] - np.array([amounts]).T
    if any(map(gt, amounts, derived.lowest)):
        np.maximum(parts, 0.0, out=parts)
    parts /= lines[count:-1]
    # Narrow whole numbers are several times as fast as others; to make them cuts fractions off.
    narrow: type[np.signedinteger[Any]] = np.int16 if sum(rule.weights) <= MOST_NARROW else np.int32
    percents = parts.astype(narrow)
    if set(rule.weights) != {1}:
        percents *= np.array([rule.weights], dtype=narrow).T
    total: Numbers = percents[0]
    for percent in percents[1:]:
        total += percent
    if derived.lowest[-1] == derived.highest[-1]:
        total //= narrow(derived.highest[-1])
        return total
    weighed: DerivedLines = total / lines[-1]
    return weighed.astype(narrow)

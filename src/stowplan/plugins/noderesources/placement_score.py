"""How full the nodes of a placement would be with a pod group on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stowplan.framework.pod_groups import PlacedIn
from stowplan.model.pod import Pod
from stowplan.model.quantity import as_int64
from stowplan.model.requests import Requests
from stowplan.plugins.noderesources.allocation import ONE_ROW
from stowplan.plugins.noderesources.arguments import ResourceSpec
from stowplan.table.columns import Mask, Scores
from stowplan.table.nodes import Nodes
from stowplan.table.resources import EPHEMERAL_STORAGE, NON_ZERO_CPU, NON_ZERO_MEMORY


def score_fullness(
    resources: Sequence[ResourceSpec], nodes: Nodes, found: Sequence[PlacedIn], requests_of: Callable[[Pod], Requests]
) -> list[int]:
    """Return of each placement the weighted mean, over the resources, of the percentage that would be requested."""
    pods = {id(each.pod): each.pod for one in found for each in one.assignments}
    amounts = {key: _amounts(requests_of(pod), resources) for key, pod in pods.items()}
    asked = [_added_up([amounts[id(each.pod)] for each in one.assignments], len(resources)) for one in found]
    return [_score(resources, nodes, one.placement.mask, sums) for one, sums in zip(found, asked, strict=True)]


def _score(resources: Sequence[ResourceSpec], nodes: Nodes, mask: Mask | None, asked: Sequence[int]) -> int:
    total = weights = 0
    for spec, amount in zip(resources, asked, strict=True):
        row = _row(spec.name, nodes)
        if row > NON_ZERO_MEMORY and not amount:
            # An extended resource counts only if somebody requests it.
            continue
        each = nodes.allocatable[row]
        has = _sum(each, mask)
        if has:
            # What is taken on nodes that have none of it is not looked at.
            taken = amount + _sum(nodes.requested[row] * (each != 0), mask)
            total += ONE_ROW.percent(min(as_int64(taken), has), has) * spec.weight
            weights += spec.weight
    return total // weights if weights else 0


def _added_up(amounts: Sequence[Sequence[int]], resources: int) -> list[int]:
    return [sum(each) for each in zip(*amounts, strict=True)] if amounts else [0] * resources


def _amounts(requests: Requests, resources: Sequence[ResourceSpec]) -> tuple[int, ...]:
    fixed = {
        "cpu": requests.non_zero_milli_cpu,
        "memory": requests.non_zero_memory,
        "ephemeral-storage": requests.ephemeral_storage,
    }
    return tuple(fixed[one.name] if one.name in fixed else requests.scalar.get(one.name, 0) for one in resources)


def _row(resource: str, nodes: Nodes) -> int:
    fixed = {"cpu": NON_ZERO_CPU, "memory": NON_ZERO_MEMORY, "ephemeral-storage": EPHEMERAL_STORAGE}
    return fixed[resource] if resource in fixed else nodes.resource(resource)


def _sum(amounts: Scores, mask: Mask | None) -> int:
    return int(amounts.sum() if mask is None else amounts[mask].sum())

"""What every node has, what is taken of it and what is free: read from the columns, for `stowplan nodes`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from stowplan.cache.cache import Cache
from stowplan.model.node import Node, Taint
from stowplan.table.resources import FIXED


class NodeUsage(msgspec.Struct, frozen=True, rename="camel"):
    """One node. Amounts are millicores for cpu, and whole units for the rest."""

    name: str
    #: `Ready`, and what keeps pods away: `SchedulingDisabled`, `NotReady`.
    status: str
    labels: Mapping[str, str]
    taints: tuple[str, ...]
    #: Resource by resource: what there is to give, and what pods request of it.
    allocatable: Mapping[str, int]
    requested: Mapping[str, int]

    def share(self, resource: str) -> float:
        """Return which part of a resource is taken; 0 of a resource that the node does not have."""
        there_is = self.allocatable.get(resource, 0)
        return self.requested.get(resource, 0) / there_is if there_is else 0.0


def usage(cache: Cache, wanted: Callable[[Node], bool] = lambda node: True) -> list[NodeUsage]:
    """Describe the nodes that somebody wants to know about, in the order in which they came."""
    return [_of(cache, row, node) for row, node in enumerate(cache.table.nodes) if wanted(node)]


def _of(cache: Cache, row: int, node: Node) -> NodeUsage:
    resources = cache.table.resources
    has, taken = resources.amounts(row)
    named = [(name, index) for name, index in resources.index_of.items() if name in FIXED or has[index] or taken[index]]
    return NodeUsage(
        name=node.metadata.name,
        status=status_of(node),
        labels=node.metadata.labels,
        taints=tuple(_taint(taint) for taint in node.spec.taints),
        allocatable={name: has[index] for name, index in named},
        requested={name: taken[index] for name, index in named},
    )


def status_of(node: Node) -> str:
    """Return the status as kubectl writes it; a node that says nothing about being ready counts as ready."""
    ready = next((one.status for one in node.status.conditions if one.type == "Ready"), "True")
    words = ["Ready" if ready == "True" else "NotReady"]
    if node.spec.unschedulable:
        words.append("SchedulingDisabled")
    return ",".join(words)


def _taint(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"

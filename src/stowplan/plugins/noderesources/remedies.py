"""What would help a pod for which no node has enough: to request less, or nothing, of what is short."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace

from stowplan.framework.remedies import Need, RejectedRows, Remedy, with_containers
from stowplan.model import requests
from stowplan.model.meta import ResourceList
from stowplan.model.pod import Container, Pod
from stowplan.model.quantity import Quantity
from stowplan.model.quantity_text import BINARY_SI

_MEBIBYTE: Final = 1024 * 1024
_BYTES: Final = ("memory", "ephemeral-storage")
#: Of a pod that asks for more than this, nobody wants to read what it should not ask for, or to wait for that.
_MOST_DEMANDS: Final = 64


def remedies(rejected: RejectedRows) -> Iterator[Need]:
    """Say for each resource which rows are short of it, and by how much."""
    has, taken = rejected.nodes.allocatable, rejected.nodes.requested
    pods = rejected.nodes.resource("pods")
    is_full = rejected.mask & (has[pods] - taken[pods] < 1)
    if is_full.any():
        yield Need(FewerPods(), is_full)
    amounts = _amounts(rejected.pod)
    for name, amount in amounts.items() if len(amounts) <= _MOST_DEMANDS else ():
        row = rejected.nodes.resource(name)
        free = np.maximum(has[row] - taken[row], 0)
        is_short = free < amount
        if (rejected.mask & is_short).any():
            # Whether the plugin minds is for the plugin to say: it may be told to ignore a resource.
            is_short &= rejected.still_rejected(_requesting_only(rejected.pod, name, amounts))
        yield Need(RequestNone(name), is_short & (free == 0))
        yield Need(RequestLess(name), is_short & (free > 0), amount - free, amount)


@dataclass(frozen=True, slots=True)
class RequestLess(Remedy):
    """Request less of a resource: `least` for the nearest node, `most` for all (millicores for cpu, else units)."""

    resource: str
    least: int = 0
    most: int = 0

    def with_amounts(self, least: int, most: int) -> RequestLess:
        return RequestLess(self.resource, least, most)

    def relax(self, pod: Pod) -> Pod:
        left = requests.request_list(pod)[self.resource] - _quantity(self.resource, self.most)
        return _with_request(pod, self.resource, left)

    def __str__(self) -> str:
        low, high = _amount_text(self.resource, self.least), _amount_text(self.resource, self.most)
        return f"with {high if low == high else f'{low} to {high}'} less {self.resource}"


@dataclass(frozen=True, slots=True)
class RequestNone(Remedy):
    """Request nothing of a resource: the node has none of it left, or never had any."""

    resource: str

    def relax(self, pod: Pod) -> Pod:
        return _with_request(pod, self.resource, None)

    def __str__(self) -> str:
        return f"without the pod's request for {self.resource}"


@dataclass(frozen=True, slots=True)
class FewerPods(Remedy):
    """Have fewer pods on the node; nothing about this pod would help."""

    def __str__(self) -> str:
        return "with fewer pods on the node"


def _amounts(pod: Pod) -> dict[str, int]:
    wanted = requests.incoming(pod)
    fixed = {"cpu": wanted.milli_cpu, "memory": wanted.memory, "ephemeral-storage": wanted.ephemeral_storage}
    return {name: amount for name, amount in {**fixed, **wanted.scalar}.items() if amount}


def _requesting_only(pod: Pod, resource: str, amounts: dict[str, int]) -> Pod:
    for other in amounts:
        if other != resource:
            pod = _with_request(pod, other, None)
    return pod


def _quantity(resource: str, amount: int) -> Quantity:
    """Return an amount in the table's units as a quantity."""
    if resource == "cpu":
        return Quantity.of_milli(amount)
    return Quantity.of(amount, BINARY_SI) if resource in _BYTES else Quantity.of(amount)


def _amount_text(resource: str, amount: int) -> str:
    """Write an amount for a reader: bytes beyond a mebibyte are rounded up to whole ones."""
    if resource in _BYTES and amount > _MEBIBYTE:
        amount = -(-amount // _MEBIBYTE) * _MEBIBYTE
    return str(_quantity(resource, amount))


def _with_request(pod: Pod, resource: str, total: Quantity | None) -> Pod:
    """Return the pod as if it requested `total` of a resource (None: nothing), all of it in its first container."""
    bare = with_containers(pod, lambda container: _requesting(container, resource, None))
    spec = replace(bare.spec, overhead=_without(bare.spec.overhead, resource))
    if spec.resources is not None:
        resources = replace(spec.resources, requests=_without(spec.resources.requests, resource))
        spec = replace(spec, resources=resources)
    if total is not None and spec.containers:
        first, *others = spec.containers
        spec = replace(spec, containers=(_requesting(first, resource, total), *others))
    return replace(pod, spec=spec)


def _requesting(container: Container, resource: str, amount: Quantity | None) -> Container:
    requested = _without(container.resources.requests, resource)
    if amount is not None:
        requested[resource] = amount
    return replace(container, resources=replace(container.resources, requests=requested))


def _without(resources: ResourceList, resource: str) -> ResourceList:
    return {name: amount for name, amount in resources.items() if name != resource}

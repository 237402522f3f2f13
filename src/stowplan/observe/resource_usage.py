"""Who takes how much: what every node has, what is taken of it and what is free, for `stowplan nodes`; and on
`/metrics/resources` what every pod of the cluster asks for, resource by resource.

There are several lines for every pod, so that text is written directly, and outside the event loop
(`pod_resources_text` reads nothing but what it is given).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from stowplan.cache.cache import Cache
from stowplan.model import requests
from stowplan.model.meta import ResourceList
from stowplan.model.node import Node, Taint
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity
from stowplan.model.quantity_text import INT64_MAX
from stowplan.table.resources import FIXED

_EXPECTED: Final = (
    "broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod for resources along"
    " with the unit for the resource if any."
)
_HELP: Final = {
    "kube_pod_resource_limit": f"Resources limit for workloads on the cluster, {_EXPECTED}",
    "kube_pod_resource_request": f"Resources requested by workloads on the cluster, {_EXPECTED}",
}
_UNITS: Final = {"cpu": "cores", "memory": "bytes", "storage": "bytes", "ephemeral-storage": "bytes"}


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


def node_usage(cache: Cache, wanted: Callable[[Node], bool] = lambda node: True) -> list[NodeUsage]:
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


def pod_resources_text(pods: Iterable[Pod]) -> bytes:
    """Return the metrics in Prometheus' text format; pods that have ended on their nodes are left out."""
    lines: dict[str, list[str]] = {name: [] for name in _HELP}
    for pod in pods:
        if not (pod.node_name and pod.is_terminal):
            whose = _labels(pod)
            lines["kube_pod_resource_limit"] += _amounts(whose, requests.limit_list(pod))
            lines["kube_pod_resource_request"] += _amounts(whose, requests.request_list(pod))
    written = []
    for name, values in lines.items():
        if values:
            written += [f"# HELP {name} [STABLE] {_HELP[name]}", f"# TYPE {name} gauge"]
            written += [f"{name}{value}" for value in values]
    return "".join(f"{line}\n" for line in written).encode()


def _labels(pod: Pod) -> str:
    # None of these may hold a character that would have to be escaped.
    where = f'namespace="{pod.namespace}",pod="{pod.name}",node="{pod.node_name}"'
    return f'{where},scheduler="{pod.spec.scheduler_name}",priority="{pod.priority}"'


def _amounts(whose: str, amounts: ResourceList) -> Iterator[str]:
    for resource, quantity in amounts.items():
        if not quantity.is_zero:
            yield f'{{{whose},resource="{resource}",unit="{_unit(resource)}"}} {_amount(quantity)}'


def _amount(quantity: Quantity) -> float:
    # Thousandths end at the bounds of an int64; beyond them whole units are close enough.
    if abs(quantity.milli_value) < INT64_MAX:
        return quantity.milli_value / 1000
    return float(quantity.value)


def _unit(resource: str) -> str:
    if resource.startswith("hugepages-"):
        return "bytes"
    if resource.startswith("attachable-volumes-"):
        return "integer"
    return _UNITS.get(resource, "")

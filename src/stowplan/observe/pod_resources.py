"""`/metrics/resources`: what every pod of the cluster asks for, resource by resource.

There are several lines for every pod, so the text is written directly, and outside the event loop (`text` reads nothing
but what it is given).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from stowplan.model import requests
from stowplan.model.meta import ResourceList
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity
from stowplan.model.quantity_text import INT64_MAX

_EXPECTED: Final = (
    "broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod for resources along"
    " with the unit for the resource if any."
)
_HELP: Final = {
    "kube_pod_resource_limit": f"Resources limit for workloads on the cluster, {_EXPECTED}",
    "kube_pod_resource_request": f"Resources requested by workloads on the cluster, {_EXPECTED}",
}
_UNITS: Final = {"cpu": "cores", "memory": "bytes", "storage": "bytes", "ephemeral-storage": "bytes"}


def text(pods: Iterable[Pod]) -> bytes:
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

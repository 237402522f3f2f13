"""`/metrics/resources`: what every pod of the cluster asks for, resource by resource."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from stowplan.model import requests
from stowplan.model.meta import ResourceList
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity
from stowplan.model.quantity_text import INT64_MAX

_LABELS: Final = ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit")
_ALIKE: Final = (
    "for workloads on the cluster, broken down by pod. This shows the resource usage the scheduler and kubelet expect"
    " per pod for resources along with the unit for the resource if any."
)
_REQUEST_HELP: Final = f"[STABLE] Resources requested {_ALIKE.replace('for workloads', 'by workloads', 1)}"
_LIMIT_HELP: Final = f"[STABLE] Resources limit {_ALIKE}"
_UNITS: Final = {"cpu": "cores", "memory": "bytes", "storage": "bytes", "ephemeral-storage": "bytes"}


class PodResources(Collector):
    """Reads the pods whenever somebody asks: placed ones and those that wait."""

    def __init__(self, pods: Callable[[], Iterable[Pod]]) -> None:
        self._pods = pods
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        requested = GaugeMetricFamily("kube_pod_resource_request", _REQUEST_HELP, labels=_LABELS)
        limits = GaugeMetricFamily("kube_pod_resource_limit", _LIMIT_HELP, labels=_LABELS)
        for pod in self._pods():
            if not (pod.node_name and pod.is_terminal):
                _add(requested, pod, requests.request_list(pod))
                _add(limits, pod, requests.limit_list(pod))
        yield from (family for family in (limits, requested) if family.samples)


def _add(family: GaugeMetricFamily, pod: Pod, amounts: ResourceList) -> None:
    whose = (pod.namespace, pod.name, pod.node_name, pod.spec.scheduler_name, str(pod.priority))
    for resource, quantity in amounts.items():
        if not quantity.is_zero:
            family.add_metric((*whose, resource, _unit(resource)), _amount(quantity))


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

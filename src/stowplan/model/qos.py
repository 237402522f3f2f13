"""The quality-of-service class of a pod, from its cpu and memory alone."""

from __future__ import annotations

from collections.abc import Iterable

from stowplan.model.meta import ResourceList
from stowplan.model.pod import Pod
from stowplan.model.resource_names import CPU, MEMORY

GUARANTEED, BURSTABLE, BEST_EFFORT = "Guaranteed", "Burstable", "BestEffort"


def qos_class(pod: Pod) -> str:
    """Guaranteed: everyone has cpu and memory limits, and requests equal them. BestEffort: nobody says anything.

    Resources of the pod as a whole, where set, speak for its containers. The status is not asked.
    """
    parts = tuple(container.resources for container in pod.spec.containers + pod.spec.init_containers)
    if pod.spec.resources is not None:
        parts = (pod.spec.resources,)
    requests = _total(part.requests for part in parts)
    limits = _total(part.limits for part in parts)
    if not requests and not limits:
        return BEST_EFFORT
    is_limited = all(_positive(part.limits).keys() == {CPU, MEMORY} for part in parts)
    return GUARANTEED if is_limited and requests == limits else BURSTABLE


def _positive(resources: ResourceList) -> ResourceList:
    return {name: amount for name, amount in resources.items() if name in (CPU, MEMORY) and amount.sign > 0}


def _total(lists: Iterable[ResourceList]) -> ResourceList:
    total: ResourceList = {}
    for resources in lists:
        for name, amount in _positive(resources).items():
            total[name] = total[name] + amount if name in total else amount
    return total

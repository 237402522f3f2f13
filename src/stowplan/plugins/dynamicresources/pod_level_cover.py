"""Whether what is set on a pod itself covers its containers together with what their devices take of the node.

The API server checks the same of the containers alone: what devices take is known only once they are given.
"""

from __future__ import annotations

from collections.abc import Sequence

from stowplan.model import requests
from stowplan.model.meta import ResourceList
from stowplan.model.pod import NodeAllocatableResourceClaimStatus, Pod
from stowplan.model.requests import HUGE_PAGES_PREFIX, is_pod_level

Statuses = Sequence[NodeAllocatableResourceClaimStatus]


def exceeded(pod: Pod, statuses: Statuses) -> str:
    """Return which request or limit of the pod is exceeded, in upstream's words; "" if none is."""
    if pod.spec.resources is None:
        return ""
    asked, limits = pod.spec.resources.requests, pod.spec.resources.limits
    return (
        _exceeded_request(pod, asked, statuses)
        or _exceeded_sum(pod, limits, statuses)
        or _exceeded_share(pod, limits, statuses)
    )


def request_is_exceeded(name: str) -> str:
    """Return upstream's words for a request of a pod that is too small."""
    text = "is insufficient to cover the aggregated container and node-allocatable DRA requests"
    return f"pod level request for {name} {text}"


def _exceeded_request(pod: Pod, asked: ResourceList, statuses: Statuses) -> str:
    sums = requests.container_request_list(pod, tuple(map(requests.taken_by_devices, statuses)))
    short = (name for name in sorted(asked) if is_pod_level(name) and name in sums and sums[name] > asked[name])
    return next(map(request_is_exceeded, short), "")


def _exceeded_sum(pod: Pod, limits: ResourceList, statuses: Statuses) -> str:
    """Huge pages cannot be overcommitted, so that their limits are added up."""
    taken = [
        {name: amount for name, amount in requests.taken_by_devices(status).items() if _is_huge_pages(name)}
        for status in statuses
    ]
    sums = requests.container_limit_list(pod, tuple(taken))
    for name in sorted(limits):
        if _is_huge_pages(name) and name in sums and sums[name] > limits[name]:
            text = "is insufficient to cover the aggregated container and node-allocatable DRA limits"
            return f"pod level limit for {name} {text}"
    return ""


def _exceeded_share(pod: Pod, limits: ResourceList, statuses: Statuses) -> str:
    for container in pod.spec.containers:
        taken = requests.taken_by_container(container.name, statuses)
        for name, limit in sorted(container.resources.limits.items()):
            if _is_huge_pages(name) or name not in limits:
                continue
            if (limit + taken[name] if name in taken else limit) > limits[name]:
                text = f"is insufficient to cover the limit and DRA overhead for container {container.name}"
                return f"pod level limit for {name} {text}"
    return ""


def _is_huge_pages(name: str) -> bool:
    return name.startswith(HUGE_PAGES_PREFIX)

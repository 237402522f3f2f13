"""Extended resources that devices serve: which class stands for a resource, and the claim that asks for its devices.

A pod asks for them as it would ask for any resource. Where the node itself has not got the resource, a claim is made
that asks for as many devices: one for the whole pod, with a request by container and resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from stowplan.model.dra import (
    DEVICE_CLASS_PREFIX,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from stowplan.model.meta import NamespacedMeta, OwnerReference
from stowplan.model.pod import Container, ExtendedResourceRequest, Pod
from stowplan.model.requests import is_extended

#: Marks a claim that was made for the extended resources of a pod.
ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
#: The claim goes by this name until it is made; no real one can be called so.
NAME_IN_MEMORY: Final = "<extended-resources>"

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)

Mappings = tuple[ExtendedResourceRequest, ...]


def may_be_served(resource: str) -> bool:
    """Say whether devices could stand for a resource, by its name."""
    return is_extended(resource) or resource.startswith(DEVICE_CLASS_PREFIX)


def classes_by_resource(classes: Iterable[DeviceClass]) -> dict[str, str]:
    """Return the class that serves each resource; of several the newest, of those the first by name."""
    served: dict[str, str] = {}
    by_name = sorted(classes, key=lambda found: found.name, reverse=True)
    # What comes last serves the resource.
    for found in sorted(by_name, key=lambda found: found.metadata.creation_timestamp or _LONG_AGO):
        served[DEVICE_CLASS_PREFIX + found.name] = found.name
        if found.spec.extended_resource_name is not None:
            served[found.spec.extended_resource_name] = found.name
    return served


def pod_behind(claim: ResourceClaim) -> str:
    """Return the uid of the pod whose extended resources a claim is for, "" if it is for none."""
    if claim.metadata.annotations.get(ANNOTATION) != "true":
        return ""
    return claim.controller.uid if claim.controller is not None else ""


def claim_in_memory(pod: Pod) -> ResourceClaim:
    """Return the claim for the extended resources of a pod, which asks for nothing yet."""
    owner = OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.uid, controller=True)
    metadata = NamespacedMeta(
        namespace=pod.namespace,
        name=NAME_IN_MEMORY,
        # Like no uid of a real claim, and the same whenever the pod is tried.
        uid=f"{NAME_IN_MEMORY}/{pod.uid}",
        generate_name=f"{pod.name}-extended-resources-",
        annotations={ANNOTATION: "true"},
        owner_references=(owner,),
    )
    return ResourceClaim(metadata=metadata)


def is_in_memory(claim: ResourceClaim) -> bool:
    return claim.name == NAME_IN_MEMORY


def asking_for(claim: ResourceClaim, requests: Sequence[DeviceRequest]) -> ResourceClaim:
    return msgspec.structs.replace(claim, spec=ResourceClaimSpec(devices=DeviceClaim(requests=tuple(requests))))


def requests_of(pod: Pod, class_of: Mapping[str, str]) -> tuple[list[DeviceRequest], Mappings]:
    """Return the requests that stand for some resources of a pod, by their class, and who of its containers has them.

    Init containers that end use the devices of those that run on, or of each other, before they ask for more.
    """
    requests: list[DeviceRequest] = []
    mappings: list[ExtendedResourceRequest] = []
    for resource in sorted(class_of):
        for_resource = _OfResource(pod, resource, class_of[resource])
        requests += for_resource.requests
        mappings += for_resource.mappings
    return sorted(requests, key=lambda request: request.name), tuple(mappings)


class _OfResource:
    """The requests and mappings for one resource."""

    def __init__(self, pod: Pod, resource: str, class_name: str) -> None:
        self._resource, self._class_name = resource, class_name
        containers = (*pod.spec.init_containers, *pod.spec.containers)
        ends = [
            index < len(pod.spec.init_containers) and not container.is_restartable_init
            for index, container in enumerate(containers)
        ]
        lasting: list[DeviceRequest | None] = [None] * len(containers)
        self.mappings: list[ExtendedResourceRequest] = []
        for index, container in enumerate(containers):
            if not ends[index]:
                lasting[index] = self._ask(index, container, ())
        self.requests = [request for request in lasting if request is not None]
        self._add_passing([(index, one) for index, one in enumerate(containers) if ends[index]], lasting)

    def _add_passing(self, passing: list[tuple[int, Container]], lasting: list[DeviceRequest | None]) -> None:
        """Add what containers ask for that end before the others start: only the largest of them, shared by all."""
        start = len(self.mappings)
        own = [self._ask(index, one, [later for later in lasting[index:] if later]) for index, one in passing]
        asked = [request for request in own if request is not None]
        if not asked:
            return
        largest = max(asked, key=_count)
        others = {request.name for request in asked}
        for position in range(start, len(self.mappings)):
            if self.mappings[position].request_name in others:
                self.mappings[position] = msgspec.structs.replace(self.mappings[position], request_name=largest.name)
        self.requests.insert(0, largest)

    def _ask(self, index: int, container: Container, reusable: Sequence[DeviceRequest]) -> DeviceRequest | None:
        """Map a container to requests that it can use, and to one of its own for what is missing."""
        requested = container.resources.requests
        wanted = requested[self._resource].value if self._resource in requested else 0
        has = 0
        for request in reusable if wanted else ():
            has += _count(request)
            self._map(container, request.name)
            if has >= wanted:
                return None
        if not wanted:
            return None
        name = f"container-{index}-request-{sorted(requested).index(self._resource)}"
        self._map(container, name)
        exactly = ExactDeviceRequest(device_class_name=self._class_name, count=wanted - has)
        return DeviceRequest(name=name, exactly=exactly)

    def _map(self, container: Container, request_name: str) -> None:
        self.mappings.append(
            ExtendedResourceRequest(
                container_name=container.name, resource_name=self._resource, request_name=request_name
            )
        )


def _count(request: DeviceRequest) -> int:
    return request.exactly.count if request.exactly is not None else 0

"""Devices that take of what the node itself has to give, such as memory: how much, and whether it is there.

What the devices of a claim take is written into the status of the pod, and counts on its node from then on. A claim
that takes of a node can have one user only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec
import numpy as np

from stowplan.config.feature_gates import FeatureGates, rules_of
from stowplan.framework.contract import Reject, reject
from stowplan.model import requests
from stowplan.model.device_pool import NodeAllocatableResourceMapping, ResourceSlice
from stowplan.model.dra import AllocationResult, DeviceRequestAllocationResult, ResourceClaim
from stowplan.model.meta import ResourceList
from stowplan.model.pod import NodeAllocatableResourceClaimStatus, Pod
from stowplan.model.quantity import Quantity
from stowplan.model.requests import CPU, EPHEMERAL_STORAGE, HUGE_PAGES_PREFIX, MEMORY, amount_of
from stowplan.plugins.dynamicresources.claim_requests import AllocationError
from stowplan.table import resources
from stowplan.table.columns import Mask
from stowplan.table.nodes import Nodes

Statuses = tuple[NodeAllocatableResourceClaimStatus, ...]
_Mappings = Mapping[str, NodeAllocatableResourceMapping]

_ROWS: Final = {CPU: resources.CPU, MEMORY: resources.MEMORY, EPHEMERAL_STORAGE: resources.EPHEMERAL_STORAGE}


class NodeRejection(NamedTuple):
    """Why a node cannot take a pod; preempting others does not help if it is unresolvable."""

    reason: str
    unresolvable: bool


@dataclass(frozen=True, slots=True)
class Consumers:
    """Counts the pods that use a claim which takes of its node."""

    namespace: str
    claim: str

    def amount(self, pod: Pod) -> int:
        statuses = pod.status.node_allocatable_resource_claim_statuses
        is_user = any(status.resource_claim_name == self.claim for status in statuses)
        return int(is_user and pod.namespace == self.namespace)


class NodeAllocatable:
    """What devices take of their nodes. Nothing at all while the feature is off."""

    def __init__(self, gates: FeatureGates) -> None:
        self.is_on = gates.enabled("DRANodeAllocatableResources")
        self._rules = rules_of(gates)
        # By pool and device, as upstream looks them up: whichever the driver.
        self._mappings: dict[tuple[str, str], _Mappings] = {}

    def refresh(self, slices: Iterable[ResourceSlice]) -> None:
        """Take in the slices as they are now."""
        self._mappings = {
            (found.spec.pool.name, device.name): device.node_allocatable_resource_mappings
            for found in sorted(slices, key=lambda found: found.name, reverse=True)
            for device in found.spec.devices
            if self.is_on
        }

    def is_taken_by(self, results: Iterable[DeviceRequestAllocationResult]) -> bool:
        """Say whether some device that was given takes anything of its node."""
        return self.is_on and any(self._mappings.get((each.pool, each.device)) for each in results)

    def taken(
        self,
        claims: Iterable[tuple[str, ResourceClaim]],
        given: Iterable[tuple[ResourceClaim, AllocationResult]],
        pod: Pod,
    ) -> Statuses:
        """Return what is taken by devices that would be given; `claims` are those of the pod by their names in it.

        Raise AllocationError if that cannot be said.
        """
        if not self.is_on:
            return ()
        users = _users(claims, pod)
        amounts = [(claim, self._amounts(claim, result.devices.results)) for claim, result in given]
        statuses = (
            NodeAllocatableResourceClaimStatus(
                resource_claim_name=claim.name, containers=tuple(users.get(claim.uid, ())), resources=amount
            )
            for claim, amount in amounts
            if amount
        )
        return tuple(sorted(statuses, key=lambda status: status.resource_claim_name))

    def _amounts(self, claim: ResourceClaim, results: Iterable[DeviceRequestAllocationResult]) -> ResourceList:
        total: ResourceList = {}
        for result in results:
            for name, mapping in self._mappings.get((result.pool, result.device), {}).items():
                amount = _amount(claim, result, name, mapping)
                if amount is not None:
                    total[name] = total[name] + amount if name in total else amount
        return total

    def unfit(self, pod: Pod, statuses: Statuses, nodes: Nodes, position: int) -> list[NodeRejection]:
        """Return why the node at a position cannot give what is taken, with what the pod itself requests."""
        for status in statuses:
            if not status.containers:
                text = "node-allocatable resource claim not referenced by any container within the pod"
                return [NodeRejection(f"claim {status.resource_claim_name}: {text}", unresolvable=True)]
        beside = tuple(status.resources for status in statuses)
        # The answer depends on what the pod requests.
        nodes.incoming(pod)
        demand = requests.request_list(pod, self._rules, beside)
        if self._rules.pod_level and pod.spec.resources is not None and pod.spec.resources.requests:
            sums = requests.request_list(pod, requests.RequestRules(pod_level=False), beside)
            for name in sorted(demand):
                if name in sums and sums[name] > demand[name]:
                    text = "is insufficient to cover the aggregated container and node-allocatable DRA requests"
                    return [NodeRejection(f"pod level request for {name} {text}", unresolvable=True)]
        return list(_shortages(demand, nodes, position))


def taking_of_node(pod: Pod, statuses: Statuses) -> Pod:
    """Return a pod as it counts on its node."""
    status = msgspec.structs.replace(pod.status, node_allocatable_resource_claim_statuses=statuses)
    return msgspec.structs.replace(pod, status=status)


def shared(claim: ResourceClaim, pod: Pod, nodes: Nodes) -> Iterator[tuple[Mask, str]]:
    """Yield the rows where a claim that takes of its node has a user already, with the reason."""
    users = nodes.count(Consumers(pod.namespace, claim.name))
    yield users > 1, f"node allocatable resource claim {claim.name} shared by multiple pods"
    yield users == 1, f"node allocatable resource claim {claim.name} is already used by another pod"


def rejections(found: Mapping[int, Sequence[NodeRejection]], count: int) -> Iterator[Reject]:
    """Yield what was found about rows, of which there are so many, reason by reason."""
    is_unresolvable = np.zeros(count, dtype=bool)
    masks: dict[str, Mask] = {}
    for row, said in found.items():
        is_unresolvable[row] = any(each.unresolvable for each in said)
        for each in said:
            masks.setdefault(each.reason, np.zeros(count, dtype=bool))[row] = True
    for reason, mask in masks.items():
        yield reject(mask, reason, unresolvable=is_unresolvable)


def _users(claims: Iterable[tuple[str, ResourceClaim]], pod: Pod) -> dict[str, list[str]]:
    """Return, by uid of the claim, the containers that refer to it."""
    uid_of = {name: claim.uid for name, claim in claims}
    users: dict[str, list[str]] = {}
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        for reference in container.resources.claims:
            if reference.name in uid_of:
                users.setdefault(uid_of[reference.name], []).append(container.name)
    return users


def _amount(
    claim: ResourceClaim, result: DeviceRequestAllocationResult, resource: str, mapping: NodeAllocatableResourceMapping
) -> Quantity | None:
    """Return what one device takes of a resource; None if the mapping does not concern this allocation."""
    key, factor = mapping.capacity_key, mapping.allocation_multiplier
    if not key:
        return factor if factor is not None else Quantity.zero()
    if not result.consumed_capacity:
        raise AllocationError(
            f"claim {claim.key}, device {result.device}: ConsumedCapacity is nil, but Capacity key '{key}' is set in"
            f" NodeAllocatableResourceMappings for resource {resource}"
        )
    consumed = result.consumed_capacity.get(key)
    return consumed if consumed is None or factor is None else consumed * factor


def _shortages(demand: ResourceList, nodes: Nodes, position: int) -> Iterator[NodeRejection]:
    huge_pages = sorted(name for name in demand if name.startswith(HUGE_PAGES_PREFIX))
    rows = _ROWS | {name: nodes.resource(name) for name in huge_pages}
    allocatable, requested = nodes.allocatable, nodes.requested
    for name, row in rows.items():
        wanted = amount_of(name, demand.get(name, Quantity.zero()))
        has, taken = int(allocatable[row, position]), int(requested[row, position])
        # As upstream: huge pages of which a node has given away too many are short even of none.
        if wanted > has - taken and (wanted or name in huge_pages):
            yield NodeRejection(f"Insufficient {name}", unresolvable=wanted > has)

"""Devices that take of what the node itself has to give, such as memory: how much, and whether it is there.

What the devices of a claim take (`device_amounts.py`) is written into the status of the pod, and counts on its node
from then on. A claim with devices that are a part of their node can have one user only.
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
from stowplan.model.device_pool import ResourceSlice
from stowplan.model.dra import AllocationResult, DeviceRequestAllocationResult, ResourceClaim
from stowplan.model.meta import ResourceList
from stowplan.model.node import Node
from stowplan.model.pod import NodeAllocatableResourceClaimStatus, Pod
from stowplan.model.quantity import Quantity
from stowplan.model.requests import CPU, EPHEMERAL_STORAGE, HUGE_PAGES_PREFIX, MEMORY, amount_of
from stowplan.plugins.dynamicresources import pod_level_cover
from stowplan.plugins.dynamicresources.claims import is_reserved_for
from stowplan.plugins.dynamicresources.device_amounts import DeviceAmounts, MappedAmounts, SplitAmounts
from stowplan.table import resources
from stowplan.table.columns import Mask
from stowplan.table.nodes import Nodes

Statuses = tuple[NodeAllocatableResourceClaimStatus, ...]

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
        self._has_group_claims = gates.enabled("DRAWorkloadResourceClaims")
        self._mapped = MappedAmounts()
        self._split = SplitAmounts() if gates.changed("NodeAllocatableOverhead") else None
        self._amounts: DeviceAmounts = self._split or self._mapped

    def refresh(self, slices: Iterable[ResourceSlice]) -> None:
        """Take in the slices as they are now."""
        if self.is_on:
            self._amounts.refresh(slices)

    def is_taken_by(self, claim: ResourceClaim) -> bool:
        """Say whether some device that a claim was given takes anything of its node."""
        return self.is_on and self._amounts.is_taken_by(_results(claim))

    def taken(
        self,
        claims: Sequence[tuple[str, ResourceClaim]],
        given: Iterable[tuple[ResourceClaim, AllocationResult]],
        pod: Pod,
        node: Node,
    ) -> Statuses:
        """Return what is taken by devices that would be given; `claims` are those of the pod by their names in it.

        Raise AllocationError if that cannot be said.
        """
        if not self.is_on:
            return ()
        pairs = [(claim, result.devices.results) for claim, result in given]
        if self._split is not None:
            # Devices that the pod had before are not the node's to give once more, but they are to be counted.
            pairs += [(claim, _results(claim)) for _, claim in claims if claim.status.allocation is not None]
        users = _users(claims, pod)
        found = [(claim.uid, self._amounts.taken(claim, results, node)) for claim, results in pairs]
        statuses = [
            msgspec.structs.replace(status, containers=tuple(users.get(uid, ())))
            for uid, status in found
            if status is not None
        ]
        return tuple(sorted(statuses, key=lambda status: status.resource_claim_name))

    def shared(
        self, claim: ResourceClaim, allocation: AllocationResult | None, pod: Pod, nodes: Nodes
    ) -> Iterator[tuple[Mask, str]]:
        """Yield the rows where a claim that takes of its node cannot be had because others have it, with the reason.

        `allocation` is what the claim was just given for another pod of the groups that are being tried.
        """
        if self._split is None:
            yield from _used_by_others(claim, pod, nodes)
            return
        consumers, in_groups = claim.status.reserved_for, self._has_group_claims
        is_others = allocation is not None or (consumers and not is_reserved_for(pod, claim, in_groups=in_groups))
        results = allocation.devices.results if allocation is not None else _results(claim)
        if is_others and self._split.has_mapped(results):
            why = "has a mapped device and cannot be shared across pods"
            yield np.ones(len(nodes), dtype=bool), f"node allocatable resource claim {claim.name} {why}"

    def unfit(self, pod: Pod, statuses: Statuses, nodes: Nodes, position: int) -> list[NodeRejection]:
        """Return why the node at a position cannot give what is taken, with what the pod itself requests."""
        beside = tuple(map(requests.taken_by_devices, statuses))
        # The answer depends on what the pod requests.
        nodes.incoming(pod)
        demand = requests.request_list(pod, self._rules, beside)
        reason = ""
        if self._split is None:
            reason = _unused(statuses) or (self._exceeded(pod, demand, beside) if self._rules.pod_level else "")
        elif self._rules.pod_level:
            reason = pod_level_cover.exceeded(pod, statuses)
        if reason:
            return [NodeRejection(reason, unresolvable=True)]
        return list(_shortages(demand, nodes, position))

    def _exceeded(self, pod: Pod, demand: ResourceList, beside: tuple[ResourceList, ...]) -> str:
        """Return which request of the pod itself its containers and devices exceed together, "" if none."""
        if pod.spec.resources is None or not pod.spec.resources.requests:
            return ""
        sums = requests.request_list(pod, requests.RequestRules(pod_level=False), beside)
        short = (name for name in sorted(demand) if name in sums and sums[name] > demand[name])
        return next(map(pod_level_cover.request_is_exceeded, short), "")


def _unused(statuses: Statuses) -> str:
    """Return which claim that takes of the node no container uses, "" if there is none."""
    text = "node-allocatable resource claim not referenced by any container within the pod"
    return next((f"claim {status.resource_claim_name}: {text}" for status in statuses if not status.containers), "")


def _results(claim: ResourceClaim) -> tuple[DeviceRequestAllocationResult, ...]:
    return claim.status.allocation.devices.results if claim.status.allocation is not None else ()


def taking_of_node(pod: Pod, statuses: Statuses) -> Pod:
    """Return a pod as it counts on its node."""
    status = msgspec.structs.replace(pod.status, node_allocatable_resource_claim_statuses=statuses)
    return msgspec.structs.replace(pod, status=status)


def _used_by_others(claim: ResourceClaim, pod: Pod, nodes: Nodes) -> Iterator[tuple[Mask, str]]:
    """Yield the rows where pods use a claim that takes of its node already, as the first releases counted them."""
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

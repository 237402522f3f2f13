"""What devices take of the resources of their node, as their slices say it, claim by claim.

Kubernetes 1.36 has one amount for each resource (`MappedAmounts`). Later releases tell devices that are a part of their
node from what using a device costs (`SplitAmounts`), and look a device up among the slices that are for the node.
`node_allocatable.py` says whether a node can give it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from stowplan.model.device_pool import (
    Device,
    NodeAllocatableMapping,
    NodeAllocatableOverhead,
    NodeAllocatableResourceMapping,
    ResourceSlice,
)
from stowplan.model.dra import DeviceRequestAllocationResult, ResourceClaim
from stowplan.model.meta import ResourceList
from stowplan.model.node import Node
from stowplan.model.pod import (
    NodeAllocatableMappedResources,
    NodeAllocatableOverheadResources,
    NodeAllocatableResourceClaimStatus,
)
from stowplan.model.quantity import Quantity
from stowplan.plugins.dynamicresources.claim_requests import AllocationError
from stowplan.plugins.dynamicresources.pools import NodeSelection, NodeSelectionError

Results = Sequence[DeviceRequestAllocationResult]


class DeviceAmounts(Protocol):
    """What devices take of their nodes."""

    def refresh(self, slices: Iterable[ResourceSlice]) -> None:
        """Take in the slices as they are now."""

    def is_taken_by(self, results: Results) -> bool:
        """Say whether some device that was given takes anything of its node."""

    def taken(self, claim: ResourceClaim, results: Results, node: Node) -> NodeAllocatableResourceClaimStatus | None:
        """Return what the devices of a claim take of a node, without the containers; None if nothing.

        Raise AllocationError if that cannot be said.
        """


class MappedAmounts(DeviceAmounts):
    """By pool and device, as upstream looked them up at first: whichever the driver."""

    def __init__(self) -> None:
        self._mappings: dict[tuple[str, str], Mapping[str, NodeAllocatableResourceMapping]] = {}

    def refresh(self, slices: Iterable[ResourceSlice]) -> None:
        self._mappings = {
            (found.spec.pool.name, device.name): device.node_allocatable_resource_mappings
            for found in sorted(slices, key=lambda found: found.name, reverse=True)
            for device in found.spec.devices
        }

    def is_taken_by(self, results: Results) -> bool:
        return any(self._mappings.get((each.pool, each.device)) for each in results)

    def taken(self, claim: ResourceClaim, results: Results, node: Node) -> NodeAllocatableResourceClaimStatus | None:
        total: ResourceList = {}
        for result in results:
            for name, mapping in self._mappings.get((result.pool, result.device), {}).items():
                amount = self._amount(claim, result, name, mapping)
                if amount is not None:
                    total[name] = total[name] + amount if name in total else amount
        return NodeAllocatableResourceClaimStatus(resource_claim_name=claim.name, resources=total) if total else None

    def _amount(
        self,
        claim: ResourceClaim,
        result: DeviceRequestAllocationResult,
        resource: str,
        mapping: NodeAllocatableResourceMapping,
    ) -> Quantity | None:
        """Return what one device takes of a resource; None if the mapping does not concern this allocation."""
        key, factor = mapping.capacity_key, mapping.allocation_multiplier
        if not key:
            return factor if factor is not None else Quantity.zero()
        if not result.consumed_capacity:
            raise AllocationError(
                f"claim {claim.key}, device {result.device}: ConsumedCapacity is nil, but Capacity key '{key}' is set"
                f" in NodeAllocatableResourceMappings for resource {resource}"
            )
        consumed = result.consumed_capacity.get(key)
        return consumed if consumed is None or factor is None else consumed * factor


class SplitAmounts(DeviceAmounts):
    """By driver, pool and device, of the slices that are for a node."""

    def __init__(self) -> None:
        self._offers: dict[tuple[str, str, str], list[_Offer]] = {}

    def refresh(self, slices: Iterable[ResourceSlice]) -> None:
        self._offers = {}
        for found in sorted(slices, key=lambda found: found.name):
            selection = NodeSelection.of(found.spec)
            for device in found.spec.devices:
                key = found.spec.driver, found.spec.pool.name, device.name
                is_single = bool(found.spec.per_device_node_selection)
                self._offers.setdefault(key, []).append(_Offer(device, selection, is_single))

    def is_taken_by(self, results: Results) -> bool:
        return any(self._listed(each).node_allocatable_resources for each in results)

    def has_mapped(self, results: Results) -> bool:
        """Say whether some device that was given is a part of its node, which only one pod can have."""
        return any(
            resource.mapping is not None
            for result in results
            for resource in self._listed(result).node_allocatable_resources.values()
        )

    def taken(self, claim: ResourceClaim, results: Results, node: Node) -> NodeAllocatableResourceClaimStatus | None:
        found = [self._find(result, node) for result in results]
        if not any(isinstance(device, Device) and device.node_allocatable_resources for device in found):
            return None
        mapped: ResourceList = {}
        overheads: dict[str, NodeAllocatableOverheadResources] = {}
        for result, device in zip(results, found, strict=True):
            if isinstance(device, str):
                where = f"claim {claim.key}, device {result.device}, driver {result.driver}"
                raise AllocationError(f"{where}: {device}")
            for name, resource in device.node_allocatable_resources.items():
                if resource.mapping is not None:
                    _map(mapped, name, resource.mapping, result, claim)
                if resource.overhead is not None:
                    _load(overheads, name, resource.overhead)
        if not mapped and not overheads:
            return None
        return NodeAllocatableResourceClaimStatus(
            resource_claim_name=claim.name,
            mapping=tuple(NodeAllocatableMappedResources(name=name, quantity=mapped[name]) for name in sorted(mapped)),
            overhead=tuple(overheads[name] for name in sorted(overheads)),
        )

    def _listed(self, result: DeviceRequestAllocationResult) -> Device:
        """Return a device that was given, of any node; one that takes nothing if there is none such any more."""
        offers = self._offers.get((result.driver, result.pool, result.device))
        return offers[0].device if offers else Device()

    def _find(self, result: DeviceRequestAllocationResult, node: Node) -> Device | str:
        """Return a device that was given, or upstream's words why the node has no such device."""
        for offer in self._offers.get((result.driver, result.pool, result.device), ()):
            if offer.is_for(node):
                return offer.device if offer.suits(node) else f"device {result.device} does not match node"
        return f"device {result.device} not found in pool {result.pool} for driver {result.driver}"


class _Offer(NamedTuple):
    """A device, the nodes that its slice is for, and whether each device of that has its own."""

    device: Device
    selection: NodeSelection
    is_single: bool

    def is_for(self, node: Node) -> bool:
        """Say whether the slice is for a node."""
        if self.selection.node_name == node.name or self.selection.is_everywhere:
            return True
        if self.selection.selector is not None:
            return _is_selected(NodeSelection(selector=self.selection.selector, written=self.selection.written), node)
        return self.is_single

    def suits(self, node: Node) -> bool:
        """Say whether the device itself is for a node."""
        if not self.is_single:
            return True
        own = NodeSelection.of(self.device)
        selected = NodeSelection(selector=own.selector, written=own.written)
        return own.node_name == node.name or own.is_everywhere or _is_selected(selected, node)


def _is_selected(selection: NodeSelection, node: Node) -> bool:
    """Say whether a selector selects a node; one that cannot be understood does not."""
    try:
        return selection.includes(node)
    except NodeSelectionError:
        return False


def _map(
    total: ResourceList,
    resource: str,
    mapping: NodeAllocatableMapping,
    result: DeviceRequestAllocationResult,
    claim: ResourceClaim,
) -> None:
    """Add what a device that is a part of its node takes of a resource."""
    amount, key = mapping.device_multiplier, mapping.capacity_key
    if key:
        if not result.consumed_capacity:
            raise AllocationError(
                f"claim {claim.key}, device {result.device}: ConsumedCapacity is nil, but Capacity key '{key}' is set"
                f" in NodeAllocatableResources for resource {resource}"
            )
        # A capacity that is not consumed does not concern this allocation.
        amount, factor = result.consumed_capacity.get(key), mapping.capacity_multiplier
        amount = amount * factor if amount is not None and factor is not None else amount
    if amount is not None:
        total[resource] = total[resource] + amount if resource in total else amount


def _load(total: dict[str, NodeAllocatableOverheadResources], resource: str, overhead: NodeAllocatableOverhead) -> None:
    """Add what using a device costs of a resource."""
    if overhead.per_pod is None and overhead.per_container is None:
        return
    known = total.get(resource, NodeAllocatableOverheadResources(name=resource))
    total[resource] = NodeAllocatableOverheadResources(
        name=resource,
        per_pod=_sum(known.per_pod, overhead.per_pod),
        per_container=_sum(known.per_container, overhead.per_container),
    )


def _sum(one: Quantity | None, other: Quantity | None) -> Quantity | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other

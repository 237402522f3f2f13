"""Devices on offer and requests for them, made short: what tests of the allocator are written in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stowplan.config import feature_gates
from stowplan.model.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from stowplan.model.device_pool import (
    Counter,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from stowplan.model.dra import (
    AllocationResult,
    CapacityRequirements,
    CelSelector,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from stowplan.model.meta import NamespacedMeta, ObjectMeta
from stowplan.model.node import Node
from stowplan.model.quantity import Quantity
from stowplan.plugins.dynamicresources.allocated_devices import AllocatedState, DeviceId
from stowplan.plugins.dynamicresources.allocator import Allocator
from stowplan.plugins.dynamicresources.cel_selectors import CelPrograms
from stowplan.plugins.dynamicresources.claim_requests import ClaimRequests
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.pools import Inventory, OfferedDevice

DRIVER = "gpu.example.com"
NODE = Node(metadata=ObjectMeta(name="node-1", labels={"zone": "a"}))
OTHER_NODE = Node(metadata=ObjectMeta(name="node-2", labels={"zone": "b"}))
#: The rules of the first release that is known.
IN_1_36 = Features.from_gates(feature_gates.default_gates("1.36"))
ANY_CLASS = DeviceClass(metadata=ObjectMeta(name="any"))


def attributes(**values: str | int | bool) -> dict[str, DeviceAttribute]:
    """Attributes by their plain names; a text that starts with "v" is a version."""
    return {name: _attribute(value) for name, value in values.items()}


def _attribute(value: str | int | bool) -> DeviceAttribute:
    if isinstance(value, bool):
        return DeviceAttribute(bool_value=value)
    if isinstance(value, int):
        return DeviceAttribute(int_value=value)
    if value.startswith("v"):
        return DeviceAttribute(version_value=value[1:])
    return DeviceAttribute(string_value=value)


def capacity(**values: str) -> dict[str, DeviceCapacity]:
    return {name: DeviceCapacity(value=Quantity.parse(value)) for name, value in values.items()}


def counters(**values: int) -> dict[str, Counter]:
    return {name: Counter(value=Quantity.of(value)) for name, value in values.items()}


def counter_set(name: str = "set", **values: int) -> CounterSet:
    return CounterSet(name=name, counters=counters(**values))


def consuming(name: str, **values: int) -> Device:
    """A device that draws on the counters of the set "set"."""
    return Device(
        name=name, consumes_counters=(DeviceCounterConsumption(counter_set="set", counters=counters(**values)),)
    )


def devices(*names: str) -> tuple[Device, ...]:
    return tuple(Device(name=name) for name in names)


def in_zone(zone: str) -> NodeSelector:
    requirement = NodeSelectorRequirement(key="zone", operator="In", values=(zone,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(requirement,)),))


def make_slice(name: str, *found: Device, **fields: Any) -> ResourceSlice:
    """A slice for node-1, the only one of a pool "pool", unless `fields` says otherwise."""
    pool = ResourcePool(
        name=fields.pop("pool", "pool"),
        generation=fields.pop("generation", 1),
        resource_slice_count=fields.pop("count", 1),
    )
    places = ("node_name", "all_nodes", "node_selector", "per_device_node_selection")
    if not any(place in fields for place in places):
        fields["node_name"] = NODE.name
    spec = ResourceSliceSpec(driver=fields.pop("driver", DRIVER), pool=pool, devices=found, **fields)
    return ResourceSlice(metadata=ObjectMeta(name=name), spec=spec)


def offered(device: Device, driver: str = DRIVER) -> OfferedDevice:
    return OfferedDevice(make_slice("slice", device, driver=driver), device)


def taking(*names: str, pool: str = "pool") -> AllocatedState:
    """Devices of a pool that are in use."""
    return AllocatedState(frozenset(DeviceId(DRIVER, pool, name) for name in names))


def selecting(*expressions: str) -> tuple[DeviceSelector, ...]:
    return tuple(DeviceSelector(cel=CelSelector(expression=expression)) for expression in expressions)


def make_class(name: str, *expressions: str) -> DeviceClass:
    return DeviceClass(metadata=ObjectMeta(name=name), spec=DeviceClassSpec(selectors=selecting(*expressions)))


def request(name: str, count: int = 1, **fields: Any) -> DeviceRequest:
    fields.setdefault("device_class_name", "any")
    if "capacity" in fields:
        fields["capacity"] = amounts(**fields["capacity"])
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(count=count, **fields))


def first_of(name: str, *alternatives: DeviceSubRequest) -> DeviceRequest:
    return DeviceRequest(name=name, first_available=alternatives)


def alternative(name: str, count: int = 1, **fields: Any) -> DeviceSubRequest:
    fields.setdefault("device_class_name", "any")
    return DeviceSubRequest(name=name, count=count, **fields)


def amounts(**values: str) -> CapacityRequirements:
    return CapacityRequirements(requests={name: Quantity.parse(value) for name, value in values.items()})


def same(attribute: str, *requests: str) -> DeviceConstraint:
    return DeviceConstraint(match_attribute=f"{DRIVER}/{attribute}", requests=requests)


def different(attribute: str, *requests: str) -> DeviceConstraint:
    return DeviceConstraint(distinct_attribute=f"{DRIVER}/{attribute}", requests=requests)


def make_claim(*requests: DeviceRequest, name: str = "claim", **fields: Any) -> ResourceClaim:
    return ResourceClaim(
        metadata=NamespacedMeta(name=name, uid=f"uid-{name}", resource_version="1"),
        spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests, **fields)),
    )


def allocate(
    claims: ResourceClaim | Sequence[ResourceClaim],
    slices: Sequence[ResourceSlice],
    in_use: AllocatedState | None = None,
    features: Features | None = None,
    classes: Mapping[str, DeviceClass] | None = None,
) -> tuple[AllocationResult, ...] | None:
    """Allocate claims on node-1, where every request may use the class "any"."""
    claims = [claims] if isinstance(claims, ResourceClaim) else claims
    return allocator(claims, slices, in_use, features, classes).allocate(NODE)


def allocator(
    claims: Sequence[ResourceClaim],
    slices: Sequence[ResourceSlice],
    in_use: AllocatedState | None = None,
    features: Features | None = None,
    classes: Mapping[str, DeviceClass] | None = None,
) -> Allocator:
    """Return who allocates claims, of which every request may use the class "any"."""
    features = features or Features()
    inventory = Inventory(slices, features)
    known = {"any": ANY_CLASS, **(classes or {})}
    requests = [ClaimRequests(index, claim, known.get, features) for index, claim in enumerate(claims)]
    return Allocator(requests, inventory, in_use or AllocatedState(), CelPrograms(features))


def given(results: tuple[AllocationResult, ...] | None) -> list[str] | None:
    """Return what was given, as "request: pool/device", all claims in a row."""
    if results is None:
        return None
    return [f"{each.request}: {each.pool}/{each.device}" for result in results for each in result.devices.results]

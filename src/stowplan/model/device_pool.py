"""Devices on offer: the slices that drivers publish, with attributes, capacities, shared counters and taints; and the
rules by which administrators taint devices from outside the slices.

An allocation sees a taint of a rule just as one that the driver put there; a rule that comes, goes or changes is to
waiting pods a change of the slices that it concerns. Claims ask for devices in `dra.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from stowplan.model.affinity import NodeSelector
from stowplan.model.meta import ApiObject, Int64, Part, always
from stowplan.model.node import Taint
from stowplan.model.quantity import Quantity


class DeviceAttribute(Part, frozen=True, kw_only=True):
    """Exactly one of the values is set; lists only where list-valued attributes are in use."""

    int_value: Int64 | None = msgspec.field(name="int", default=None)
    bool_value: bool | None = msgspec.field(name="bool", default=None)
    string_value: str | None = msgspec.field(name="string", default=None)
    version_value: str | None = msgspec.field(name="version", default=None)
    int_values: tuple[Int64, ...] = msgspec.field(name="ints", default=())
    bool_values: tuple[bool, ...] = msgspec.field(name="bools", default=())
    string_values: tuple[str, ...] = msgspec.field(name="strings", default=())
    version_values: tuple[str, ...] = msgspec.field(name="versions", default=())


class CapacityRange(Part, frozen=True, kw_only=True):
    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(Part, frozen=True, kw_only=True):
    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    valid_range: CapacityRange | None = None


class DeviceCapacity(Part, frozen=True, kw_only=True):
    value: Quantity = Quantity.zero()
    request_policy: CapacityRequestPolicy | None = None


class Counter(Part, frozen=True, kw_only=True):
    value: Quantity = Quantity.zero()


class CounterSet(Part, frozen=True, kw_only=True):
    name: str = ""
    counters: dict[str, Counter] = {}


class DeviceCounterConsumption(Part, frozen=True, kw_only=True):
    """Devices of one counter set are given together only if they have a group in common, or if none has any."""

    counter_set: str = ""
    counters: dict[str, Counter] = {}
    compatibility_groups: tuple[str, ...] = ()


#: The same as that of a node.
DeviceTaint = Taint


class NodeAllocatableResourceMapping(Part, frozen=True, kw_only=True):
    """What a device takes of a resource of its node: as much as is consumed of a capacity, or once, times a factor.

    Kubernetes 1.36 has it in this form, later releases as NodeAllocatableResource.
    """

    capacity_key: str | None = None
    allocation_multiplier: Quantity | None = None


class NodeAllocatableMapping(Part, frozen=True, kw_only=True):
    """A device that is a part of its node: as much as is consumed of a capacity, times a factor, or once so much."""

    capacity_key: str | None = None
    capacity_multiplier: Quantity | None = None
    device_multiplier: Quantity | None = None


class NodeAllocatableOverhead(Part, frozen=True, kw_only=True):
    """What using a device costs its node besides."""

    per_pod: Quantity | None = None
    per_container: Quantity | None = None


class NodeAllocatableResource(Part, frozen=True, kw_only=True):
    """What a device takes of a resource of its node."""

    mapping: NodeAllocatableMapping | None = None
    overhead: NodeAllocatableOverhead | None = None


class Device(Part, frozen=True, kw_only=True):
    """`node_name`, `node_selector` and `all_nodes` apply only where the slice selects nodes per device."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False
    node_allocatable_resource_mappings: dict[str, NodeAllocatableResourceMapping] = {}
    node_allocatable_resources: dict[str, NodeAllocatableResource] = {}


class ResourcePool(Part, frozen=True, kw_only=True):
    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(Part, frozen=True, kw_only=True):
    """`skip_node_operations`: what the kubelet need not do for its devices, if it knows that it may leave it out."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()
    skip_node_operations: tuple[str, ...] = ()


class ResourceSlice(ApiObject, frozen=True, kw_only=True):
    api_version: str = always("resource.k8s.io/v1")
    kind: str = always("ResourceSlice")
    spec: ResourceSliceSpec = ResourceSliceSpec()


class DeviceTaintSelector(Part, frozen=True, kw_only=True):
    """Which devices a rule taints; what is not said is any."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Part, frozen=True, kw_only=True):
    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(ApiObject, frozen=True, kw_only=True):
    """Without a selector no device is tainted."""

    api_version: str = always("resource.k8s.io/v1")
    kind: str = always("DeviceTaintRule")
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()

    @property
    def selector(self) -> DeviceTaintSelector | None:
        """Which devices it taints; None if it taints none."""
        return self.spec.device_selector


class BetaDeviceTaintRule(DeviceTaintRule, frozen=True, kw_only=True):
    """A rule as 1.36 reads it: without a selector every device is tainted."""

    api_version: str = always("resource.k8s.io/v1beta2")

    @property
    def selector(self) -> DeviceTaintSelector:
        return self.spec.device_selector or DeviceTaintSelector()


#: By device of a slice, the taints that rules add.
_Added = tuple[tuple[DeviceTaint, ...], ...]
_Tainted = dict[str, tuple[ResourceSlice, _Added, ResourceSlice]]


class TaintedSlices:
    """Slices with the taints of rules. One that looks as before stays the same object."""

    def __init__(self) -> None:
        self._known: _Tainted = {}

    def of(self, slices: Iterable[ResourceSlice], rules: Sequence[DeviceTaintRule]) -> list[ResourceSlice]:
        """Return the slices as the rules make them."""
        before, self._known = self._known, {}
        return [self._tainted(found, rules, before) for found in slices]

    def _tainted(self, found: ResourceSlice, rules: Sequence[DeviceTaintRule], before: _Tainted) -> ResourceSlice:
        added = _added(found, rules)
        known = before.get(found.name)
        if known is None or known[0] is not found or known[1] != added:
            known = found, added, _with(found, added)
        self._known[found.name] = known
        return known[2]


def changed_by(
    old: DeviceTaintRule | None, new: DeviceTaintRule | None, slices: Iterable[ResourceSlice]
) -> Iterator[ResourceSlice]:
    """Yield the slices of which some device has other taints after a rule came (no old), changed, or went (no new)."""
    for found in slices:
        if _added(found, [old] if old is not None else []) != _added(found, [new] if new is not None else []):
            yield found


def _added(found: ResourceSlice, rules: Sequence[DeviceTaintRule]) -> _Added:
    concerning = [rule for rule in rules if _concerns(rule, found)]
    return tuple(
        tuple(rule.spec.taint for rule in concerning if _selects(rule, device)) for device in found.spec.devices
    )


def _concerns(rule: DeviceTaintRule, found: ResourceSlice) -> bool:
    selector, spec = rule.selector, found.spec
    if selector is None:
        return False
    return selector.driver in (None, spec.driver) and selector.pool in (None, spec.pool.name)


def _selects(rule: DeviceTaintRule, device: Device) -> bool:
    return rule.selector is not None and rule.selector.device in (None, device.name)


def _with(found: ResourceSlice, added: _Added) -> ResourceSlice:
    if not any(added):
        return found
    devices = tuple(
        msgspec.structs.replace(device, taints=(*device.taints, *more)) if more else device
        for device, more in zip(found.spec.devices, added, strict=True)
    )
    return msgspec.structs.replace(found, spec=msgspec.structs.replace(found.spec, devices=devices))

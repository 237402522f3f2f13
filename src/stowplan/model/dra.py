"""Devices: what a claim asks for and was given. What drivers offer is in `device_pool.py`.

Structured parameters of resource.k8s.io/v1, as the DynamicResources plugin allocates them.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from stowplan.model.affinity import NodeSelector
from stowplan.model.meta import ApiObject, Condition, Int64, Namespaced, ObjectMeta, Part, ResourceList, Time, always

#: Requests for devices of a class by the class's own name.
DEVICE_CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"


class CelSelector(Part, frozen=True, kw_only=True):
    expression: str = ""


class DeviceSelector(Part, frozen=True, kw_only=True):
    cel: CelSelector | None = None


class DeviceToleration(Part, frozen=True, kw_only=True):
    """An empty operator means Equal, an empty effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class CapacityRequirements(Part, frozen=True, kw_only=True):
    requests: ResourceList = {}


class DeviceDerivedAttribute(Part, frozen=True, kw_only=True):
    """An attribute that a CEL expression works out of those that a device has; constraints may name it."""

    name: str = ""
    expression: str = ""


class WantedDevices(Part, frozen=True, kw_only=True):
    """Which devices, and how many: mode "ExactCount" and count 1 unless said otherwise."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = "ExactCount"
    count: Int64 = 1
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()


class DeviceSubRequest(WantedDevices, frozen=True, kw_only=True):
    """One alternative of `firstAvailable`."""

    name: str = ""


class ExactDeviceRequest(WantedDevices, frozen=True, kw_only=True):
    admin_access: bool = False


class DeviceRequest(Part, frozen=True, kw_only=True):
    """Either `exactly` or `first_available`."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Part, frozen=True, kw_only=True):
    """Without `requests` it binds every request of the claim."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class OpaqueConfiguration(Part, frozen=True, kw_only=True):
    driver: str = ""
    parameters: Any = None


class DeviceConfiguration(Part, frozen=True, kw_only=True):
    """Handed through to the driver; `source` tells class from claim in an allocation."""

    source: str = ""
    requests: tuple[str, ...] = ()
    opaque: OpaqueConfiguration | None = None


class DeviceClaim(Part, frozen=True, kw_only=True):
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceConfiguration, ...] = ()


class ResourceClaimSpec(Part, frozen=True, kw_only=True):
    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(Part, frozen=True, kw_only=True):
    """One device that was given; `request` is `name` or `name/sub-request`."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = msgspec.field(name="shareID", default=None)
    consumed_capacity: ResourceList = {}
    skip_node_operations: tuple[str, ...] = ()


class DeviceAllocationResult(Part, frozen=True, kw_only=True):
    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceConfiguration, ...] = ()


class AllocationResult(Part, frozen=True, kw_only=True):
    """Without `node_selector` the devices are reachable from every node."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: Time | None = None


class ClaimConsumer(Part, frozen=True, kw_only=True):
    """An entry of `reservedFor`; pods have an empty API group and resource "pods"."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(Part, frozen=True, kw_only=True):
    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = msgspec.field(name="shareID", default=None)
    conditions: tuple[Condition, ...] = ()


class ResourceClaimStatus(Part, frozen=True, kw_only=True):
    allocation: AllocationResult | None = None
    reserved_for: tuple[ClaimConsumer, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(Namespaced, frozen=True, kw_only=True):
    api_version: str = always("resource.k8s.io/v1")
    kind: str = always("ResourceClaim")
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(Part, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(Namespaced, frozen=True, kw_only=True):
    api_version: str = always("resource.k8s.io/v1")
    kind: str = always("ResourceClaimTemplate")
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()


class DeviceClassSpec(Part, frozen=True, kw_only=True):
    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(ApiObject, frozen=True, kw_only=True):
    api_version: str = always("resource.k8s.io/v1")
    kind: str = always("DeviceClass")
    spec: DeviceClassSpec = DeviceClassSpec()

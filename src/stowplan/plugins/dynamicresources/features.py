"""Which parts of device allocation are switched on."""

from __future__ import annotations

from dataclasses import dataclass

from stowplan.config.feature_gates import FeatureGates


@dataclass(frozen=True, slots=True)
class Features:
    """The feature gates that change how devices are allocated."""

    admin_access: bool = True
    prioritized_list: bool = True
    partitionable_devices: bool = True
    device_taints: bool = True
    consumable_capacity: bool = True
    binding_conditions: bool = True
    #: As upstream wires it: selectors see lists, constraints do not.
    list_type_attributes: bool = False

    @property
    def is_stable(self) -> bool:
        """Whether upstream takes its oldest allocator, which knows nothing of what came later."""
        return not self.consumable_capacity and not self.binding_conditions

    @staticmethod
    def from_gates(gates: FeatureGates) -> Features:
        """Read the gates; binding conditions also need the status that reports them."""
        return Features(
            admin_access=gates.enabled("DRAAdminAccess"),
            prioritized_list=gates.enabled("DRAPrioritizedList"),
            partitionable_devices=gates.enabled("DRAPartitionableDevices"),
            device_taints=gates.enabled("DRADeviceTaints"),
            consumable_capacity=gates.enabled("DRAConsumableCapacity"),
            binding_conditions=gates.enabled("DRADeviceBindingConditions")
            and gates.enabled("DRAResourceClaimDeviceStatus"),
            list_type_attributes=gates.enabled("DRAListTypeAttributes"),
        )

"""Which parts of device allocation are switched on, and which rules of it are those of an earlier release."""

from __future__ import annotations

from dataclasses import dataclass

from stowplan.config.feature_gates import FeatureGates


@dataclass(frozen=True, slots=True)
class Rules:
    """What a later release does in another way than the first; every one of them is a name in `config/releases.py`."""

    #: Constraints see lists, and selectors see them whether the gate is on or not.
    lists_everywhere: bool = True
    #: A device has to differ from every other one, not just from the last one of each request.
    distinct_from_all: bool = True
    #: Amounts that cannot be reckoned with end the allocation; otherwise the device is passed over.
    amounts_must_be_sound: bool = True
    #: Who wants all devices wants those as well of which too little is left.
    all_means_all: bool = True
    #: A device of which a share was given without any capacity has drawn on its counters.
    empty_shares_count: bool = True
    #: Too many devices are noticed at the request that exceeds the limit.
    limit_by_request: bool = True
    #: An error of a selector names the device.
    errors_name_devices: bool = True
    #: Counters concern the nodes that their slice is for.
    counters_have_nodes: bool = True
    #: A configuration is written once, and without requests if it is for all of them.
    config_is_written_once: bool = True

    @staticmethod
    def of(gates: FeatureGates) -> Rules:
        return Rules(
            lists_everywhere=gates.changed("ListAttributesInConstraints"),
            distinct_from_all=gates.changed("DistinctAttributeOfEveryDevice"),
            amounts_must_be_sound=gates.changed("UnrepresentableCapacityRequests"),
            all_means_all=gates.changed("AllDevicesWithTooLittleLeft"),
            empty_shares_count=gates.changed("SharesWithoutCapacity"),
            limit_by_request=gates.changed("ClaimLimitByRequest"),
            errors_name_devices=gates.changed("SelectorErrorsNameDevices"),
            counters_have_nodes=gates.changed("SharedCountersOfNodes"),
            config_is_written_once=gates.changed("AllocatedConfigurationOnce"),
        )


NEWEST = Rules()


@dataclass(frozen=True, slots=True)
class Features:
    """The feature gates that change how devices are allocated."""

    admin_access: bool = True
    prioritized_list: bool = True
    partitionable_devices: bool = True
    device_taints: bool = True
    consumable_capacity: bool = True
    fractional_capacity: bool = False
    binding_conditions: bool = True
    list_type_attributes: bool = False
    derived_attributes: bool = False
    compatibility_groups: bool = False
    optional_node_operations: bool = False
    rules: Rules = NEWEST

    @property
    def is_stable(self) -> bool:
        """Whether upstream takes its oldest allocator, which knows nothing of what came later."""
        return not (self.consumable_capacity or self.binding_conditions or self.is_experimental)

    @property
    def is_experimental(self) -> bool:
        """Whether upstream takes its newest allocator, the only one to look at what may be left out on a node."""
        needing = (self.has_list_constraints, self.derived_attributes, self.compatibility_groups)
        return any(needing) or self.optional_node_operations

    @property
    def counters_have_nodes(self) -> bool:
        """Whether counters concern the nodes that their slice is for; to the oldest allocator they concern all."""
        return self.rules.counters_have_nodes and not self.is_stable

    @property
    def has_list_constraints(self) -> bool:
        """Whether constraints see attributes that are lists."""
        return self.list_type_attributes and self.rules.lists_everywhere

    @property
    def has_list_selectors(self) -> bool:
        """Whether selectors see attributes that are lists."""
        return self.list_type_attributes or self.rules.lists_everywhere

    @staticmethod
    def from_gates(gates: FeatureGates) -> Features:
        """Read the gates; binding conditions also need the status that reports them."""
        return Features(
            admin_access=gates.enabled("DRAAdminAccess"),
            prioritized_list=gates.enabled("DRAPrioritizedList"),
            partitionable_devices=gates.enabled("DRAPartitionableDevices"),
            device_taints=gates.enabled("DRADeviceTaints"),
            consumable_capacity=gates.enabled("DRAConsumableCapacity"),
            fractional_capacity=gates.enabled("DRAFractionalCapacityRange"),
            binding_conditions=gates.enabled("DRADeviceBindingConditions")
            and gates.enabled("DRAResourceClaimDeviceStatus"),
            list_type_attributes=gates.enabled("DRAListTypeAttributes"),
            derived_attributes=gates.enabled("DRADerivedAttributes"),
            compatibility_groups=gates.enabled("DRADeviceCompatibilityGroups"),
            optional_node_operations=gates.enabled("DRAOptionalNodeOperations"),
            rules=Rules.of(gates),
        )

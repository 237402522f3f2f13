"""Each feature of device allocation has a gate of its own, and follows that alone."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from stowplan.config.feature_gates import DEFAULT_GATES, default_gates, parse
from stowplan.plugins.dynamicresources.features import Features, Rules


@pytest.mark.parametrize(
    ("gates", "changes"),
    [
        pytest.param("DRAPartitionableDevices=false", {"partitionable_devices": False}, id="partitions"),
        pytest.param("DRADeviceTaints=false,DRADeviceTaintRules=false", {"device_taints": False}, id="taints"),
        pytest.param("DRAConsumableCapacity=false", {"consumable_capacity": False}, id="shares"),
        pytest.param("DRADeviceBindingConditions=false", {"binding_conditions": False}, id="devices made ready"),
        pytest.param("DRAListTypeAttributes=true", {"list_type_attributes": True}, id="lists"),
        pytest.param("DRAFractionalCapacityRange=true", {"fractional_capacity": True}, id="steps of thousandths"),
        pytest.param("DRADerivedAttributes=true", {"derived_attributes": True}, id="derived attributes"),
        pytest.param("DRADeviceCompatibilityGroups=true", {"compatibility_groups": True}, id="groups"),
        pytest.param("DRAOptionalNodeOperations=true", {"optional_node_operations": True}, id="optional operations"),
    ],
)
def test_a_feature_follows_its_gate(gates: str, changes: dict[str, Any]) -> None:
    usual = Features.from_gates(DEFAULT_GATES)
    assert Features.from_gates(parse(gates)) == dataclasses.replace(usual, **changes) != usual


def test_alternatives_could_be_switched_off_in_1_36() -> None:
    assert Features.from_gates(default_gates("1.36")).prioritized_list
    assert not Features.from_gates(parse("DRAPrioritizedList=false", release="1.36")).prioritized_list


def test_without_being_told_the_rules_are_those_of_the_newest_release() -> None:
    assert Features.from_gates(DEFAULT_GATES) == Features()
    assert Features.from_gates(default_gates("1.36")).rules == Rules(*[False] * len(dataclasses.fields(Rules)))

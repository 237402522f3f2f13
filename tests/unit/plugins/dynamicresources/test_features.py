"""Each feature of device allocation has a gate of its own, and follows that alone."""

from __future__ import annotations

import dataclasses

import pytest

from stowplan.config.feature_gates import DEFAULT_GATES, parse
from stowplan.plugins.dynamicresources.features import Features


@pytest.mark.parametrize(
    ("gates", "changes"),
    [
        pytest.param("DRAPrioritizedList=false", {"prioritized_list": False}, id="alternatives"),
        pytest.param("DRAPartitionableDevices=false", {"partitionable_devices": False}, id="partitions"),
        pytest.param("DRADeviceTaints=false", {"device_taints": False}, id="taints"),
        pytest.param("DRAConsumableCapacity=false", {"consumable_capacity": False}, id="shares"),
        pytest.param("DRADeviceBindingConditions=false", {"binding_conditions": False}, id="devices made ready"),
        pytest.param("DRAListTypeAttributes=true", {"list_type_attributes": True}, id="lists"),
    ],
)
def test_a_feature_follows_its_gate(gates: str, changes: dict[str, bool]) -> None:
    usual = Features.from_gates(DEFAULT_GATES)
    assert Features.from_gates(parse(gates)) == dataclasses.replace(usual, **changes) != usual

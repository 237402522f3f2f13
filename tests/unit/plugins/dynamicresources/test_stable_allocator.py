"""Upstream's oldest allocator, taken when neither consumable capacity nor binding conditions are on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stowplan.config import feature_gates
from stowplan.model.device_pool import Device
from stowplan.plugins.dynamicresources.claim_requests import AllocationError, NodeAllocationError
from stowplan.plugins.dynamicresources.features import Features
from tests.unit.plugins.dynamicresources.offers import (
    allocate,
    consuming,
    counter_set,
    different,
    given,
    make_claim,
    make_slice,
    request,
    selecting,
)

OLDEST = Features(consumable_capacity=False, binding_conditions=False)
NEITHER = "DRAConsumableCapacity=false,DRADeviceBindingConditions=false"


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        pytest.param("", False, id="not by default"),
        pytest.param("DRAConsumableCapacity=false", False, id="binding conditions need the next one"),
        pytest.param("DRADeviceBindingConditions=false", False, id="shares need the next one"),
        pytest.param(NEITHER, True, id="neither is on"),
        pytest.param(f"{NEITHER},DRAListTypeAttributes=true", False, id="lists need the newest one"),
        pytest.param(f"{NEITHER},DRADerivedAttributes=true", False, id="derived attributes need the newest one"),
        pytest.param(f"{NEITHER},DRADeviceCompatibilityGroups=true", False, id="groups need the newest one"),
        pytest.param(f"{NEITHER},DRAOptionalNodeOperations=true", False, id="optional operations need the newest one"),
    ],
)
def test_which_gates_choose_it(gates: str, expected: bool) -> None:
    assert Features.from_gates(feature_gates.parse(gates)).is_stable is expected


@pytest.mark.parametrize(
    "gates",
    [
        pytest.param(f"{NEITHER},DRAListTypeAttributes=true", id="lists make no difference"),
        pytest.param(
            f"{NEITHER},DRAResourceClaimDeviceStatus=false,DRAResourceClaimGranularStatusAuthorization=false",
            id="without the status of devices",
        ),
    ],
)
def test_which_gates_choose_it_in_1_36(gates: str) -> None:
    assert Features.from_gates(feature_gates.parse(gates, release="1.36")).is_stable


def test_it_does_not_know_distinct_attributes() -> None:
    claim = make_claim(request("r"), constraints=(different("model"),))
    with pytest.raises(AllocationError, match=r"claim default/claim, constraint #0: empty constraint \(unsupported"):
        allocate(claim, [make_slice("s", Device(name="a"))], features=OLDEST)


def test_it_takes_no_notice_of_requests_for_capacity() -> None:
    claim = make_claim(request("r", capacity={"memory": "1Ti"}))
    assert given(allocate(claim, [make_slice("s", Device(name="a"))], features=OLDEST)) == ["r: pool/a"]


def test_its_selectors_are_not_told_what_may_be_shared() -> None:
    shared = [make_slice("s", Device(name="a", allow_multiple_allocations=True))]
    claim = make_claim(request("r", selectors=selecting("device.allowMultipleAllocations")))
    assert allocate(claim, shared, features=OLDEST) is None
    with_conditions = replace(OLDEST, binding_conditions=True)
    assert given(allocate(claim, shared, features=with_conditions)) == ["r: pool/a"]


def test_it_looks_at_the_pools_of_counters_for_other_nodes() -> None:
    elsewhere = [
        make_slice("c", pool="far", count=2, node_name="node-2", shared_counters=(counter_set(c=1),)),
        make_slice("s", consuming("a", unknown=1), pool="far", count=2, node_name="node-2"),
    ]
    claim = make_claim(request("r"))
    assert allocate(claim, elsewhere) is None
    with pytest.raises(NodeAllocationError, match="invalid resource pools were encountered"):
        allocate(claim, elsewhere, features=OLDEST)


def test_it_does_not_tie_a_device_to_the_node_it_binds_to() -> None:
    network = [make_slice("s", Device(name="a", binds_to_node=True), all_nodes=True)]
    results = allocate(make_claim(request("r")), network, features=OLDEST)
    assert results is not None
    assert results[0].node_selector is None

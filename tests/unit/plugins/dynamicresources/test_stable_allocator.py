"""Upstream's oldest allocator, taken when neither consumable capacity nor binding conditions are on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stowplan.config import feature_gates
from stowplan.model.device_pool import Device, DeviceAttribute
from stowplan.plugins.dynamicresources.claim_requests import AllocationError
from stowplan.plugins.dynamicresources.features import Features
from tests.unit.plugins.dynamicresources.offers import (
    allocate,
    different,
    given,
    make_claim,
    make_slice,
    request,
    same,
    selecting,
)

OLDEST = Features(consumable_capacity=False, binding_conditions=False)


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        pytest.param("", False, id="not by default"),
        pytest.param("DRAConsumableCapacity=false", False, id="binding conditions need the next one"),
        pytest.param("DRADeviceBindingConditions=false", False, id="shares need the next one"),
        pytest.param("DRAConsumableCapacity=false,DRADeviceBindingConditions=false", True, id="neither is on"),
        pytest.param(
            "DRAConsumableCapacity=false,DRADeviceBindingConditions=false,DRAListTypeAttributes=true",
            True,
            id="lists make no difference",
        ),
        pytest.param(
            "DRAConsumableCapacity=false,DRADeviceBindingConditions=false,DRAResourceClaimDeviceStatus=false",
            True,
            id="without the status of devices",
        ),
    ],
)
def test_which_gates_choose_it(gates: str, expected: bool) -> None:
    assert Features.from_gates(feature_gates.parse(gates)).is_stable is expected


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


def test_it_does_not_tie_a_device_to_the_node_it_binds_to() -> None:
    network = [make_slice("s", Device(name="a", binds_to_node=True), all_nodes=True)]
    results = allocate(make_claim(request("r")), network, features=OLDEST)
    assert results is not None
    assert results[0].node_selector is None


@pytest.mark.parametrize("lists", [False, True], ids=["lists off", "lists on"])
@pytest.mark.parametrize("constraint", [same("links"), different("links")], ids=["same", "different"])
def test_lists_are_like_nothing_to_a_constraint(constraint: object, lists: bool) -> None:
    def linked(name: str, *links: int) -> Device:
        return Device(name=name, attributes={"links": DeviceAttribute(int_values=links)})

    slices = [make_slice("s", linked("a", 1, 2), linked("b", 1, 2), linked("c", 3))]
    features = Features(list_type_attributes=lists)
    one, two = (make_claim(request("r", count), constraints=(constraint,)) for count in (1, 2))
    assert given(allocate(one, slices, features=features)) == ["r: pool/a"]
    assert allocate(two, slices, features=features) is None

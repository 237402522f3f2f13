"""Claims that cannot be allocated, and what is said about them."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.model.device_pool import Device, ResourceSlice
from stowplan.model.dra import DeviceConstraint, DeviceDerivedAttribute, DeviceRequest, DeviceSelector
from stowplan.plugins.dynamicresources.claim_requests import AllocationError, NodeAllocationError
from stowplan.plugins.dynamicresources.features import Features
from tests.unit.plugins.dynamicresources.offers import (
    IN_1_36,
    NODE,
    allocate,
    allocator,
    alternative,
    attributes,
    devices,
    first_of,
    make_claim,
    make_slice,
    request,
)

A, B, C = devices("a", "b", "c")
ABC = [make_slice("s", A, B, C)]


@pytest.mark.parametrize(
    ("requests", "slices", "message"),
    [
        pytest.param(
            [request("r", device_class_name="gone")],
            ABC,
            'request r: could not retrieve device class gone: deviceclass.resource.k8s.io "gone" not found',
            id="a class that is not there",
        ),
        pytest.param(
            [request("r", device_class_name="")],
            ABC,
            "request r: missing device class name (unsupported request type?)",
            id="no class at all",
        ),
        pytest.param(
            [DeviceRequest(name="r")],
            ABC,
            "request r: missing device class name (unsupported request type?)",
            id="a request of an unknown kind",
        ),
        pytest.param(
            [request("r", selectors=(DeviceSelector(),))],
            ABC,
            "request r, selector #0: CEL expression empty (unsupported selector type?)",
            id="a selector of an unknown kind",
        ),
        pytest.param(
            [request("r", allocation_mode="Some")],
            ABC,
            "request r: unsupported count mode Some",
            id="an unknown mode",
        ),
        pytest.param(
            [request("r", allocation_mode="All")],
            [make_slice("s", A, count=2)],
            "request r: asks for all devices, but resource pool gpu.example.com/pool is currently being updated",
            id="all devices of a pool that is incomplete",
        ),
        pytest.param(
            [request("r", allocation_mode="All")],
            [make_slice("s", A, A)],
            "request r: asks for all devices, but resource pool gpu.example.com/pool is currently invalid",
            id="all devices of a pool that is invalid",
        ),
    ],
)
def test_a_request_that_cannot_be_tried_is_an_error(
    requests: list[DeviceRequest], slices: list[ResourceSlice], message: str
) -> None:
    with pytest.raises(AllocationError) as caught:
        allocate(make_claim(*requests), slices)
    assert str(caught.value) == f"claim default/claim, {message}"


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        pytest.param(
            [request("r", 20), request("s", 13)],
            "request s: adding 13 devices exceeds the claim limit of 32, with 20 already accounted for",
            id="more devices than a claim may have",
        ),
        pytest.param(
            [request("r", 30), first_of("s", alternative("x", 9), alternative("y", 3))],
            "request s: adding 3 devices exceeds the claim limit of 32, with 30 already accounted for",
            id="of alternatives the smallest counts",
        ),
        pytest.param(
            [request("r", 33), request("s", device_class_name="nope")],
            "request r: adding 33 devices exceeds the claim limit of 32, with 0 already accounted for",
            id="what comes after it is not looked at",
        ),
    ],
)
def test_a_claim_has_at_most_32_devices(requests: list[DeviceRequest], message: str) -> None:
    with pytest.raises(AllocationError) as caught:
        allocate(make_claim(*requests), ABC)
    assert str(caught.value) == f"claim default/claim, {message}"


def test_in_1_36_all_requests_are_counted_before_there_are_too_many() -> None:
    with pytest.raises(AllocationError) as caught:
        allocate(make_claim(request("r", 20), request("s", 13)), ABC, features=IN_1_36)
    assert str(caught.value) == "claim default/claim: number of requested devices 33 exceeds the claim limit of 32"


def test_derived_attributes_need_their_feature() -> None:
    derived = (DeviceDerivedAttribute(name="d/x", expression="device.driver"),)
    for claim in (
        make_claim(request("r", derived_attributes=derived)),
        make_claim(first_of("s", alternative("r", derived_attributes=derived))),
    ):
        with pytest.raises(AllocationError) as caught:
            allocate(claim, ABC)
        assert str(caught.value) == (
            "claim default/claim, request r: cannot handle request with derived attributes, the feature is disabled"
        )


def test_a_constraint_of_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(AllocationError, match=r"claim default/claim, constraint #0: empty constraint"):
        allocate(make_claim(request("r"), constraints=(DeviceConstraint(),)), ABC)


def test_an_invalid_pool_is_blamed_if_nothing_else_fits() -> None:
    with pytest.raises(NodeAllocationError, match="invalid resource pools were encountered"):
        allocate(make_claim(request("r")), [make_slice("s", A, A)])


def test_a_search_without_end_is_given_up() -> None:
    many = [make_slice("s", *(Device(name=f"d{n}", attributes=attributes(n=n)) for n in range(30)))]
    claim = make_claim(request("r", 6), request("s", 25))
    looks = iter(range(1000))
    with pytest.raises(AllocationError, match="node node-1: timed out trying to allocate devices"):
        allocator([claim], many).allocate(NODE, lambda: next(looks) == 999)


def test_an_ask_for_capacity_needs_its_feature() -> None:
    fields: dict[str, Any] = {"capacity": {"memory": "1Gi"}}
    with pytest.raises(AllocationError, match="has capacity requests, but the DRAConsumableCapacity feature is disab"):
        allocate(make_claim(request("r", **fields)), ABC, features=Features(consumable_capacity=False))

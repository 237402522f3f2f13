"""What was tried in vain leaves no trace: counters, shares and constraints are as if it had not been tried."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stowplan.model.device_pool import Device
from stowplan.model.quantity import Quantity
from stowplan.plugins.dynamicresources.allocated_devices import AllocatedState, DeviceId
from stowplan.plugins.dynamicresources.claim_requests import AllocationError, NodeAllocationError
from stowplan.plugins.dynamicresources.features import Features
from tests.unit.plugins.dynamicresources.offers import (
    DRIVER,
    OTHER_NODE,
    allocate,
    alternative,
    amounts,
    attributes,
    capacity,
    consuming,
    counter_set,
    devices,
    first_of,
    given,
    make_claim,
    make_slice,
    request,
    same,
    selecting,
    taking,
)

SHARED: dict[str, Any] = {"allow_multiple_allocations": True}


def of_kind(*kinds: str) -> Any:
    """Select devices of some kinds."""
    return selecting(f'device.attributes["{DRIVER}"].kind in {list(kinds)}')


def test_a_full_device_that_was_tried_binds_no_constraint() -> None:
    full = Device(name="full", attributes=attributes(kind="cap"), capacity=capacity(memory="2"), **SHARED)
    spare = Device(name="spare", attributes=attributes(kind="spare"))
    first = make_claim(request("r", capacity={"memory": "2"}, selectors=of_kind("cap")), name="first")
    every = alternative("all", allocation_mode="All", capacity=amounts(memory="2"), selectors=of_kind("cap"))
    second = make_claim(
        first_of("r", every, alternative("one", selectors=of_kind("spare"))), name="second", constraints=(same("kind"),)
    )
    assert given(allocate([first, second], [make_slice("s", full, spare)])) == ["r: pool/full", "r/one: pool/spare"]


def test_a_share_that_was_tried_leaves_the_counter_to_the_share_before_it() -> None:
    red = msgspec.structs.replace(
        consuming("red", c=1), attributes=attributes(kind="shared", colour="red"), allow_multiple_allocations=True
    )
    fallback = Device(name="fallback", attributes=attributes(kind="fallback", colour="blue"))
    gate = Device(name="gate", attributes=attributes(kind="gate", colour="blue"))
    slices = [
        make_slice("offers", red, fallback, gate, count=2),
        make_slice("counters", shared_counters=(counter_set(c=1),), count=2),
    ]
    first = make_claim(request("r0", selectors=of_kind("shared")), name="first")
    second = make_claim(
        request("r1", selectors=of_kind("shared", "fallback")),
        request("r2", selectors=of_kind("gate")),
        request("r3", selectors=of_kind("shared")),
        name="second",
        constraints=(same("colour", "r1", "r2"),),
    )
    assert given(allocate([first, second], slices)) == [
        "r0: pool/red",
        "r1: pool/fallback",
        "r2: pool/gate",
        "r3: pool/red",
    ]


def test_who_wants_all_devices_fails_by_a_constraint_even_after_a_counter_was_drawn_on() -> None:
    one = Device(name="one", attributes=attributes(numa=1))
    two = msgspec.structs.replace(consuming("two", c=1), attributes=attributes(numa=2))
    slices = [
        make_slice("offers", one, two, count=2),
        make_slice("counters", shared_counters=(counter_set(c=1),), count=2),
    ]
    claim = make_claim(request("r", allocation_mode="All"), constraints=(same("numa"),))
    with pytest.raises(AllocationError, match="/pool/two because a claim constraint would not"):
        allocate(claim, slices)


def of_driver(driver: str, has: int, takes: int) -> list[Any]:
    return [
        make_slice(f"{driver}-offers", consuming("d", c=takes), driver=driver, count=2),
        make_slice(f"{driver}-counters", shared_counters=(counter_set(c=has),), driver=driver, count=2),
    ]


@pytest.mark.parametrize(
    ("takes", "expected"),
    [(2, ["a: pool/d", "b: pool/d"]), (3, None)],
    ids=["each pool has counters of its own", "and no others"],
)
def test_pools_of_one_name_do_not_share_counters(takes: int, expected: list[str] | None) -> None:
    slices = [*of_driver("a.example.com", 1, 1), *of_driver("b.example.com", 2, takes)]
    claim = make_claim(
        request("a", selectors=selecting('device.driver == "a.example.com"')),
        request("b", selectors=selecting('device.driver == "b.example.com"')),
    )
    assert given(allocate(claim, slices)) == expected


def test_devices_of_other_nodes_draw_on_the_same_counters() -> None:
    slices = [
        make_slice("counters", shared_counters=(counter_set(memory=8),), count=3),
        make_slice("here", consuming("large", memory=6), consuming("small", memory=2), count=3),
        make_slice("there", consuming("other", memory=6), node_name=OTHER_NODE.name, count=3),
    ]
    claim = make_claim(first_of("r", alternative("two", 2), alternative("one", 1)))
    assert given(allocate(claim, slices, taking("other"))) == ["r/one: pool/small"]


def test_a_counter_that_is_missing_for_another_node_spoils_the_pool() -> None:
    elsewhere = consuming("other", memory=6)
    (consumption,) = elsewhere.consumes_counters
    unknown = msgspec.structs.replace(
        elsewhere, consumes_counters=(msgspec.structs.replace(consumption, counter_set="nope"),)
    )
    slices = [
        make_slice("counters", shared_counters=(counter_set(memory=8),), count=3),
        make_slice("here", consuming("large", memory=6), count=3),
        make_slice("there", unknown, node_name=OTHER_NODE.name, count=3),
    ]
    with pytest.raises(NodeAllocationError, match="invalid resource pools were encountered"):
        allocate(make_claim(request("r")), slices)


def test_a_slice_that_is_there_twice_spoils_the_pool() -> None:
    twice = [make_slice(name, *devices("d"), count=2) for name in ("s", "s-2")]
    with pytest.raises(NodeAllocationError, match="invalid resource pools were encountered"):
        allocate(make_claim(request("r")), twice)


SHAREABLE = Device(name="d", capacity=capacity(memory="2"), **SHARED)
ONE_TAKEN = AllocatedState(consumed={DeviceId(DRIVER, "pool", "d"): {"memory": Quantity.of(1)}})


@pytest.mark.parametrize(
    ("device", "in_use", "expected"),
    [
        pytest.param(SHAREABLE, ONE_TAKEN, ["r: pool/d"], id="a share of what is left"),
        pytest.param(SHAREABLE, taking("d"), None, id="it was given as a whole before it could be shared"),
    ],
)
def test_a_device_is_shared_only_if_it_was_before(
    device: Device, in_use: AllocatedState, expected: list[str] | None
) -> None:
    assert (
        given(allocate(make_claim(request("r", capacity={"memory": "1"})), [make_slice("s", device)], in_use))
        == expected
    )


def test_alternatives_that_would_be_too_many_together_are_passed_over() -> None:
    slices = [
        make_slice("a", *devices(*(f"d{number:02}" for number in range(31))), pool="a", driver="a.example.com"),
        make_slice("b", *devices("d0", "d1"), pool="b", driver="b.example.com"),
    ]
    of_a = selecting('device.driver == "a.example.com"')
    every = alternative("all", allocation_mode="All", selectors=of_a)
    claim = make_claim(
        first_of("r", every, alternative("two", 2, selectors=of_a)),
        request("s", 2, selectors=selecting('device.driver == "b.example.com"')),
    )
    assert given(allocate(claim, slices)) == ["r/two: a/d00", "r/two: a/d01", "s: b/d0", "s: b/d1"]


def test_without_partitions_a_device_that_draws_on_counters_is_given_to_nobody() -> None:
    offers = [make_slice("s", consuming("drawing", c=1), Device(name="plain"))]
    features = replace(Features(), partitionable_devices=False)
    assert given(allocate(make_claim(request("r")), offers, features=features)) == ["r: pool/plain"]

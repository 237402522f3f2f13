"""Devices that draw on shared counters: once only if they are shared themselves, and only with others they go with."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stowplan.model.device_pool import Device, DeviceCounterConsumption
from stowplan.plugins.dynamicresources.allocated_devices import AllocatedState, DeviceId, SharedDeviceId
from stowplan.plugins.dynamicresources.features import Features
from tests.unit.plugins.dynamicresources.offers import (
    DRIVER,
    IN_1_36,
    allocate,
    consuming,
    counter_set,
    counters,
    given,
    make_claim,
    make_slice,
    request,
    taking,
)

COUNTERS = make_slice("c", shared_counters=(counter_set(units=4), counter_set("more", units=4)), count=2)
GROUPS = Features(compatibility_groups=True)


def grouped(name: str, *groups: str, also: tuple[str, ...] | None = None) -> Device:
    """Make a device that draws one unit of a set of counters, and perhaps one of another, in some groups of each."""
    sets = [("set", groups)] if also is None else [("set", groups), ("more", also)]
    return Device(
        name=name,
        consumes_counters=tuple(
            DeviceCounterConsumption(counter_set=counted, counters=counters(units=1), compatibility_groups=each)
            for counted, each in sets
        ),
    )


def test_a_device_shared_without_capacity_draws_on_its_counters_once() -> None:
    shared = replace(consuming("a", units=4), allow_multiple_allocations=True)
    slices = [COUNTERS, make_slice("d", shared, count=2)]
    in_use = AllocatedState(shared={SharedDeviceId(DeviceId(DRIVER, "pool", "a"), "x")})
    assert given(allocate(make_claim(request("r")), slices, in_use)) == ["r: pool/a"]
    assert allocate(make_claim(request("r")), slices, in_use, IN_1_36) is None


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        pytest.param([grouped("a", "x"), grouped("b", "x")], "ab", id="one group in common"),
        pytest.param([grouped("a", "x"), grouped("b", "y"), grouped("c", "x")], "ac", id="no group in common"),
        pytest.param([grouped("a"), grouped("b", "y"), grouped("c")], "ac", id="those without groups keep together"),
        pytest.param([grouped("a", "x"), grouped("b"), grouped("c", "x")], "ac", id="and are nobody else's"),
        pytest.param(
            [grouped("a", "x", also=("v",)), grouped("b", "x", also=("w",)), grouped("c", "x", also=("v",))],
            "ac",
            id="in every set of counters",
        ),
    ],
)
def test_devices_of_one_set_of_counters_have_a_group_in_common(devices: list[Device], expected: str) -> None:
    slices = [COUNTERS, make_slice("d", *devices, count=2)]
    results = allocate(make_claim(request("r", 2)), slices, features=GROUPS)
    assert given(results) == [f"r: pool/{name}" for name in expected]


def test_it_is_one_group_that_all_have_in_common() -> None:
    devices = [grouped("a", "x", "y"), grouped("b", "y", "z"), grouped("c", "x", "z"), grouped("d", "y")]
    slices = [COUNTERS, make_slice("d", *devices, count=2)]
    results = allocate(make_claim(request("r", 3)), slices, features=GROUPS)
    assert given(results) == ["r: pool/a", "r: pool/b", "r: pool/d"]


def test_devices_that_are_in_use_are_among_them() -> None:
    slices = [COUNTERS, make_slice("d", grouped("a", "x"), grouped("b", "y"), grouped("c", "x"), count=2)]
    assert given(allocate(make_claim(request("r")), slices, taking("a"), GROUPS)) == ["r: pool/c"]


def test_devices_in_use_that_do_not_go_together_go_with_nobody() -> None:
    devices = [grouped("a", "x"), grouped("b", "y"), grouped("c", "x"), grouped("d")]
    slices = [COUNTERS, make_slice("d", *devices, count=2)]
    assert allocate(make_claim(request("r")), slices, taking("a", "b"), GROUPS) is None


def test_a_group_counts_no_more_when_its_device_is_taken_back() -> None:
    # The first try takes "a" for r and finds nothing for s, which needs two more that go with it.
    devices = [grouped("a", "x"), grouped("b", "y"), grouped("c", "y"), grouped("d", "y")]
    slices = [COUNTERS, make_slice("d", *devices, count=2)]
    results = allocate(make_claim(request("r"), request("s", 2)), slices, features=GROUPS)
    assert given(results) == ["r: pool/b", "s: pool/c", "s: pool/d"]

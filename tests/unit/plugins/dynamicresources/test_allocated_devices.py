"""What is taken of devices, and which pools a change concerns."""

from __future__ import annotations

from stowplan.model.quantity import Quantity
from stowplan.plugins.dynamicresources.allocated_devices import AllocatedDevices, DeviceId, PoolId, SharedDeviceId
from tests.unit.plugins.dynamicresources.claim_objects import DRIVER, claim, given

POOL = PoolId(DRIVER, "n")


def device(name: str) -> DeviceId:
    return DeviceId(DRIVER, "n", name)


def test_a_claim_takes_its_devices_and_gives_them_back() -> None:
    usage = AllocatedDevices()
    usage.count("a", claim("a", allocation=given("n", "d1", "d2")))
    assert set(usage.state.devices) == {device("d1"), device("d2")}
    usage.count("a", claim("a", allocation=given("n", "d2")))
    assert set(usage.state.devices) == {device("d2")}
    usage.count("a", None)
    assert set(usage.state.devices) == set()


def test_a_device_that_two_hold_is_taken_until_both_gave_it_back() -> None:
    usage = AllocatedDevices()
    usage.count("in flight", claim("a", allocation=given("n", "d1")))
    usage.count("known", claim("a", allocation=given("n", "d1")))
    position = usage.position
    usage.count("in flight", None)
    assert set(usage.state.devices) == {device("d1")}
    assert usage.touched_since(position) == []
    usage.count("known", None)
    assert set(usage.state.devices) == set()
    assert usage.touched_since(position) == [POOL]


def test_administration_takes_nothing() -> None:
    usage = AllocatedDevices()
    usage.count("a", claim("a", allocation=given("n", "d1", adminAccess=True)))
    assert not usage.state.devices
    assert usage.position == 0


def test_shares_are_added_up() -> None:
    usage = AllocatedDevices()
    usage.count("a", claim("a", allocation=given("n", "d1", shareID="s1", consumedCapacity={"memory": "3Gi"})))
    usage.count("b", claim("b", allocation=given("n", "d1", shareID="s2", consumedCapacity={"memory": "1Gi"})))
    assert set(usage.state.shared) == {SharedDeviceId(device("d1"), "s1"), SharedDeviceId(device("d1"), "s2")}
    assert usage.state.consumed == {device("d1"): {"memory": Quantity.parse("4Gi")}}
    assert not usage.state.devices
    usage.count("a", None)
    assert usage.state.consumed == {device("d1"): {"memory": Quantity.parse("1Gi")}}
    usage.count("b", None)
    assert usage.state.consumed == {}


def test_without_the_feature_a_share_is_the_whole_device() -> None:
    usage = AllocatedDevices(counts_shares=False)
    usage.count("a", claim("a", allocation=given("n", "d1", shareID="s1")))
    assert set(usage.state.devices) == {device("d1")}


def test_touched_pools_are_forgotten_after_a_while() -> None:
    usage = AllocatedDevices()
    for _ in range(20_000):
        usage.count("a", claim("a", allocation=given("n", "d1")))
        usage.count("a", None)
    assert usage.touched_since(0) is None
    assert usage.touched_since(usage.position - 1) == [POOL]

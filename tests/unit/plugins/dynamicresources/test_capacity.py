"""Consumable capacity: how much a request takes, and when devices are shared."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stowplan.model.device_pool import CapacityRange, CapacityRequestPolicy, Device, DeviceCapacity
from stowplan.model.quantity import Quantity
from stowplan.plugins.dynamicresources.allocated_devices import AllocatedState, DeviceId, SharedDeviceId
from stowplan.plugins.dynamicresources.capacity import CapacityError, CapacityRules
from stowplan.plugins.dynamicresources.claim_requests import AllocationError
from stowplan.plugins.dynamicresources.features import Features
from tests.unit.plugins.dynamicresources.offers import (
    DRIVER,
    IN_1_36,
    allocate,
    given,
    make_claim,
    make_slice,
    request,
)


def amount(text: str) -> Quantity:
    return Quantity.parse(text)


def policy(**fields: str | tuple[str, ...]) -> CapacityRequestPolicy:
    default = fields.get("default")
    values = fields.get("values", ())
    bounds = {name: amount(str(fields[name])) for name in ("min", "max", "step") if name in fields}
    return CapacityRequestPolicy(
        default=amount(str(default)) if default else None,
        valid_values=tuple(amount(value) for value in values),
        valid_range=CapacityRange(**bounds) if bounds else None,
    )


def make_device(value: str = "10Gi", rule: CapacityRequestPolicy | None = None, *, is_shared: bool = True) -> Device:
    offered = {"memory": DeviceCapacity(value=amount(value), request_policy=rule)}
    return Device(name="a", capacity=offered, allow_multiple_allocations=is_shared)


VALUES = policy(default="1Gi", values=("1Gi", "2Gi", "4Gi"))
STEPS = policy(default="1Gi", min="1Gi", max="4Gi", step="512Mi")


@pytest.mark.parametrize(
    ("rule", "requested", "consumed"),
    [
        pytest.param(None, None, "10Gi", id="everything, if nothing is said"),
        pytest.param(None, "3Gi", "3Gi", id="what is requested"),
        pytest.param(VALUES, None, "1Gi", id="the default"),
        pytest.param(VALUES, "1536Mi", "2Gi", id="the next valid value"),
        pytest.param(VALUES, "5Gi", "5Gi", id="what is requested beyond the last valid value"),
        pytest.param(STEPS, "100Mi", "1Gi", id="the minimum"),
        pytest.param(STEPS, "1200Mi", "1536Mi", id="the next step"),
        pytest.param(STEPS, "1536Mi", "1536Mi", id="a whole number of steps"),
        pytest.param(policy(min="1Gi"), "1200Mi", "1200Mi", id="anything above the minimum without steps"),
    ],
)
def test_requests_are_rounded_up_to_what_a_policy_allows(
    rule: CapacityRequestPolicy | None, requested: str | None, consumed: str
) -> None:
    wanted = {} if requested is None else {"memory": amount(requested)}
    for features in (Features(), IN_1_36):
        assert CapacityRules(features).consumed(make_device(rule=rule), wanted) == {"memory": amount(consumed)}


THIRDS = policy(min="500m", max="5", step="250m")


@pytest.mark.parametrize(
    ("rule", "requested", "in_thousandths", "in_units"),
    [
        pytest.param(THIRDS, "600m", "750m", "1", id="the next step"),
        pytest.param(THIRDS, "100m", "500m", "500m", id="the minimum"),
        pytest.param(THIRDS, "1500m", "1500m", "2", id="a step that is there"),
        pytest.param(policy(min="0", step="100u"), "1500m", "2", "2", id="a step that is finer than that"),
        pytest.param(policy(min="0", max="10u", step="1m"), "1500m", "2", "2", id="a bound that is finer than that"),
    ],
)
def test_steps_of_thousandths_need_their_feature(
    rule: CapacityRequestPolicy, requested: str, in_thousandths: str, in_units: str
) -> None:
    device, wanted = make_device(rule=rule), {"memory": amount(requested)}
    with_fractions = CapacityRules(Features(fractional_capacity=True))
    assert with_fractions.consumed(device, wanted) == {"memory": amount(in_thousandths)}
    assert CapacityRules(Features()).consumed(device, wanted) == {"memory": amount(in_units)}


def test_what_is_rounded_is_written_as_its_step() -> None:
    device = make_device(rule=policy(min="1Gi", step="512Mi"))
    decimal = make_device(rule=policy(min="1", step="100"))
    wanted = {"memory": amount("1100M")}
    assert str(CapacityRules(Features()).consumed(device, wanted)["memory"]) == "1536Mi"
    assert str(CapacityRules(Features()).consumed(decimal, {"memory": amount("150")})["memory"]) == "201"


TOO_LARGE = "capacity request cannot be represented in the device's range arithmetic"


@pytest.mark.parametrize(
    ("device", "requested", "features", "message"),
    [
        pytest.param(
            make_device(rule=policy(min="1", step="1")),
            "10E",
            Features(),
            f"{TOO_LARGE}: request 10E exceeds MaxInt64",
            id="more than can be counted",
        ),
        pytest.param(
            make_device(rule=policy(min="1", step="7E")),
            "9E",
            Features(),
            f"{TOO_LARGE}: rounding request 9E up to the next step passes MaxInt64",
            id="a step too far",
        ),
        pytest.param(
            make_device(rule=policy(min="1m", step="1m")),
            "1100u",
            Features(fractional_capacity=True),
            f"{TOO_LARGE}: request 1100u is not a representable milli value",
            id="finer than thousandths",
        ),
        pytest.param(
            make_device(rule=policy(min="1m", step="7P")),
            "9P",
            Features(fractional_capacity=True),
            f"{TOO_LARGE}: rounding request 9P up to the next step passes the milli-value range",
            id="a step too far in thousandths",
        ),
        pytest.param(make_device(), "-1", Features(), "capacity value is negative", id="less than nothing"),
        pytest.param(
            make_device("-1"), None, Features(), "capacity value is negative", id="a capacity of less than nothing"
        ),
    ],
)
def test_amounts_that_cannot_be_reckoned_with_are_an_error(
    device: Device, requested: str | None, features: Features, message: str
) -> None:
    wanted = {} if requested is None else {"memory": amount(requested)}
    with pytest.raises(CapacityError) as caught:
        CapacityRules(features).is_left(device, wanted)
    assert str(caught.value) == f'capacity "memory": {message}'


def test_an_amount_that_cannot_be_reckoned_with_ends_the_allocation() -> None:
    slices = [make_slice("1", make_device(rule=policy(min="1", step="1")))]
    claim = make_claim(request("r", capacity={"memory": "10E"}))
    all_of_them = make_claim(request("r", allocation_mode="All", capacity={"memory": "10E"}))
    why = f'capacity "memory": {TOO_LARGE}: request 10E exceeds MaxInt64'
    for wanted, name in ((claim, f"{DRIVER}/pool/a"), (all_of_them, "a")):
        with pytest.raises(AllocationError) as caught:
            allocate(wanted, slices)
        assert str(caught.value) == f"claim default/claim, request r: checking capacity for device {name}: {why}"


def test_in_1_36_such_a_device_is_passed_over() -> None:
    slices = [make_slice("1", make_device(rule=policy(min="1", step="1")))]
    assert allocate(make_claim(request("r", capacity={"memory": "10E"})), slices, features=IN_1_36) is None


@pytest.mark.parametrize(
    ("rule", "requested", "taken", "expected"),
    [
        pytest.param(None, {"memory": "10Gi"}, {}, True, id="exactly what there is"),
        pytest.param(None, {"memory": "11Gi"}, {}, False, id="more than there is"),
        pytest.param(None, {"memory": "4Gi"}, {"memory": "6Gi"}, True, id="exactly what others left"),
        pytest.param(None, {"memory": "5Gi"}, {"memory": "6Gi"}, False, id="more than others left"),
        pytest.param(None, {"cores": "1"}, {}, False, id="a capacity that the device does not have"),
        pytest.param(VALUES, {"memory": "5Gi"}, {}, False, id="beyond the last valid value"),
        pytest.param(STEPS, {"memory": "5Gi"}, {}, False, id="beyond the maximum"),
        pytest.param(STEPS, {"memory": "1200Mi"}, {"memory": "8Gi"}, True, id="a step that is still there"),
        pytest.param(STEPS, {"memory": "1600Mi"}, {"memory": "8704Mi"}, False, id="a step that is not"),
    ],
)
def test_what_is_left_decides(
    rule: CapacityRequestPolicy | None, requested: dict[str, str], taken: dict[str, str], expected: bool
) -> None:
    wanted = {name: amount(value) for name, value in requested.items()}
    others = {name: amount(value) for name, value in taken.items()}
    for features in (Features(), IN_1_36):
        rules = CapacityRules(features)
        assert rules.is_left(make_device(rule=rule), wanted, others, {}) is expected
        assert rules.is_left(make_device(rule=rule), wanted, {}, others) is expected


class TestSharing:
    SLICES = (make_slice("s", make_device()),)

    def test_requests_share_a_device_as_far_as_it_goes(self) -> None:
        claim = make_claim(*(request(name, capacity={"memory": "5Gi"}) for name in "rs"))
        results = allocate(claim, self.SLICES)
        assert given(results) == ["r: pool/a", "s: pool/a"]
        assert results is not None
        shares = results[0].devices.results
        assert [share.consumed_capacity for share in shares] == [{"memory": amount("5Gi")}] * 2
        assert len({share.share_id for share in shares} - {None}) == 2

    def test_nothing_is_given_beyond_that(self) -> None:
        claim = make_claim(*(request(name, capacity={"memory": "5Gi"}) for name in "rst"))
        assert allocate(claim, self.SLICES) is None

    def test_one_request_gets_different_devices(self) -> None:
        assert allocate(make_claim(request("r", 2, capacity={"memory": "1Gi"})), self.SLICES) is None

    def test_what_the_cluster_consumes_counts(self) -> None:
        device = DeviceId(DRIVER, "pool", "a")
        in_use = AllocatedState(shared={SharedDeviceId(device, "x")}, consumed={device: {"memory": amount("6Gi")}})
        small, large = (make_claim(request("r", capacity={"memory": value})) for value in ("4Gi", "5Gi"))
        assert given(allocate(small, self.SLICES, in_use)) == ["r: pool/a"]
        assert allocate(large, self.SLICES, in_use) is None

    def test_all_devices_cannot_be_had_if_too_little_is_left_of_one(self) -> None:
        slices = [make_slice("s", make_device(), replace(make_device(), name="b"))]
        device = DeviceId(DRIVER, "pool", "a")
        in_use = AllocatedState(shared={SharedDeviceId(device, "x")}, consumed={device: {"memory": amount("6Gi")}})
        claim = make_claim(request("r", allocation_mode="All", capacity={"memory": "5Gi"}))
        assert allocate(claim, slices, in_use) is None
        assert given(allocate(claim, slices, in_use, IN_1_36)) == ["r: pool/b"]
        small = make_claim(request("r", allocation_mode="All", capacity={"memory": "4Gi"}))
        assert given(allocate(small, slices, in_use)) == ["r: pool/a", "r: pool/b"]

    def test_all_devices_are_those_that_could_ever_give_so_much(self) -> None:
        slices = [make_slice("s", make_device("1Gi"), replace(make_device(), name="b"))]
        claim = make_claim(request("r", allocation_mode="All", capacity={"memory": "5Gi"}))
        assert given(allocate(claim, slices)) == ["r: pool/b"]

    def test_a_device_that_is_not_shared_is_given_as_a_whole(self) -> None:
        slices = [make_slice("s", make_device(is_shared=False))]
        results = allocate(make_claim(request("r", capacity={"memory": "1Gi"})), slices)
        assert results is not None
        assert results[0].devices.results[0].share_id is None
        assert results[0].devices.results[0].consumed_capacity == {}
        assert allocate(make_claim(*(request(name, capacity={"memory": "1Gi"}) for name in "rs")), slices) is None

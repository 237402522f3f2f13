"""Consumable capacity: how much a request takes, and when devices are shared."""

from __future__ import annotations

import pytest

from stowplan.model.device_pool import CapacityRange, CapacityRequestPolicy, Device, DeviceCapacity
from stowplan.model.quantity import Quantity
from stowplan.plugins.dynamicresources import capacity
from stowplan.plugins.dynamicresources.allocated_devices import AllocatedState, DeviceId, SharedDeviceId
from tests.unit.plugins.dynamicresources.offers import DRIVER, allocate, given, make_claim, make_slice, request


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
    assert capacity.consumed(make_device(rule=rule), wanted) == {"memory": amount(consumed)}


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
    assert capacity.is_left(make_device(rule=rule), wanted, others, {}) is expected
    assert capacity.is_left(make_device(rule=rule), wanted, {}, others) is expected


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

    def test_a_device_that_is_not_shared_is_given_as_a_whole(self) -> None:
        slices = [make_slice("s", make_device(is_shared=False))]
        results = allocate(make_claim(request("r", capacity={"memory": "1Gi"})), slices)
        assert results is not None
        assert results[0].devices.results[0].share_id is None
        assert results[0].devices.results[0].consumed_capacity == {}
        assert allocate(make_claim(*(request(name, capacity={"memory": "1Gi"}) for name in "rs")), slices) is None

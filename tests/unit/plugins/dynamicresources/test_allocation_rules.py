"""What keeps a device from being given: constraints, taints, shared counters, conditions, and who has it already."""

from __future__ import annotations

import pytest

from stowplan.model.device_pool import Device, DeviceTaint, ResourceSlice
from stowplan.model.dra import DeviceConstraint, DeviceRequest, DeviceToleration
from stowplan.plugins.dynamicresources.allocated_devices import AllocatedState
from stowplan.plugins.dynamicresources.claim_requests import AllocationError
from stowplan.plugins.dynamicresources.features import Features
from tests.unit.plugins.dynamicresources.offers import (
    allocate,
    alternative,
    attributes,
    consuming,
    counter_set,
    devices,
    different,
    first_of,
    given,
    make_claim,
    make_slice,
    request,
    same,
    taking,
)

A, B, C = devices("a", "b", "c")
ABC = [make_slice("s", A, B, C)]


class TestConstraints:
    SLICES = (
        make_slice(
            "s",
            Device(name="a", attributes=attributes(numa=0)),
            Device(name="b", attributes=attributes(numa=1)),
            Device(name="c", attributes=attributes(numa=1)),
            Device(name="d"),
        ),
    )

    @pytest.mark.parametrize(
        ("requests", "constraints", "expected"),
        [
            pytest.param(
                [request("r", 2)],
                [same("numa")],
                ["r: pool/b", "r: pool/c"],
                id="the first devices that have it in common",
            ),
            pytest.param([request("r", 3)], [same("numa")], None, id="none if too few have it in common"),
            pytest.param(
                [request("r"), request("s")],
                [different("numa")],
                ["r: pool/a", "s: pool/b"],
                id="the first devices that differ",
            ),
            pytest.param(
                [request("r"), request("s"), request("t")], [different("numa")], None, id="none if too few differ"
            ),
            pytest.param(
                [request("r", 2), request("s")],
                [same("numa", "r")],
                ["r: pool/b", "r: pool/c", "s: pool/a"],
                id="only the requests it names are bound",
            ),
            pytest.param(
                [first_of("r", alternative("x", 2)), request("s")],
                [same("numa", "r/x")],
                ["r/x: pool/b", "r/x: pool/c", "s: pool/a"],
                id="an alternative may be named",
            ),
            pytest.param(
                [request("r", 2)],
                [same("numa"), different("numa")],
                None,
                id="two constraints must both hold",
            ),
        ],
    )
    def test_they_bind_the_devices_of_a_claim(
        self, requests: list[DeviceRequest], constraints: list[DeviceConstraint], expected: list[str] | None
    ) -> None:
        claim = make_claim(*requests, constraints=tuple(constraints))
        assert given(allocate(claim, self.SLICES)) == expected

    def test_all_devices_that_a_constraint_forbids_are_an_error(self) -> None:
        claim = make_claim(request("r", allocation_mode="All"), constraints=(same("numa"),))
        with pytest.raises(AllocationError) as caught:
            allocate(claim, self.SLICES)
        assert str(caught.value) == (
            "claim default/claim, request r: cannot add device gpu.example.com/pool/b"
            " because a claim constraint would not be satisfied"
        )


class TestTaints:
    TAINT = DeviceTaint(key="sick", value="very", effect="NoSchedule")

    @pytest.mark.parametrize(
        ("effect", "tolerations", "expected"),
        [
            pytest.param("NoSchedule", [], "b", id="a taint keeps a device from being given"),
            pytest.param("NoExecute", [], "b", id="whichever of the two effects it has"),
            pytest.param("None", [], "a", id="but not if it has none"),
            pytest.param("NoSchedule", [DeviceToleration(operator="Exists")], "a", id="everything is tolerated"),
            pytest.param("NoSchedule", [DeviceToleration(key="sick", value="very")], "a", id="this value is tolerated"),
            pytest.param("NoSchedule", [DeviceToleration(key="sick", value="a bit")], "b", id="another value is"),
            pytest.param("NoSchedule", [DeviceToleration(key="old", operator="Exists")], "b", id="another key is"),
            pytest.param(
                "NoSchedule",
                [DeviceToleration(key="sick", operator="Exists", effect="NoExecute")],
                "b",
                id="another effect is",
            ),
        ],
    )
    def test_they_have_to_be_tolerated(self, effect: str, tolerations: list[DeviceToleration], expected: str) -> None:
        taint = DeviceTaint(key="sick", value="very", effect=effect)
        slices = [make_slice("s", Device(name="a", taints=(taint,)), B)]
        claim = make_claim(request("r", tolerations=tuple(tolerations)))
        assert given(allocate(claim, slices)) == [f"r: pool/{expected}"]

    def test_without_the_feature_they_do_not_count(self) -> None:
        slices = [make_slice("s", Device(name="a", taints=(self.TAINT,)))]
        assert given(allocate(make_claim(request("r")), slices, features=Features(device_taints=False))) == [
            "r: pool/a"
        ]


class TestAdminAccess:
    def test_it_gives_devices_that_are_in_use(self) -> None:
        assert given(allocate(make_claim(request("r", admin_access=True)), ABC, taking("a"))) == ["r: pool/a"]

    def test_a_claim_gets_each_device_once(self) -> None:
        claim = make_claim(request("r", 2, admin_access=True), request("s", admin_access=True))
        assert given(allocate(claim, ABC)) == ["r: pool/a", "r: pool/b", "s: pool/c"]

    def test_two_claims_may_get_the_same_device(self) -> None:
        claims = [make_claim(request("r", admin_access=True), name=name) for name in ("x", "y")]
        assert given(allocate(claims, ABC)) == ["r: pool/a", "r: pool/a"]

    def test_others_do_not_get_what_it_gave(self) -> None:
        claims = [make_claim(request("r", admin_access=True), name="x"), make_claim(request("r"), name="y")]
        assert given(allocate(claims, ABC)) == ["r: pool/a", "r: pool/b"]


class TestCounters:
    COUNTERS = make_slice("counters", shared_counters=(counter_set(units=4),), count=2)

    def offer(self, *found: Device) -> list[ResourceSlice]:
        return [self.COUNTERS, make_slice("devices", *found, count=2)]

    @pytest.mark.parametrize(
        ("number", "in_use", "expected"),
        [
            pytest.param(1, AllocatedState(), ["whole"], id="the whole device, if nothing is taken"),
            pytest.param(1, taking("half"), ["third"], id="what the counters allow besides the devices in use"),
            pytest.param(2, AllocatedState(), ["half", "third"], id="devices that the counters allow together"),
            pytest.param(1, taking("half", "third"), None, id="none if nothing is left"),
        ],
    )
    def test_devices_share_them(self, number: int, in_use: AllocatedState, expected: list[str] | None) -> None:
        found = consuming("whole", units=4), consuming("half", units=2), consuming("third", units=2)
        results = given(allocate(make_claim(request("r", number)), self.offer(*found), in_use))
        assert results == (expected and [f"r: pool/{name}" for name in expected])

    def test_devices_for_other_nodes_draw_on_them_too(self) -> None:
        elsewhere = make_slice("elsewhere", consuming("far", units=3), node_name="node-2", count=3)
        here = make_slice("here", consuming("near", units=2), count=3)
        counting = make_slice("counters", shared_counters=(counter_set(units=4),), count=3)
        claim = make_claim(request("r"))
        assert given(allocate(claim, [elsewhere, here, counting])) == ["r: pool/near"]
        assert given(allocate(claim, [elsewhere, here, counting], taking("far"))) is None

    def test_more_taken_than_there_is_leaves_nothing(self) -> None:
        slices = self.offer(consuming("big", units=9), consuming("none", units=0))
        assert given(allocate(make_claim(request("r")), slices, taking("big"))) is None

    def test_without_the_feature_such_devices_are_not_given(self) -> None:
        slices = [make_slice("s", consuming("a", units=1), B)]
        off = Features(partitionable_devices=False)
        assert given(allocate(make_claim(request("r")), slices, features=off)) == ["r: pool/b"]


class TestBindingConditions:
    SLICES = (make_slice("1", Device(name="a", binding_conditions=("ready",)), pool="x"), make_slice("2", B, pool="y"))

    def test_devices_without_them_come_first(self) -> None:
        assert given(allocate(make_claim(request("r", 2)), self.SLICES)) == ["r: y/b", "r: x/a"]

    def test_without_the_feature_devices_with_them_are_not_given(self) -> None:
        off = Features(binding_conditions=False)
        assert given(allocate(make_claim(request("r", 2)), self.SLICES, features=off)) is None

"""What a claim asks of its devices together: one attribute the same for all of them, or different for each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stowplan.model.device_pool import Device, DeviceAttribute
from stowplan.model.dra import DeviceConstraint, DeviceDerivedAttribute
from stowplan.plugins.dynamicresources.claim_requests import AllocationError
from stowplan.plugins.dynamicresources.features import Features
from tests.unit.plugins.dynamicresources.offers import (
    DRIVER,
    IN_1_36,
    allocate,
    alternative,
    attributes,
    capacity,
    different,
    first_of,
    given,
    make_claim,
    make_slice,
    request,
    same,
)

LISTS = Features(list_type_attributes=True)
DERIVED = Features(derived_attributes=True)


def numbered(name: str, rack: int) -> Device:
    return Device(name=name, attributes=attributes(rack=rack))


def linked(name: str, *links: int) -> Device:
    return Device(name=name, attributes={"links": DeviceAttribute(int_values=links)})


def test_no_two_devices_of_a_request_have_the_same_value() -> None:
    slices = [make_slice("s", numbered("a", 1), numbered("b", 2), numbered("c", 1), numbered("d", 3))]
    claim = make_claim(request("r", 3), constraints=(different("rack"),))
    assert given(allocate(claim, slices)) == ["r: pool/a", "r: pool/b", "r: pool/d"]


def test_in_1_36_a_device_is_compared_with_the_last_one_of_each_request() -> None:
    slices = [make_slice("s", numbered("a", 1), numbered("b", 2), numbered("c", 1), numbered("d", 3))]
    claim = make_claim(request("r", 3), constraints=(different("rack"),))
    assert given(allocate(claim, slices, features=IN_1_36)) == ["r: pool/a", "r: pool/b", "r: pool/c"]


def test_what_is_taken_back_is_compared_no_more() -> None:
    slices = [make_slice("s", numbered("a", 1), numbered("b", 2), numbered("c", 2))]
    claim = make_claim(
        request("r"), request("s"), request("t"), constraints=(different("rack", "r", "s"), same("rack", "s", "t"))
    )
    assert given(allocate(claim, slices)) == ["r: pool/a", "s: pool/b", "t: pool/c"]


def test_only_the_alternative_that_is_named_is_bound() -> None:
    slices = [make_slice("s", numbered("a", 1), numbered("b", 1), numbered("c", 2))]
    claim = make_claim(
        request("r"), first_of("s", alternative("x"), alternative("y")), constraints=(different("rack", "r", "s/x"),)
    )
    assert given(allocate(claim, slices)) == ["r: pool/a", "s/x: pool/c"]


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        pytest.param(same("links"), ["r: pool/a", "r: pool/b"], id="something in common"),
        pytest.param(different("links"), ["r: pool/a", "r: pool/d"], id="nothing in common"),
    ],
)
def test_lists_are_compared_by_what_is_in_them(constraint: DeviceConstraint, expected: list[str]) -> None:
    slices = [make_slice("s", linked("a", 1, 2), linked("b", 2, 3), linked("c", 1, 3), linked("d", 4))]
    claim = make_claim(request("r", 2), constraints=(constraint,))
    assert given(allocate(claim, slices, features=LISTS)) == expected


def test_all_devices_have_one_thing_in_common() -> None:
    slices = [make_slice("s", linked("a", 1, 2), linked("b", 2, 3), linked("c", 1, 3), linked("d", 2))]
    claim = make_claim(request("r", 3), constraints=(same("links"),))
    assert given(allocate(claim, slices, features=LISTS)) == ["r: pool/a", "r: pool/b", "r: pool/d"]


def test_a_single_value_is_a_list_of_one() -> None:
    slices = [make_slice("s", linked("a", 1, 2), Device(name="b", attributes=attributes(links=2)))]
    claim = make_claim(request("r", 2), constraints=(same("links"),))
    assert given(allocate(claim, slices, features=LISTS)) == ["r: pool/a", "r: pool/b"]


def test_a_list_of_nothing_is_no_value() -> None:
    slices = [make_slice("s", Device(name="a", attributes={"links": DeviceAttribute()}))]
    claim = make_claim(request("r"), constraints=(same("links"),))
    assert allocate(claim, slices, features=LISTS) is None


@pytest.mark.parametrize(
    "features", [Features(), IN_1_36, replace(IN_1_36, list_type_attributes=True)], ids=["off", "1.36", "1.36, on"]
)
@pytest.mark.parametrize("constraint", [same("links"), different("links")], ids=["same", "different"])
def test_lists_are_like_nothing_without_their_feature(constraint: DeviceConstraint, features: Features) -> None:
    slices = [make_slice("s", linked("a", 1, 2), linked("b", 1, 2), linked("c", 3))]
    one, two = (make_claim(request("r", count), constraints=(constraint,)) for count in (1, 2))
    assert given(allocate(one, slices, features=features)) == ["r: pool/a"]
    assert allocate(two, slices, features=features) is None


class TestDerivedAttributes:
    SLICES = (
        make_slice(
            "s",
            Device(name="a", attributes=attributes(model="a-1"), capacity=capacity(memory="10Gi")),
            Device(name="b", attributes=attributes(model="b-1"), capacity=capacity(memory="20Gi")),
            Device(name="c", attributes=attributes(model="a-2"), capacity=capacity(memory="20Gi")),
        ),
    )

    def devices(self, expression: str, features: Features = DERIVED, **constraint: Any) -> list[str] | None:
        derived = (DeviceDerivedAttribute(name="d/x", expression=expression),)
        claim = make_claim(
            request("r", 2, derived_attributes=derived),
            constraints=(DeviceConstraint(**constraint or {"match_attribute": "d/x"}),),
        )
        return given(allocate(claim, self.SLICES, features=features))

    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            pytest.param(f'device.attributes["{DRIVER}"].model.charAt(0)', "ac", id="a text"),
            pytest.param(f'device.capacity["{DRIVER}"].memory.isGreaterThan(quantity("15Gi"))', "bc", id="a boolean"),
            pytest.param(f'device.attributes["{DRIVER}"].model.indexOf("2")', "ab", id="a number"),
            pytest.param(f'semver(device.attributes["{DRIVER}"].model.charAt(2) + ".0.0")', "ab", id="a version"),
        ],
    )
    def test_they_are_compared_as_any_other(self, expression: str, expected: str) -> None:
        assert self.devices(expression) == [f"r: pool/{name}" for name in expected]

    def test_they_may_have_to_differ(self) -> None:
        expression = f'device.attributes["{DRIVER}"].model.charAt(2)'
        assert self.devices(expression, distinct_attribute="d/x") == ["r: pool/a", "r: pool/c"]

    def test_lists_are_compared_where_lists_are(self) -> None:
        expression = f'[device.attributes["{DRIVER}"].model.charAt(0)]'
        assert self.devices(expression) is None
        both = Features(derived_attributes=True, list_type_attributes=True)
        assert self.devices(expression, both) == ["r: pool/a", "r: pool/c"]

    @pytest.mark.parametrize(
        ("expression", "message"),
        [
            pytest.param(
                f'device.attributes["{DRIVER}"].nope',
                "evaluate derived attribute d/x on device gpu.example.com/pool/a failed: no such key: nope",
                id="it fails",
            ),
            pytest.param(
                "1.5",
                "compile derived attribute d/x failed: must evaluate to a primitive scalar (string, integer, boolean,"
                " semver) or a list of these scalars, not double",
                id="it is of no kind that attributes have",
            ),
            pytest.param(
                f'device.capacity["{DRIVER}"].memory',
                "compile derived attribute d/x failed: must evaluate to a primitive scalar (string, integer, boolean,"
                " semver) or a list of these scalars, not kubernetes.Quantity",
                id="a quantity",
            ),
            pytest.param(
                "dyn(1.5)",
                "evaluate derived attribute d/x on device gpu.example.com/pool/a failed:"
                " unsupported CEL return type: float64",
                id="it turns out to be of no kind that attributes have",
            ),
            pytest.param(
                '[dyn(1), dyn("a")]',
                "evaluate derived attribute d/x on device gpu.example.com/pool/a failed:"
                " expected list element at index 1 to be int, got string",
                id="a list of this and that",
            ),
        ],
    )
    def test_what_cannot_be_derived_is_an_error(self, expression: str, message: str) -> None:
        with pytest.raises(AllocationError) as caught:
            self.devices(expression)
        assert str(caught.value) == message

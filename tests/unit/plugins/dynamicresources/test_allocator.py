"""Which devices claims are given on a node: what is tried first, and what if that does not do."""

from __future__ import annotations

import pytest

from stowplan.model.device_pool import Device
from stowplan.model.dra import ResourceClaim
from stowplan.plugins.dynamicresources.allocated_devices import AllocatedState
from stowplan.plugins.dynamicresources.claim_requests import AllocationError
from stowplan.plugins.dynamicresources.features import Features
from tests.unit.plugins.dynamicresources.offers import (
    DRIVER,
    IN_1_36,
    allocate,
    alternative,
    attributes,
    devices,
    first_of,
    given,
    in_zone,
    make_claim,
    make_class,
    make_slice,
    request,
    selecting,
    taking,
)

A, B, C = devices("a", "b", "c")
ABC = [make_slice("s", A, B, C)]
ADVICE = (
    "consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional"
    " fields"
)


@pytest.mark.parametrize(
    ("claims", "in_use", "expected"),
    [
        pytest.param(make_claim(request("r")), AllocatedState(), ["r: pool/a"], id="the first device"),
        pytest.param(make_claim(request("r")), taking("a"), ["r: pool/b"], id="the first that is not in use"),
        pytest.param(make_claim(request("r")), taking("a", "b", "c"), None, id="none if all are in use"),
        pytest.param(
            make_claim(request("r", 2)), AllocatedState(), ["r: pool/a", "r: pool/b"], id="as many as asked for"
        ),
        pytest.param(make_claim(request("r", 4)), AllocatedState(), None, id="none if there are too few"),
        pytest.param(
            make_claim(request("r"), request("s")),
            AllocatedState(),
            ["r: pool/a", "s: pool/b"],
            id="one request after the other",
        ),
        pytest.param(
            [make_claim(request("r"), name="x"), make_claim(request("r"), name="y")],
            AllocatedState(),
            ["r: pool/a", "r: pool/b"],
            id="one claim after the other",
        ),
        pytest.param(
            make_claim(request("r", allocation_mode="All")),
            AllocatedState(),
            ["r: pool/a", "r: pool/b", "r: pool/c"],
            id="all devices",
        ),
        pytest.param(
            make_claim(request("r", allocation_mode="All")), taking("b"), None, id="not all, if one of them is in use"
        ),
        pytest.param(
            make_claim(request("r", allocation_mode="All", selectors=selecting("false"))),
            AllocatedState(),
            None,
            id="all of none is not enough",
        ),
        pytest.param(make_claim(), AllocatedState(), [], id="nothing, if nothing is asked for"),
    ],
)
def test_the_first_devices_that_are_free_are_given(
    claims: ResourceClaim | list[ResourceClaim], in_use: AllocatedState, expected: list[str] | None
) -> None:
    assert given(allocate(claims, ABC, in_use)) == expected


def test_an_earlier_choice_is_changed_if_nothing_is_left_for_what_follows() -> None:
    small, large = Device(name="a", attributes=attributes(size=2)), Device(name="b", attributes=attributes(size=1))
    picky = request("picky", selectors=selecting(f'device.attributes["{DRIVER}"].size == 2'))
    claims = [make_claim(request("any"), name="x"), make_claim(picky, name="y")]
    assert given(allocate(claims, [make_slice("s", small, large)])) == ["any: pool/b", "picky: pool/a"]


def test_pools_that_are_incomplete_or_invalid_are_passed_over() -> None:
    slices = [
        make_slice("1", A, pool="incomplete", count=2),
        make_slice("2", A, A, pool="invalid"),
        make_slice("3", A, pool="valid"),
    ]
    assert given(allocate(make_claim(request("r")), slices)) == ["r: valid/a"]


class TestClassesAndSelectors:
    SLICES = (
        make_slice(
            "s",
            Device(name="a", attributes=attributes(model="a100", index=0)),
            Device(name="b", attributes=attributes(model="h100", index=1)),
            Device(name="c", attributes=attributes(model="h100", index=2)),
        ),
    )
    MODEL = f'device.attributes["{DRIVER}"].model == "h100"'
    INDEX = f'device.attributes["{DRIVER}"].index == 2'

    def test_class_and_request_both_select(self) -> None:
        claim = make_claim(request("r", device_class_name="h100", selectors=selecting(self.INDEX)))
        classes = {"h100": make_class("h100", self.MODEL)}
        assert given(allocate(claim, self.SLICES, classes=classes)) == ["r: pool/c"]

    def test_a_device_that_is_in_use_is_not_even_looked_at(self) -> None:
        slices = [make_slice("s", A, Device(name="b", attributes=attributes(index=2)))]
        claim = make_claim(request("r", selectors=selecting(self.INDEX)))
        assert given(allocate(claim, slices, taking("a"))) == ["r: pool/b"]

    @pytest.mark.parametrize(
        ("of_class", "of_request", "message"),
        [
            pytest.param(
                ["true", f'device.attributes["{DRIVER}"].nope'],
                ["true"],
                f"class c: selector #1 on device {DRIVER}/pool/a: CEL runtime error: no such key: nope. {ADVICE}",
                id="a selector of the class fails",
            ),
            pytest.param(
                ["true"],
                [f'device.attributes["{DRIVER}"].nope'],
                f"claim default/claim: selector #0 on device {DRIVER}/pool/a: CEL runtime error: no such key: nope."
                f" {ADVICE}",
                id="a selector of the request fails",
            ),
            pytest.param(
                [],
                ["1"],
                "claim default/claim: selector #0: CEL compile error:"
                " must evaluate to bool or the unknown type, not int",
                id="a selector of the request cannot be compiled",
            ),
        ],
    )
    def test_a_selector_that_fails_is_an_error(self, of_class: list[str], of_request: list[str], message: str) -> None:
        claim = make_claim(request("r", device_class_name="c", selectors=selecting(*of_request)))
        with pytest.raises(AllocationError) as caught:
            allocate(claim, self.SLICES, classes={"c": make_class("c", *of_class)})
        assert str(caught.value) == message

    def test_in_1_36_an_error_of_a_selector_does_not_name_the_device(self) -> None:
        claim = make_claim(request("r", selectors=selecting(f'device.attributes["{DRIVER}"].nope')))
        with pytest.raises(AllocationError) as caught:
            allocate(claim, self.SLICES, features=IN_1_36)
        assert str(caught.value) == "claim default/claim: selector #0: CEL runtime error: no such key: nope"

    def test_devices_are_reached_from_the_node_they_name(self) -> None:
        slices = [
            make_slice(
                "s",
                Device(name="a", node_name="node-2"),
                Device(name="b", node_selector=in_zone("b")),
                Device(name="c", all_nodes=True),
                per_device_node_selection=True,
            )
        ]
        assert given(allocate(make_claim(request("r")), slices)) == ["r: pool/c"]


class TestPrioritizedList:
    TWO_OR_ONE = first_of("r", alternative("two", 2), alternative("one", 1))

    @pytest.mark.parametrize(
        ("in_use", "expected"),
        [
            pytest.param(
                AllocatedState(), ["r/two: pool/a", "r/two: pool/b"], id="the first alternative, if it can be had"
            ),
            pytest.param(taking("a", "b"), ["r/one: pool/c"], id="the next one otherwise"),
            pytest.param(taking("a", "b", "c"), None, id="nothing if there is none"),
        ],
    )
    def test_the_first_alternative_that_fits_is_taken(self, in_use: AllocatedState, expected: list[str] | None) -> None:
        assert given(allocate(make_claim(self.TWO_OR_ONE), ABC, in_use)) == expected

    def test_a_lesser_alternative_is_taken_if_the_better_one_leaves_too_little(self) -> None:
        claim = make_claim(self.TWO_OR_ONE, request("s", 2))
        assert given(allocate(claim, ABC)) == ["r/one: pool/a", "s: pool/b", "s: pool/c"]

    def test_an_alternative_with_too_many_devices_for_the_claim_is_passed_over(self) -> None:
        many = [make_slice("s", *devices(*(f"d{number:02}" for number in range(40))))]
        claim = make_claim(request("s", 20), first_of("r", alternative("many", 20), alternative("few", 1)))
        results = given(allocate(claim, many))
        assert results is not None
        assert results[-1] == "r/few: pool/d20"

    def test_it_needs_its_feature(self) -> None:
        with pytest.raises(AllocationError, match="has subrequests, but the DRAPrioritizedList feature is disabled"):
            allocate(make_claim(self.TWO_OR_ONE), ABC, features=Features(prioritized_list=False))

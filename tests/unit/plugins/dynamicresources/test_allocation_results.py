"""What a claim is told about its devices: configuration, where they can be used, and what the choice is worth."""

from __future__ import annotations

import pytest

from stowplan.model.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from stowplan.model.device_pool import Device, ResourceSlice
from stowplan.model.dra import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceClass,
    DeviceClassSpec,
    DeviceConfiguration,
    DeviceRequestAllocationResult,
    DeviceToleration,
    OpaqueConfiguration,
    ResourceClaim,
)
from stowplan.model.meta import ObjectMeta
from stowplan.plugins.dynamicresources.allocator import score
from stowplan.plugins.dynamicresources.claim_requests import AllocationError
from stowplan.plugins.dynamicresources.features import Features
from tests.unit.plugins.dynamicresources.offers import (
    DRIVER,
    IN_1_36,
    allocate,
    alternative,
    devices,
    first_of,
    in_zone,
    make_claim,
    make_slice,
    request,
)

A, B, C = devices("a", "b", "c")


def config(text: str, *requests: str, source: str = "") -> DeviceConfiguration:
    opaque = OpaqueConfiguration(driver=DRIVER, parameters=text)
    return DeviceConfiguration(source=source, requests=requests, opaque=opaque)


def only(
    claim: ResourceClaim,
    *slices: ResourceSlice,
    classes: dict[str, DeviceClass] | None = None,
    features: Features | None = None,
) -> AllocationResult:
    results = allocate(claim, slices, features=features, classes=classes)
    assert results is not None
    return results[0]


def test_a_device_is_told_with_its_terms() -> None:
    tolerations = (DeviceToleration(operator="Exists"),)
    offered = Device(name="a", binding_conditions=("ready",), binding_failure_conditions=("broken",))
    claim = make_claim(first_of("r", alternative("x", tolerations=tolerations)))
    assert only(claim, make_slice("s", offered)).devices.results == (
        DeviceRequestAllocationResult(
            request="r/x",
            driver=DRIVER,
            pool="pool",
            device="a",
            tolerations=tolerations,
            binding_conditions=("ready",),
            binding_failure_conditions=("broken",),
        ),
    )


def test_admin_access_is_told() -> None:
    results = only(make_claim(request("r", admin_access=True)), make_slice("s", A)).devices.results
    assert [result.admin_access for result in results] == [True]


class TestConfiguration:
    CLASS = DeviceClass(
        metadata=ObjectMeta(name="big"), spec=DeviceClassSpec(config=(config("class 1"), config("class 2")))
    )

    def told(self, claim: ResourceClaim, features: Features | None = None) -> list[DeviceConfiguration]:
        found = only(claim, make_slice("s", A, B, C), classes={"big": self.CLASS}, features=features)
        return list(found.devices.config)

    def test_that_of_a_class_comes_first_and_names_its_requests(self) -> None:
        claim = make_claim(
            request("r", device_class_name="big"),
            request("s"),
            first_of("t", alternative("x", device_class_name="big")),
            config=(config("claim"),),
        )
        assert self.told(claim) == [
            config("class 1", "r", "t/x", source="FromClass"),
            config("class 2", "r", "t/x", source="FromClass"),
            config("claim", source="FromClaim"),
        ]

    MEANT = make_claim(
        request("r"),
        first_of("s", alternative("many", 9), alternative("one")),
        request("t"),
        config=(config("both", "r", "s/one"), config("other", "s/many"), config("list", "s")),
    )

    def test_that_of_a_claim_is_told_once_if_it_is_meant_for_a_request(self) -> None:
        assert self.told(self.MEANT) == [
            config("both", "r", "s/one", source="FromClaim"),
            config("list", "s", source="FromClaim"),
        ]

    def test_what_is_for_all_requests_names_none(self) -> None:
        claim = make_claim(
            request("r", device_class_name="big"),
            first_of("s", alternative("one", device_class_name="big")),
            config=(config("all", "s/one", "r"), config("one", "r")),
        )
        assert self.told(claim) == [
            config("class 1", source="FromClass"),
            config("class 2", source="FromClass"),
            config("all", source="FromClaim"),
            config("one", "r", source="FromClaim"),
        ]

    def test_in_1_36_it_is_told_for_every_request_it_is_meant_for(self) -> None:
        assert self.told(self.MEANT, IN_1_36) == [
            config("both", "r", "s/one", source="FromClaim"),
            config("both", "r", "s/one", source="FromClaim"),
            config("list", "s", source="FromClaim"),
        ]


def in_zone_and_rack(zone: str, rack: str) -> NodeSelector:
    requirements = (
        NodeSelectorRequirement(key="zone", operator="In", values=(zone,)),
        NodeSelectorRequirement(key="rack", operator="NotIn", values=(rack,)),
    )
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=requirements),))


ONLY_NODE_1 = NodeSelector(
    node_selector_terms=(
        NodeSelectorTerm(
            match_fields=(NodeSelectorRequirement(key="metadata.name", operator="In", values=("node-1",)),)
        ),
    )
)


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        pytest.param([make_slice("s", A, B)], ONLY_NODE_1, id="devices of a node are used there"),
        pytest.param([make_slice("s", A, B, all_nodes=True)], None, id="devices for all nodes are used anywhere"),
        pytest.param(
            [make_slice("1", A, all_nodes=True, pool="x"), make_slice("2", B, pool="y")],
            ONLY_NODE_1,
            id="one device of the node decides",
        ),
        pytest.param(
            [make_slice("s", A, Device(name="b", binds_to_node=True), all_nodes=True)],
            ONLY_NODE_1,
            id="so does one that binds to it",
        ),
        pytest.param(
            [make_slice("s", A, B, node_selector=in_zone("a"))],
            in_zone("a"),
            id="devices of a zone are used there, which is said once",
        ),
        pytest.param(
            [
                make_slice("1", A, node_selector=in_zone("a"), pool="x"),
                make_slice("2", B, node_selector=in_zone_and_rack("a", "7"), pool="y"),
            ],
            in_zone_and_rack("a", "7"),
            id="all that is said must hold",
        ),
        pytest.param(
            [
                make_slice(
                    "s",
                    Device(name="a", all_nodes=True),
                    Device(name="b", node_selector=in_zone("a")),
                    per_device_node_selection=True,
                )
            ],
            in_zone("a"),
            id="devices may say it each for themselves",
        ),
    ],
)
def test_the_allocation_says_where_it_can_be_used(slices: list[ResourceSlice], expected: NodeSelector | None) -> None:
    assert only(make_claim(request("r", 2)), *slices).node_selector == expected


def test_a_selector_with_several_terms_is_an_error() -> None:
    selector = NodeSelector(node_selector_terms=in_zone("a").node_selector_terms + in_zone("b").node_selector_terms)
    with pytest.raises(AllocationError, match="NodeSelector with 2 terms"):
        only(make_claim(request("r")), make_slice("s", A, node_selector=selector))


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        pytest.param(["r/a"], 8, id="the first alternative is worth 8"),
        pytest.param(["r/b"], 7, id="the second is worth 7"),
        pytest.param(["r/a", "r/a"], 8, id="however many devices it has"),
        pytest.param(["r/a", "s/c"], 14, id="lists add up"),
        pytest.param(["plain"], 0, id="a plain request is worth nothing"),
    ],
)
def test_a_choice_from_a_list_has_its_worth(requests: list[str], expected: int) -> None:
    listed = [alternative(name) for name in "abc"]
    claim = make_claim(first_of("r", *listed), first_of("s", *listed), request("plain"))
    results = tuple(DeviceRequestAllocationResult(request=name) for name in requests)
    assert score([claim], [AllocationResult(devices=DeviceAllocationResult(results=results))]) == expected


def test_shares_have_names_that_do_not_repeat() -> None:
    shared = Device(name="a", allow_multiple_allocations=True)
    claims = [make_claim(request("r"), request("s"), name=name) for name in ("x", "y")]
    results = allocate(claims, [make_slice("s", shared)])
    again = allocate(claims, [make_slice("s", shared)])
    assert results == again
    assert results is not None
    assert len({share.share_id for result in results for share in result.devices.results}) == 4

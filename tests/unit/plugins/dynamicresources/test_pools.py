"""Which pools a node can reach, in which order, and when they count as incomplete or invalid."""

from __future__ import annotations

import pytest

from stowplan.model.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from stowplan.model.device_pool import Device, DeviceCounterConsumption, ResourceSlice
from stowplan.model.node import Node
from stowplan.plugins.dynamicresources.allocated_devices import PoolId
from stowplan.plugins.dynamicresources.claim_requests import AllocationError
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.pools import Inventory, NodeSelectionError
from tests.unit.plugins.dynamicresources.offers import (
    DRIVER,
    IN_1_36,
    NODE,
    OTHER_NODE,
    allocate,
    consuming,
    counter_set,
    devices,
    in_zone,
    make_claim,
    make_slice,
    request,
)

A, B, C = devices("a", "b", "c")
CONDITIONAL = Device(name="conditional", binding_conditions=("ready",))


def seen(slices: list[ResourceSlice], node: Node = NODE, features: Features | None = None) -> list[str]:
    """Return the pools of a node with their devices, or what is wrong with them."""
    pools = Inventory(slices, features or Features()).reachable(node).pools
    return [
        f"{pool.id.pool}: "
        + ("incomplete" if pool.is_incomplete else pool.invalid_reason or " ".join(d.id.device for d in pool.devices))
        for pool in pools
    ]


@pytest.mark.parametrize(
    ("slices", "on_node", "on_other_node"),
    [
        pytest.param([make_slice("s", A)], ["pool: a"], [], id="a slice for one node is seen by that node alone"),
        pytest.param(
            [make_slice("s", A, all_nodes=True)], ["pool: a"], ["pool: a"], id="a slice for all nodes is seen by all"
        ),
        pytest.param(
            [make_slice("s", A, node_selector=in_zone("b"))],
            [],
            ["pool: a"],
            id="a slice with a selector is seen by the nodes it matches",
        ),
        pytest.param(
            [
                make_slice(
                    "s",
                    Device(name="a", node_name="node-1"),
                    Device(name="b", node_selector=in_zone("b")),
                    per_device_node_selection=True,
                )
            ],
            ["pool: a b"],
            ["pool: a b"],
            id="a slice that chooses per device is seen by every node that can reach one of them",
        ),
        pytest.param(
            [make_slice("s", Device(name="a", node_name="node-2"), per_device_node_selection=True)],
            [],
            ["pool: a"],
            id="a slice that chooses per device is not seen where none can be reached",
        ),
        pytest.param(
            [make_slice("s", A, node_name="")], [], [], id="a slice that does not say for whom it is is seen by nobody"
        ),
    ],
)
def test_a_node_sees_the_slices_meant_for_it(
    slices: list[ResourceSlice], on_node: list[str], on_other_node: list[str]
) -> None:
    assert (seen(slices), seen(slices, OTHER_NODE)) == (on_node, on_other_node)


@pytest.mark.parametrize(
    ("slices", "pools"),
    [
        pytest.param(
            [make_slice("1", A, pool="z"), make_slice("2", B, pool="y"), make_slice("3", C, pool="x", driver="b.com")],
            ["x: c", "y: b", "z: a"],
            id="pools by driver, then by name",
        ),
        pytest.param(
            [make_slice("2", A, count=2), make_slice("1", B, count=2)], ["pool: b a"], id="slices of a pool by name"
        ),
        pytest.param(
            [make_slice("1", CONDITIONAL, pool="x"), make_slice("2", A, pool="y")],
            ["y: a", "x: conditional"],
            id="pools with binding conditions after those without",
        ),
        pytest.param(
            [make_slice("1", CONDITIONAL, count=2), make_slice("2", A, count=2)],
            ["pool: conditional a"],
            id="within a pool binding conditions make no difference",
        ),
    ],
)
def test_pools_are_tried_in_a_fixed_order(slices: list[ResourceSlice], pools: list[str]) -> None:
    assert seen(slices) == seen(slices[::-1]) == pools


@pytest.mark.parametrize(
    ("slices", "pools"),
    [
        pytest.param(
            [make_slice("old", A, generation=1), make_slice("new", B, generation=2)],
            ["pool: b"],
            id="only the newest generation counts",
        ),
        pytest.param([make_slice("s", A, count=2)], ["pool: incomplete"], id="a slice is missing"),
        pytest.param(
            [make_slice("here", A, count=2), make_slice("there", B, count=2, node_name="node-2")],
            ["pool: a"],
            id="the other slice is there, but for another node",
        ),
        pytest.param(
            [make_slice("a", A, node_name=None, all_nodes=True, count=1), make_slice("b", B, count=2)],
            ["pool: a b"],
            id="on how many there are the slices of the node itself are believed",
        ),
        pytest.param(
            [make_slice("here", A, count=2), make_slice("there", B, generation=2, node_name="node-2")],
            [],
            id="an incomplete generation is dropped when a newer one has begun elsewhere",
        ),
        pytest.param(
            [make_slice("here", A), make_slice("there", B, generation=2, node_name="node-2")],
            ["pool: a"],
            id="a complete generation counts although a newer one has begun elsewhere",
        ),
        pytest.param(
            [make_slice("1", A, count=2), make_slice("2", A, count=2)],
            ["pool: duplicate device name a"],
            id="two devices of one name",
        ),
        pytest.param(
            [make_slice("1", consuming("a", units=1))], ["pool: counter set set not found"], id="an unknown counter set"
        ),
        pytest.param(
            [
                make_slice("1", consuming("a", units=1), count=2),
                make_slice("2", shared_counters=(counter_set(others=1),), count=2),
            ],
            ["pool: counter units not found in counter set set"],
            id="an unknown counter",
        ),
        pytest.param(
            [make_slice("1", shared_counters=(counter_set(units=1), counter_set(units=1)))],
            ["pool: duplicate counter set name set"],
            id="two counter sets of one name",
        ),
    ],
)
def test_a_pool_is_whole_or_not_used(slices: list[ResourceSlice], pools: list[str]) -> None:
    assert seen(slices) == pools


class TestCounters:
    ELSEWHERE = make_slice("c", shared_counters=(counter_set(units=1),), count=2, node_name="node-2")
    OFFERING = make_slice("d", consuming("a", units=1), count=2)

    def test_they_concern_the_nodes_that_their_slice_is_for(self) -> None:
        slices = [make_slice("c", shared_counters=(counter_set(units=1),), count=2), self.OFFERING]
        assert (seen(slices), seen(slices, OTHER_NODE)) == (["pool: a"], [])

    def test_devices_of_another_node_draw_on_them_all_the_same(self) -> None:
        slices = [self.ELSEWHERE, self.OFFERING]
        assert (seen(slices), seen(slices, OTHER_NODE)) == (["pool: a"], ["pool: "])

    def test_in_1_36_they_are_seen_by_every_node(self) -> None:
        slices = [make_slice("c", shared_counters=(counter_set(units=1),), count=2), self.OFFERING]
        assert (seen(slices), seen(slices, OTHER_NODE, IN_1_36)) == (["pool: a"], ["pool: "])


GROUPED = Device(
    name="g", consumes_counters=(DeviceCounterConsumption(counter_set="set", compatibility_groups=("x",)),)
)


def test_a_slice_with_compatibility_groups_is_missing_from_its_pool_without_the_feature() -> None:
    counting = make_slice("c", shared_counters=(counter_set(units=1),), count=3)
    slices = [counting, make_slice("d", GROUPED, count=3), make_slice("e", B, count=3)]
    assert seen(slices) == ["pool: incomplete"]
    assert seen(slices, features=Features(compatibility_groups=True)) == ["pool: g b"]


def test_without_partitionable_devices_counters_and_choices_per_device_are_left_out() -> None:
    slices = [
        make_slice("c", shared_counters=(counter_set(units=1),), pool="x"),
        make_slice("p", Device(name="a", all_nodes=True), per_device_node_selection=True, pool="y"),
        make_slice("s", B, pool="z"),
    ]
    assert seen(slices, features=Features(partitionable_devices=False)) == ["z: b"]


def test_a_selector_that_cannot_be_understood_is_named() -> None:
    requirement = NodeSelectorRequirement(key="zone", operator="Near", values=("a",))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(requirement,)),))
    with pytest.raises(NodeSelectionError) as caught:
        seen([make_slice("broken", A, node_selector=selector)])
    assert str(caught.value) == (
        "gather pool information: failed to perform node selection for slice broken: failed to parse node selector"
        " &NodeSelector{NodeSelectorTerms:[]NodeSelectorTerm{NodeSelectorTerm{MatchExpressions:"
        "[]NodeSelectorRequirement{NodeSelectorRequirement{Key:zone,Operator:Near,Values:[a],},},"
        "MatchFields:[]NodeSelectorRequirement{},},},}: nodeSelectorTerms[0].matchExpressions[0].operator:"
        ' Unsupported value: "Near": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
    )


def test_a_selector_of_a_device_that_cannot_be_understood_is_named_with_it() -> None:
    requirement = NodeSelectorRequirement(key="zone", operator="Near", values=("a",))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(requirement,)),))
    found = make_slice("s", Device(name="b", node_selector=selector), per_device_node_selection=True)
    where = "failed to perform node selection for device b in slice s: failed to parse node selector "
    with pytest.raises(NodeSelectionError, match=where):
        seen([found])


def test_a_selector_of_a_device_that_cannot_be_understood_ends_the_allocation() -> None:
    requirement = NodeSelectorRequirement(key="zone", operator="Near", values=("a",))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(requirement,)),))
    found = make_slice(
        "s",
        Device(name="a", node_name="node-1"),
        Device(name="b", node_selector=selector),
        per_device_node_selection=True,
    )
    with pytest.raises(AllocationError, match=r"^failed to parse node selector &NodeSelector\{"):
        allocate(make_claim(request("r", 2)), [found])


class TestRefresh:
    LOCAL = make_slice("local", A, pool="one")
    ELSEWHERE = make_slice("elsewhere", A, pool="two", node_name="node-2")
    SHARED = make_slice("shared", A, pool="three", node_selector=in_zone("b"))

    def test_a_node_keeps_its_stamp_while_nothing_changes_for_it(self) -> None:
        inventory = Inventory([self.LOCAL, self.ELSEWHERE, self.SHARED], Features())
        before = inventory.reachable(NODE).stamp, inventory.reachable(OTHER_NODE).stamp
        inventory.refresh(
            [make_slice("shared", B, pool="three", node_selector=in_zone("b")), self.ELSEWHERE, self.LOCAL]
        )
        assert inventory.reachable(NODE).stamp == before[0]
        assert inventory.reachable(OTHER_NODE).stamp != before[1]

    def test_what_was_added_changed_and_removed_is_seen(self) -> None:
        inventory = Inventory([self.LOCAL], Features())
        stamps = [inventory.reachable(NODE).stamp]
        for slices in ([self.LOCAL, make_slice("more", B, pool="more")], [make_slice("local", C, pool="one")], []):
            inventory.refresh(slices)
            stamps.append(inventory.reachable(NODE).stamp)
        assert len(set(stamps)) == 4
        assert inventory.reachable(NODE).pools == ()

    def test_labels_decide_anew(self) -> None:
        inventory = Inventory([self.SHARED], Features())
        moved = Node(metadata=OTHER_NODE.metadata)
        assert [len(inventory.reachable(node).pools) for node in (NODE, moved)] == [0, 1]
        relabelled = Node(metadata=type(NODE.metadata)(name=NODE.name, labels={"zone": "b"}))
        assert [pool.id.pool for pool in inventory.reachable(relabelled).pools] == ["three"]

    @pytest.mark.parametrize(
        ("pool", "home"),
        [
            pytest.param("one", "node-1", id="a pool of one node is at home there"),
            pytest.param("three", None, id="a pool that several may see has no home"),
            pytest.param("unknown", None, id="nor has a pool that nobody knows"),
        ],
    )
    def test_a_pool_may_have_a_home(self, pool: str, home: str | None) -> None:
        inventory = Inventory([self.LOCAL, self.ELSEWHERE, self.SHARED], Features())
        assert inventory.home(PoolId(DRIVER, pool)) == home

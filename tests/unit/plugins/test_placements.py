"""The plugins of placements: which there are, and which is the best."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.framework.pod_groups import Assignment, GroupPlacement, PlacedIn
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.meta import NamespacedMeta
from stowplan.model.pod_group import (
    CompositePodGroup,
    CompositePodGroupSpec,
    SchedulingConstraints,
    TopologyConstraint,
)
from stowplan.plugins.noderesources.fit import NodeResourcesFit
from stowplan.plugins.podgrouppodscount import PodGroupPodsCount
from stowplan.plugins.topologyplacement import TopologyPlacementGenerator
from stowplan.table.nodes import Nodes
from stowplan.testing import LocalHandle, make_node, make_pod
from tests.integration.gang_world import on_node, own_group, own_members
from tests.unit.plugins.small_cluster import SmallCluster

RACK = "example.com/rack"
NODES = [make_node("a0").label(RACK, "a").build(), make_node("b0").label(RACK, "b").build(), make_node("c0").build()]


def placements(*objects: Any, topology: str = RACK) -> Any:
    handle = LocalHandle(*NODES, *objects)
    generator = TopologyPlacementGenerator(handle)
    return generator.placements(own_group("train", 1, topology=topology), Nodes(handle.table), None)


def test_there_is_one_placement_for_each_value_of_the_label() -> None:
    found = placements()
    assert [(one.name, one.mask.tolist()) for one in found] == [
        ("a", [True, False, False]),
        ("b", [False, True, False]),
    ]


def test_a_group_without_a_constraint_may_go_anywhere() -> None:
    assert placements(topology="") == (GroupPlacement("", None),)


def test_where_pods_of_the_group_run_only_their_value_counts() -> None:
    [found] = placements(on_node(own_members("train", 1)[0], "b0"))
    assert found.name == "b"


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        pytest.param(["a0", "b0"], "more than 1 domain found for pod group: a, b", id="two values"),
        pytest.param(["c0"], "no topology domain found for pod default/train-0", id="a node without the label"),
        pytest.param(
            ["x"], 'getting node for pod default/train-0: nodeinfo not found for node name "x"', id="no such node"
        ),
    ],
)
def test_pods_that_run_in_no_one_place_are_an_error(on: list[str], expected: str) -> None:
    pods = [on_node(pod, name) for pod, name in zip(own_members("train", len(on)), on, strict=True)]
    text = f"cannot determine domain for already scheduled pods: {expected}"
    assert placements(*pods) == Rejection((text,), Code.ERROR)


def test_a_tree_that_is_too_deep_has_no_placement() -> None:
    spec = CompositePodGroupSpec(scheduling_constraints=SchedulingConstraints(topology=(TopologyConstraint(key=RACK),)))
    root = CompositePodGroup(metadata=NamespacedMeta(name="d"), spec=spec)
    below = [
        CompositePodGroup(
            metadata=NamespacedMeta(name=name), spec=CompositePodGroupSpec(parent_composite_pod_group_name=parent)
        )
        for name, parent in ("ab", "bc", "cd")
    ]
    handle = LocalHandle(*NODES, root, *below, own_group("train", 1, parent="a"))
    said = TopologyPlacementGenerator(handle).placements(root, Nodes(handle.table), None)
    assert said == Rejection(("exceeded maximum hierarchy depth at podgroup/default/train",), Code.ERROR)


def test_the_placement_with_the_most_pods_scores_highest() -> None:
    pods = own_members("train", 4)
    handle = LocalHandle(on_node(pods[3], "a0"))
    found = [
        PlacedIn(GroupPlacement(name), [Assignment(pod, "n") for pod in pods[:count]])
        for name, count in (("a", 1), ("b", 3))
    ]
    assert PodGroupPodsCount(handle).score_placements(own_group("train", 1), Nodes(handle.table), found) == [50, 100]


def test_what_is_taken_on_nodes_that_have_nothing_does_not_make_a_placement_full() -> None:
    full = make_node("full").capacity(cpu="10", memory="1000Mi", pods=10).build()
    cluster = SmallCluster(make_node("empty").build(), full)
    placed = make_pod("placed").requests(cpu="4", memory="400Mi").build()
    cluster.place("empty", placed)
    cluster.place("full", placed)
    wanted = make_pod("wanted").requests(cpu="1", memory="100Mi").build()
    found = [PlacedIn(GroupPlacement("all"), [Assignment(wanted, "full")])]
    # 4 of 10 and 1 more, of cpu and of memory.
    assert NodeResourcesFit().score_placements(own_group("train", 1), cluster.nodes, found) == [50]

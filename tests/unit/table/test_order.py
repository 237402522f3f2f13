"""The order in which nodes are walked: zone by zone in turn."""

from __future__ import annotations

import pytest

from stowplan.model.node import Node
from stowplan.table.table import NodeTree, zone_key
from stowplan.testing import make_node

BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


def labelled(**labels: str) -> Node:
    builder = make_node("n")
    for key, value in labels.items():
        names = {"zone": ZONE, "region": REGION, "beta_zone": BETA_ZONE, "beta_region": BETA_REGION}
        builder = builder.label(names[key], value)
    return builder.build()


@pytest.mark.parametrize(
    ("node", "key"),
    [
        pytest.param(labelled(), "", id="no labels"),
        pytest.param(labelled(zone="a"), ":\x00:a", id="zone"),
        pytest.param(labelled(region="r"), "r:\x00:", id="region"),
        pytest.param(labelled(zone="a", region="r"), "r:\x00:a", id="both"),
        pytest.param(labelled(zone="a", beta_zone="b"), ":\x00:b", id="the old zone label wins"),
        pytest.param(labelled(region="r", beta_region="s"), "s:\x00:", id="the old region label wins"),
        pytest.param(labelled(zone="a", beta_zone=""), "", id="even if it is empty"),
        pytest.param(labelled(zone="", region=""), "", id="both empty"),
    ],
)
def test_the_zone_of_a_node(node: Node, key: str) -> None:
    assert zone_key(node) == key


def tree(*nodes: tuple[str, str]) -> NodeTree:
    found = NodeTree()
    for name, zone in nodes:
        found.put(make_node(name).zone(zone).build())
    return found


def test_zones_take_turns_in_the_order_they_were_first_seen() -> None:
    found = tree(("a1", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a"), ("c1", "c"), ("c2", "c"))
    assert list(found.names()) == ["a1", "b1", "c1", "a2", "c2", "a3"]


def test_a_zone_that_comes_back_is_last() -> None:
    found = tree(("a1", "a"), ("b1", "b"))
    found.remove("a1")
    found.put(make_node("a2").zone("a").build())
    assert list(found.names()) == ["b1", "a2"]


def test_a_node_that_moves_is_last_in_its_new_zone() -> None:
    found = tree(("a1", "a"), ("a2", "a"), ("b1", "b"))
    found.put(make_node("a1").zone("b").build())
    assert list(found.names()) == ["a2", "b1", "a1"]


def test_an_update_within_the_zone_changes_nothing() -> None:
    found = tree(("a1", "a"), ("a2", "a"))
    found.put(make_node("a1").zone("a").label("disk", "ssd").build())
    assert list(found.names()) == ["a1", "a2"]


def test_removing_what_is_not_there_changes_nothing() -> None:
    found = tree(("a1", "a"))
    found.remove("b1")
    assert list(found.names()) == ["a1"]


def test_a_node_that_moves_keeps_its_turn_until_nodes_come_or_go() -> None:
    found = tree(("a1", "a"), ("a2", "a"), ("b1", "b"))
    assert found.settle() == ["a1", "b1", "a2"]
    found.put(make_node("a1").zone("b").build())
    assert found.settle() == ["a1", "b1", "a2"]
    found.put(make_node("c1").zone("c").build())
    assert found.settle() == ["a2", "b1", "c1", "a1"]


def test_a_node_that_went_and_came_back_between_two_attempts_keeps_its_turn() -> None:
    found = tree(("a1", "a"), ("b1", "b"))
    assert found.settle() == ["a1", "b1"]
    found.remove("a1")
    found.put(make_node("a1").zone("a").build())
    assert found.settle() == ["a1", "b1"]

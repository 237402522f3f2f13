"""NodeName: a pod that names its node."""

from __future__ import annotations

import pytest

from stowplan.plugins.nodename import NodeName
from tests.unit.plugins.small_cluster import SmallCluster, make_node, make_pod

OTHER = ("node(s) didn't match the requested node name", "unresolvable")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param("", {}, id="a pod that names no node may go anywhere"),
        pytest.param("b", {"a": OTHER, "c": OTHER}, id="a pod that names a node may go nowhere else"),
        pytest.param("gone", {"a": OTHER, "b": OTHER, "c": OTHER}, id="a name that does not exist leaves no node"),
    ],
)
def test_requested_node_name(wanted: str, expected: dict[str, tuple[str, str]]) -> None:
    cluster = SmallCluster(make_node("a"), make_node("b"), make_node("c"))
    assert cluster.refusals(NodeName(), make_pod(nodeName=wanted)) == expected


def test_pods_that_name_different_nodes_are_told_apart() -> None:
    assert NodeName().sign(make_pod(nodeName="a")) != NodeName().sign(make_pod(nodeName="b"))

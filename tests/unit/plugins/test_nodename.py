"""NodeName: a pod that names its node."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.app.cluster import Cluster
from stowplan.engine.failure import Refused
from stowplan.framework.contract import Narrowed
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


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param("b", Narrowed(frozenset({"b"})), id="to the node that a pod names"),
        pytest.param("gone", Narrowed(frozenset({"gone"})), id="to a node that does not exist"),
        pytest.param("", None, id="to nothing if it names none"),
    ],
)
def test_the_search_is_narrowed(wanted: str, expected: Narrowed | None) -> None:
    assert NodeName().pre_filter(make_pod(nodeName=wanted), SmallCluster(make_node("a")).nodes) == expected


ELSEWHERE = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b", "c"]}]}]
    }
}


@pytest.mark.parametrize(
    ("release", "spec", "expected"),
    [
        pytest.param(
            "1.37",
            {"nodeName": "gone"},
            ("0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [NodeName].", {"NodeName"}),
            id="nodes that are not looked at are told as such",
        ),
        pytest.param(
            "1.37",
            {"nodeName": "a", "affinity": {"nodeAffinity": ELSEWHERE}},
            (
                "0/3 nodes are available: node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] simultaneously.",
                {"NodeAffinity", "NodeName"},
            ),
            id="names that contradict each other end the attempt, and both plugins may be helped",
        ),
        pytest.param(
            "1.36",
            {"nodeName": "gone"},
            ("0/3 nodes are available: 3 node(s) didn't match the requested node name.", {"NodeName"}),
            id="before 1.37 every node is looked at",
        ),
    ],
)
def test_what_is_told_by_release(release: str, spec: dict[str, Any], expected: tuple[str, set[str]]) -> None:
    cluster = Cluster(release=release)
    for name in ("a", "b", "c"):
        cluster.add(make_node(name, status={"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}))
    refused = cluster.schedule(make_pod(**spec))
    assert isinstance(refused, Refused)
    assert (refused.verdict.fit_error(), set(refused.verdict.unschedulable_plugins())) == expected


def test_pods_that_name_different_nodes_are_told_apart() -> None:
    assert NodeName().sign(make_pod(nodeName="a")) != NodeName().sign(make_pod(nodeName="b"))

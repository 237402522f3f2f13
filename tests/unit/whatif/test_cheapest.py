"""The smallest number of nodes of a shape that makes pods fit."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.app.cluster import Cluster
from tests.unit.whatif.questions import ask, cluster_of, data, node, pod


def cheapest(cluster: Cluster, pods: int, cpu: int = 2, most: int = 1000, **shape: Any) -> Any:
    wanted = [data(pod(f"new-{number}", cpu=cpu)) for number in range(pods)]
    return ask(cluster, "cheapest", pods=wanted, most=most, **(shape or {"like": "a"}))


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param(2, 0, id="none, if they fit as it is"),
        pytest.param(3, 1, id="one"),
        pytest.param(4, 1, id="one that is filled"),
        pytest.param(5, 2, id="two"),
        pytest.param(11, 5, id="five, between four and eight"),
        pytest.param(18, 8, id="eight"),
    ],
)
def test_as_few_nodes_are_found_as_are_enough(pods: int, expected: int) -> None:
    found = cheapest(cluster_of(node("a")), pods)
    assert (found["nodes"], found["shape"], found["answer"]["fits"]) == (expected, "a", True)
    assert found["answer"]["placed"] == pods


def test_where_no_number_is_enough_what_is_missing_is_told_of_the_most() -> None:
    found = cheapest(cluster_of(node("a")), 9, most=3)
    assert (found["nodes"], found["most"]) == (None, 3)
    assert (found["answer"]["placed"], found["answer"]["fits"]) == (8, False)
    assert found["answer"]["pods"][-1]["message"] == "0/4 nodes are available: 4 Insufficient cpu."


def test_a_shape_may_be_written_out() -> None:
    found = cheapest(cluster_of(node("a")), 1, cpu=16, shape=data(node("huge", cpu=16)))
    assert (found["nodes"], found["answer"]["pods"][0]["node"]) == (1, "huge-supposed-1")


def test_no_node_is_left_of_it() -> None:
    cluster = cluster_of(node("a"))
    assert cheapest(cluster, 11) == cheapest(cluster, 11)
    assert len(cluster.cache.table) == 1

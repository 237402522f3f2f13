"""NodeUnschedulable: who may go to a cordoned node."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.plugins.nodeunschedulable import NodeUnschedulable
from stowplan.testing import LocalHandle
from tests.unit.plugins.small_cluster import SmallCluster, make_node, make_pod

KEY = "node.kubernetes.io/unschedulable"
REFUSED = {"cordoned": ("node(s) were unschedulable", "unresolvable")}


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        pytest.param([], REFUSED, id="a cordoned node refuses pods"),
        pytest.param([{"key": KEY, "operator": "Exists"}], {}, id="a pod that tolerates the cordon may go there"),
        pytest.param([{"operator": "Exists"}], {}, id="a pod that tolerates everything may go there"),
        pytest.param(
            [{"key": KEY, "operator": "Exists", "effect": "NoExecute"}], REFUSED, id="the effect must be NoSchedule"
        ),
        pytest.param([{"key": KEY, "value": "x"}], REFUSED, id="a toleration of another value does not count"),
    ],
)
def test_cordoned_nodes(tolerations: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    cluster = SmallCluster(make_node("open"), make_node("cordoned", spec={"unschedulable": True}))
    assert cluster.refusals(NodeUnschedulable(LocalHandle()), make_pod(tolerations=tolerations)) == expected


def test_an_uncordoned_node_takes_pods_again() -> None:
    cluster = SmallCluster(make_node("node", spec={"unschedulable": True}))
    assert list(cluster.refusals(NodeUnschedulable(LocalHandle()), make_pod())) == ["node"]
    cluster.table.update_node(make_node("node"))
    assert cluster.refusals(NodeUnschedulable(LocalHandle()), make_pod()) == {}

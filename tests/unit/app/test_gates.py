"""Feature gates reach the plugins of a cluster through its handle."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.app.cluster import Chosen, Cluster
from stowplan.config.feature_gates import parse
from stowplan.model import decode
from stowplan.model.node import Node
from stowplan.model.pod import Pod

OPERATORS = "TaintTolerationComparisonOperators"
SPREAD = {
    "topologyKey": "kubernetes.io/hostname",
    "maxSkew": 1,
    "whenUnsatisfiable": "DoNotSchedule",
    "nodeTaintsPolicy": "Honor",
    "labelSelector": {"matchLabels": {"app": "web"}},
}


def node(name: str, **spec: Any) -> Node:
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    return decode.convert(Node, {"metadata": metadata, "spec": spec, "status": {"allocatable": {"pods": "9"}}})


def web(name: str, **spec: Any) -> Pod:
    metadata = {"name": name, "uid": name, "labels": {"app": "web"}}
    return decode.convert(Pod, {"metadata": metadata, "spec": {"containers": [{"name": "c"}], **spec}})


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        pytest.param(f"{OPERATORS}=false", "plain", id="off, the tainted node is no domain and takes nobody"),
        pytest.param(f"{OPERATORS}=true", "slow", id="on, it is the emptiest domain"),
    ],
)
def test_comparing_tolerations_count_where_pods_are_spread(gates: str, expected: str) -> None:
    cluster = Cluster(feature_gates=parse(gates))
    cluster.add(node("slow", taints=[{"key": "latency", "value": "90", "effect": "NoSchedule"}]))
    cluster.add(node("plain"))
    cluster.add(web("there", nodeName="plain"))
    tolerations = [{"key": "latency", "operator": "Gt", "value": "50"}]
    result = cluster.choose(web("p", tolerations=tolerations, topologySpreadConstraints=[SPREAD]))
    assert isinstance(result, Chosen)
    assert (result.node_name, result.feasible_count) == (expected, 1)


def test_a_cluster_without_a_configuration_has_the_plugins_of_its_gates() -> None:
    cluster = Cluster(feature_gates=parse("AllBeta=false"))
    names = [plugin.name for plugin in cluster.profiles["default-scheduler"].filter]
    assert "NodeDeclaredFeatures" not in names
    assert "NodeDeclaredFeatures" in [plugin.name for plugin in Cluster().profiles["default-scheduler"].filter]

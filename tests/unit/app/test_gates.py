"""Feature gates reach the plugins of a cluster through its handle."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.app.cluster import Chosen, Cluster, Refused
from stowplan.config.feature_gates import parse
from stowplan.config.releases import ReleaseError
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
    cluster = Cluster(feature_gates="AllBeta=false", release="1.36")
    names = [plugin.name for plugin in cluster.profiles["default-scheduler"].filter]
    assert "NodeDeclaredFeatures" not in names
    assert "NodeDeclaredFeatures" in [plugin.name for plugin in Cluster().profiles["default-scheduler"].filter]


POD_LEVEL = "PodLevelResources"
#: All that needs requests of pods.
DEFAULTING = "PodLevelResourcesFixDefaulting"
KUBELET = "PodLevelResourcesFixKubeletQOSClass"
RESIZE = "InPlacePodLevelResourcesVerticalScaling"
ALL_OFF = f"{RESIZE}=false,{DEFAULTING}=false,{KUBELET}=false,{POD_LEVEL}=false"
#: The API server cannot merge the keys of what is off.
NOT_MERGED = "MatchLabelKeysInPodTopologySpread=false,MatchLabelKeysInPodTopologySpreadSelectorMerge=false"
ROOMY = {"cpu": "4", "memory": "4Gi", "pods": "9"}


@pytest.mark.parametrize(
    ("gates", "requested"),
    [
        pytest.param("", 3000, id="on, the resize counts"),
        pytest.param(f"{RESIZE}=false", 2000, id="off, what is set on the pod counts"),
        pytest.param(
            ALL_OFF,
            500,
            id="both off, only containers count",
        ),
    ],
)
def test_what_is_set_on_a_placed_pod_counts_by_the_gates(gates: str, requested: int) -> None:
    cluster = Cluster(feature_gates=parse(gates))
    cluster.add(decode.convert(Node, {"metadata": {"name": "n"}, "status": {"allocatable": ROOMY}}))
    there = {
        "metadata": {"name": "there", "uid": "there"},
        "spec": {
            "nodeName": "n",
            "resources": {"requests": {"cpu": "2"}},
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}],
        },
        "status": {"resources": {"requests": {"cpu": "3"}}},
    }
    cluster.add(decode.convert(Pod, there))
    taken = cluster.cache.table.resources
    assert int(taken.requested[taken.index_of["cpu"]][0]) == requested


@pytest.mark.parametrize(
    ("gates", "fits"),
    [
        pytest.param("", False, id="on, the pod asks for more than there is"),
        pytest.param(
            ALL_OFF,
            True,
            id="off, its containers ask for little",
        ),
    ],
)
def test_what_is_set_on_a_waiting_pod_counts_by_the_gate(gates: str, fits: bool) -> None:
    cluster = Cluster(feature_gates=parse(gates))
    cluster.add(decode.convert(Node, {"metadata": {"name": "n"}, "status": {"allocatable": ROOMY}}))
    result = cluster.choose(web("p", resources={"requests": {"cpu": "5"}}))
    assert isinstance(result, Chosen if fits else Refused)


@pytest.mark.parametrize(
    ("gates", "feasible"),
    [
        pytest.param("", 2, id="on, no sibling of the pod's revision is anywhere"),
        pytest.param(NOT_MERGED, 1, id="off, a sibling of any revision counts"),
    ],
)
def test_match_label_keys_of_spread_constraints_count_by_the_gate(gates: str, feasible: int) -> None:
    cluster = Cluster(feature_gates=parse(gates))
    cluster.add(node("one"))
    cluster.add(node("two"))
    cluster.add(web("there", nodeName="one"))
    pod = web("p", topologySpreadConstraints=[{**SPREAD, "matchLabelKeys": ["revision"]}])
    pod.metadata.labels["revision"] = "2"
    result = cluster.choose(pod)
    assert isinstance(result, Chosen)
    assert result.feasible_count == feasible


@pytest.mark.parametrize("release", ["", "1.35", "v1.36", "1.36.4", "kube=1.36", 1.36, ["1.36"]])
def test_a_release_that_is_none_is_told_from_one_that_looks_alike(release: Any) -> None:
    with pytest.raises(ReleaseError) as caught:
        Cluster(release=release)
    assert str(caught.value) == f'release: expected "1.36" or "1.37", got {release!r}'

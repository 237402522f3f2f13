"""What extenders are sent: capitalised keys around objects as the API server writes them."""

from typing import Any

import msgspec
import pytest

from stowplan.extender.messages import binding_request, nodes_request, preemption_request
from stowplan.framework.contract import Preemption
from stowplan.testing import make_node, make_pod

POD = make_pod("web").requests(cpu="500m").build()
WRITTEN_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default", "uid": "uid-default-web"},
    "spec": {
        "schedulerName": "default-scheduler",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "restartPolicy": "Always",
        "containers": [{"name": "main", "resources": {"requests": {"cpu": "500m"}}}],
    },
}
NODE = make_node("n1").capacity(cpu="4").build()
WRITTEN_NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "uid": "uid-n1", "labels": {"kubernetes.io/hostname": "n1"}},
    "status": {"allocatable": {"pods": "110", "cpu": "4"}, "capacity": {"pods": "110", "cpu": "4"}},
}
VICTIM = make_pod("old").priority(-5).on("n1").build()
WRITTEN_VICTIM = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "old", "namespace": "default", "uid": "uid-default-old"},
    "spec": {
        "schedulerName": "default-scheduler",
        "priority": -5,
        "preemptionPolicy": "PreemptLowerPriority",
        "restartPolicy": "Always",
        "containers": [{"name": "main"}],
        "nodeName": "n1",
    },
}


@pytest.mark.parametrize(
    ("only_names", "nodes", "node_names"),
    [
        pytest.param(False, {"metadata": {}, "items": [WRITTEN_NODE]}, None, id="whole nodes"),
        pytest.param(True, None, ["n1"], id="names, to an extender that knows the nodes"),
    ],
)
def test_nodes_are_sent_in_one_of_two_forms(only_names: bool, nodes: Any, node_names: Any) -> None:
    request = nodes_request(POD, {"n1": NODE}, only_names=only_names)
    assert msgspec.json.decode(request) == {"Pod": WRITTEN_POD, "Nodes": nodes, "NodeNames": node_names}


def test_names_are_sent_in_the_order_given() -> None:
    request = nodes_request(POD, dict.fromkeys(("c", "a", "b"), NODE), only_names=True)
    assert msgspec.json.decode(request)["NodeNames"] == ["c", "a", "b"]


def test_a_binding_names_the_pod_and_the_node() -> None:
    assert msgspec.json.decode(binding_request(POD, "n1")) == {
        "PodName": "web",
        "PodNamespace": "default",
        "PodUID": "uid-default-web",
        "Node": "n1",
    }


@pytest.mark.parametrize(
    ("only_names", "victims", "meta_victims"),
    [
        pytest.param(False, {"n1": {"Pods": [WRITTEN_VICTIM], "NumPDBViolations": 2}}, None, id="whole pods"),
        pytest.param(True, None, {"n1": {"Pods": [{"UID": "uid-default-old"}], "NumPDBViolations": 2}}, id="uids"),
    ],
)
def test_victims_are_sent_in_one_of_two_forms(only_names: bool, victims: Any, meta_victims: Any) -> None:
    request = preemption_request(POD, [Preemption("n1", (VICTIM,), 2)], only_names=only_names)
    assert msgspec.json.decode(request) == {
        "Pod": WRITTEN_POD,
        "NodeNameToVictims": victims,
        "NodeNameToMetaVictims": meta_victims,
    }

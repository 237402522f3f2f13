"""Builders give the objects that the same words in YAML would give."""

import json
from typing import Any

import pytest

from stowplan.model import decode
from stowplan.testing import NodeBuilder, PodBuilder, make_node, make_pod


def spec_of(pod: PodBuilder) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(decode.encode(pod.build()))["spec"]
    return spec


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERM = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(make_pod().node_selector("a", "b"), {"nodeSelector": {"a": "b"}}, id="node selector"),
        pytest.param(make_pod().priority(7), {"priority": 7}, id="priority"),
        pytest.param(make_pod().on("n"), {"nodeName": "n"}, id="bound"),
        pytest.param(make_pod().gate("g"), {"schedulingGates": [{"name": "g"}]}, id="gate"),
        pytest.param(
            make_pod().tolerate("k", "v", "NoSchedule").tolerate("x"),
            {
                "tolerations": [
                    {"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"},
                    {"key": "x", "operator": "Exists"},
                ]
            },
            id="tolerations",
        ),
        pytest.param(
            make_pod().node_affinity("disk", "In", "ssd").node_affinity("arch", "Exists"),
            {
                "affinity": {
                    "nodeAffinity": {
                        REQUIRED: {
                            "nodeSelectorTerms": [
                                {
                                    "matchExpressions": [
                                        {"key": "disk", "operator": "In", "values": ["ssd"]},
                                        {"key": "arch", "operator": "Exists"},
                                    ]
                                }
                            ]
                        }
                    }
                }
            },
            id="required node affinity, both to hold",
        ),
        pytest.param(
            make_pod().anti_affinity("app", "db").prefer_near(3, "app", "db"),
            {
                "affinity": {
                    "podAntiAffinity": {REQUIRED: [TERM]},
                    "podAffinity": {PREFERRED: [{"weight": 3, "podAffinityTerm": TERM}]},
                }
            },
            id="pod affinity",
        ),
        pytest.param(
            make_pod().label("app", "web").spread(max_skew=2, soft=True),
            {
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 2,
                        "topologyKey": "topology.kubernetes.io/zone",
                        "whenUnsatisfiable": "ScheduleAnyway",
                        "labelSelector": {"matchLabels": {"app": "web"}},
                    }
                ]
            },
            id="spreading pods with the pod's own labels",
        ),
    ],
)
def test_a_pod_is_built_as_it_would_be_written(pod: PodBuilder, expected: dict[str, Any]) -> None:
    assert {key: value for key, value in spec_of(pod).items() if key != "containers"} == expected


def test_requests_and_containers() -> None:
    pod = (
        make_pod()
        .requests({"example.com/gpu": 1}, cpu="2", ephemeral_storage="1Gi")
        .host_port(80)
        .container("app", cpu=1)
    )
    assert spec_of(pod)["containers"] == [
        {
            "name": "main",
            "resources": {"requests": {"example.com/gpu": "1", "cpu": "2", "ephemeral-storage": "1Gi"}},
            "ports": [{"containerPort": 80, "hostPort": 80}],
        },
        {"image": "app", "resources": {"requests": {"cpu": "1"}}},
    ]


def test_a_node_is_built_as_it_would_be_written() -> None:
    node = make_node("n").capacity(cpu="8").zone("a").taint("gpu", "yes").cordon().image("app:v1", 5)
    assert json.loads(decode.encode(node.build())) == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "n",
            "uid": "uid-n",
            "labels": {"kubernetes.io/hostname": "n", "topology.kubernetes.io/zone": "a"},
        },
        "spec": {"unschedulable": True, "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"pods": "110", "cpu": "8"},
            "capacity": {"pods": "110", "cpu": "8"},
            "images": [{"names": ["app:v1"], "sizeBytes": 5}],
        },
    }


@pytest.mark.parametrize(
    "builder", [make_pod("p").label("a", "b"), make_node("n").label("a", "b")], ids=["pod", "node"]
)
def test_a_half_built_object_is_not_changed_by_building_on(builder: PodBuilder | NodeBuilder) -> None:
    before = builder.build()
    builder.label("c", "d")
    assert builder.build() is before
    assert "c" not in before.labels


def test_an_underscore_in_a_keyword_is_a_dash_and_in_the_name_of_a_resource_itself() -> None:
    pod = make_pod("web").requests({"example.com/my_gpu": 1}, ephemeral_storage="1Gi").build()
    assert set(pod.spec.containers[0].resources.requests) == {"example.com/my_gpu", "ephemeral-storage"}
    assert set(make_node("a").capacity({"example.com/my_gpu": 1}).build().status.capacity) == {
        "pods",
        "example.com/my_gpu",
    }


def test_an_amount_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match=r"^cpu: Invalid value: 'much': quantities must match the regular expression"):
        make_pod("web").requests(cpu="much")

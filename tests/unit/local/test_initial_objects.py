"""The nodes that an embedded cluster starts with."""

from pathlib import Path

import pytest

from stowplan.local import initial_objects
from stowplan.local.initial_objects import NodeShape, NodeShapes, make_nodes, split
from stowplan.local.manifests import ManifestError

GENERAL = NodeShape("general", {"cpu": 16}, share=8)
GPU = NodeShape("gpu", {"cpu": 32}, share=2)
CONTROL = NodeShape("control", {"cpu": 4}, count=3)


@pytest.mark.parametrize(
    ("shapes", "total", "counts"),
    [
        pytest.param((GENERAL,), 5, [5], id="one shape takes all"),
        pytest.param((GENERAL, GPU), 10, [8, 2], id="by share"),
        pytest.param((GENERAL, GPU), 12, [10, 2], id="what does not divide goes to the first"),
        pytest.param((CONTROL, GENERAL, GPU), 13, [3, 8, 2], id="a count is taken out first"),
        pytest.param((CONTROL, GENERAL), 2, [3, 0], id="counts may be more than all"),
        pytest.param((GENERAL,), 0, [0], id="none"),
    ],
)
def test_nodes_are_divided_among_shapes(shapes: tuple[NodeShape, ...], total: int, counts: list[int]) -> None:
    assert split(shapes, total) == counts


def test_nodes_are_numbered_and_dealt_out_over_zones() -> None:
    nodes = list(make_nodes(NodeShapes((NodeShape("n", {"cpu": 2, "memory": "4Gi"}),), ("a", "b")), 3))
    assert [node["metadata"]["name"] for node in nodes] == ["n-0001", "n-0002", "n-0003"]
    assert [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes] == ["a", "b", "a"]
    assert nodes[0] == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "n-0001",
            "labels": {
                "kubernetes.io/hostname": "n-0001",
                "kubernetes.io/os": "linux",
                "topology.kubernetes.io/zone": "a",
            },
        },
        "spec": {},
        "status": {"capacity": {"cpu": "2", "memory": "4Gi"}, "allocatable": {"cpu": "2", "memory": "4Gi"}},
    }


def test_a_file_of_shapes_gives_labels_taints_and_what_is_left_for_pods(tmp_path: Path) -> None:
    path = tmp_path / "shapes.yaml"
    path.write_text(
        "zones: [z]\n"
        "shapes:\n"
        "  - name: gpu\n"
        "    capacity: {cpu: 32, nvidia.com/gpu: 8}\n"
        "    allocatable: {cpu: 31500m, nvidia.com/gpu: 8}\n"
        "    labels: {accelerator: a100}\n"
        "    annotations: {example.com/rack: r1}\n"
        "    taints: [{key: nvidia.com/gpu, effect: NoSchedule}]\n"
    )
    (node,) = make_nodes(initial_objects.read_shapes(str(path)), 1)
    assert node["metadata"]["labels"]["accelerator"] == "a100"
    assert node["metadata"]["annotations"] == {"example.com/rack": "r1"}
    assert node["spec"] == {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}
    assert node["status"] == {
        "capacity": {"cpu": "32", "nvidia.com/gpu": "8"},
        "allocatable": {"cpu": "31500m", "nvidia.com/gpu": "8"},
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("shapes: [{name: a}]", "missing required field `capacity`", id="no capacity"),
        pytest.param("shapes: [{name: a, capacity: {}, colour: red}]", "unknown field `colour`", id="a field too many"),
        pytest.param("shapes: []", "shapes is empty; name at least one", id="no shape"),
        pytest.param("shapes: [{name: a, capacity: {}, share: 0}]", "share at least 1", id="no share"),
        pytest.param(
            "shapes: [{name: a, capacity: {}}, {name: a, capacity: {}}]", "two shapes have one name", id="twice"
        ),
        pytest.param("{}\n---\n{}", "expected one document with shapes, got 2", id="two documents"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "shapes.yaml"
    path.write_text(text)
    with pytest.raises(ManifestError, match=problem):
        initial_objects.read_shapes(str(path))

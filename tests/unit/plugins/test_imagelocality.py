"""ImageLocality: what images on a node are worth. Four nodes; sizes in MiB."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.config.feature_gates import default_gates
from stowplan.plugins.imagelocality import ImageLocality
from stowplan.testing import LocalHandle
from tests.unit.plugins.small_cluster import SmallCluster, make_node, make_pod

MIB = 1024 * 1024


def node(name: str, **images: int) -> Any:
    held = [{"names": [f"repo/{image}:v1"], "sizeBytes": size * MIB} for image, size in images.items()]
    return make_node(name, status={"images": held})


def cluster() -> SmallCluster:
    return SmallCluster(
        node("a", big=1000, rare=800, tiny=40), node("b", big=1000), node("c", big=5), node("d", big=1000, tiny=40)
    )


def containers(*images: str) -> list[dict[str, str]]:
    return [{"name": f"c{number}", "image": image} for number, image in enumerate(images)]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"containers": containers("repo/none:v1")}, {"a": 0, "b": 0, "c": 0, "d": 0}, id="images nobody has: 0"
        ),
        pytest.param(
            {"containers": containers("repo/big:v1")},
            {"a": 100, "b": 100, "c": 100, "d": 100},
            id="1000 MiB everywhere: 100; the size is that of the first node, whatever c reports",
        ),
        pytest.param(
            {"containers": containers("repo/rare:v1")},
            {"a": 18, "b": 0, "c": 0, "d": 0},
            id="on one node of four, 800 MiB weigh 200: (200-23)/(1000-23)",
        ),
        pytest.param(
            {"containers": containers("repo/tiny:v1")}, {"a": 0, "b": 0, "c": 0, "d": 0}, id="below 23 MiB: 0"
        ),
        pytest.param(
            {"containers": containers("repo/big:v1", "repo/rare:v1")},
            {"a": 59, "b": 49, "c": 49, "d": 49},
            id="each container raises the bar: (1200-23)/(2000-23)",
        ),
        pytest.param(
            {"initContainers": containers("repo/big:v1"), "containers": containers("repo/none:v1")},
            {"a": 49, "b": 49, "c": 49, "d": 49},
            id="init containers count",
        ),
        pytest.param(
            {
                "containers": containers("repo/none:v1"),
                "volumes": [{"name": "v", "image": {"reference": "repo/rare:v1"}}],
            },
            {"a": 8, "b": 0, "c": 0, "d": 0},
            id="image volumes add bytes and raise the bar: (200-23)/(2000-23)",
        ),
        pytest.param(
            {"containers": containers("repo/rare:v1", "repo/rare:v1")},
            {"a": 19, "b": 0, "c": 0, "d": 0},
            id="an image used twice counts twice: (400-23)/(2000-23)",
        ),
    ],
)
def test_score(spec: dict[str, Any], expected: dict[str, int]) -> None:
    assert cluster().scores(ImageLocality(LocalHandle()), make_pod(**spec)) == expected


def test_before_1_37_image_volumes_did_not_raise_the_bar() -> None:
    handle = LocalHandle()
    handle.feature_gates = default_gates("1.36")
    volumes = [{"name": "v", "image": {"reference": "repo/rare:v1"}}]
    pod = make_pod(containers=containers("repo/none:v1"), volumes=volumes)
    assert cluster().scores(ImageLocality(handle), pod) == {"a": 18, "b": 0, "c": 0, "d": 0}


def test_before_1_37_a_pod_of_image_volumes_alone_had_no_bar_to_reach() -> None:
    handle = LocalHandle()
    handle.feature_gates = default_gates("1.36")
    pod = make_pod(volumes=[{"name": "v", "image": {"reference": "repo/rare:v1"}}])
    # Of 800 MiB on one node of four 200 count, which is more than 23; without containers that is more than all.
    assert cluster().scores(ImageLocality(handle), pod) == {"a": 100, "b": 0, "c": 0, "d": 0}


@pytest.mark.parametrize(
    ("written", "reported"),
    [
        pytest.param("repo/app", "repo/app:latest", id="an image without a tag is the latest"),
        pytest.param("host:5000/app", "host:5000/app:latest", id="a registry's port is not a tag"),
        pytest.param("host:5000/app:v2", "host:5000/app:v2", id="a tag after a port is kept"),
        pytest.param("repo/app@sha256:0f", "repo/app@sha256:0f", id="a digest is kept"),
    ],
)
def test_names_are_completed(written: str, reported: str) -> None:
    held = {"images": [{"names": ["other", reported], "sizeBytes": 1000 * MIB}]}
    only = SmallCluster(make_node("node", status=held))
    assert only.scores(ImageLocality(LocalHandle()), make_pod(containers=containers(written))) == {"node": 100}


def test_the_spread_follows_the_cluster() -> None:
    growing = SmallCluster(node("a", rare=800))
    pod = make_pod(containers=containers("repo/rare:v1"))
    assert growing.scores(ImageLocality(LocalHandle()), pod) == {"a": 79}
    growing.table.add_node(node("b"))
    assert growing.scores(ImageLocality(LocalHandle()), pod) == {"a": 38, "b": 0}

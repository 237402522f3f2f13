"""NodeResourcesFit as a score: the three strategies, and which resources count."""

from __future__ import annotations

import pytest

from stowplan.model.pod import Pod
from stowplan.plugins.noderesources.arguments import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
)
from stowplan.plugins.noderesources.fit import NodeResourcesFit
from stowplan.plugins.shape_score import UtilizationShapePoint
from tests.unit.plugins.noderesources.resource_cluster import GPU, ResourceCluster, node_of, pod_of
from tests.unit.plugins.small_cluster import make_pod

CPU_AND_MEMORY = {"cpu": 1, "memory": 1}


def scoring(strategy: str, weights: dict[str, int], *shape: tuple[int, int]) -> NodeResourcesFit:
    """Make the plugin with a strategy; `shape` is made of (utilization, score)."""
    resources = tuple(ResourceSpec(name, weight) for name, weight in weights.items())
    ratio = RequestedToCapacityRatioParam(tuple(UtilizationShapePoint(*point) for point in shape)) if shape else None
    return NodeResourcesFit(NodeResourcesFitArgs(ScoringStrategy(strategy, resources, ratio)))


@pytest.mark.parametrize(
    ("pod", "least", "most"),
    [
        pytest.param(pod_of(cpu="1", memory="2Gi"), 75, 25, id="alike: 75 and 75 are free"),
        pytest.param(pod_of(cpu="1", memory="4Gi"), 62, 37, id="the average is cut, not rounded: 75 and 50 are free"),
        pytest.param(pod_of(cpu="1333m", memory="2Gi"), 70, 29, id="and so is each part: 66 and 75 are free"),
        pytest.param(pod_of(cpu="4", memory="8Gi"), 0, 100, id="full"),
        pytest.param(pod_of(cpu="5", memory="9Gi"), 0, 100, id="more than full"),
    ],
)
def test_allocated_strategies_average_the_percentages(pod: Pod, least: int, most: int) -> None:
    cluster = ResourceCluster(node_of(cpu="4", memory="8Gi"))
    assert cluster.score_of(NodeResourcesFit(), pod) == least
    assert cluster.score_of(scoring("MostAllocated", CPU_AND_MEMORY), pod) == most


@pytest.mark.parametrize(
    ("strategy", "score"),
    [
        pytest.param("LeastAllocated", 37, id="nothing of the cpu is free, and 75 of the memory"),
        pytest.param("MostAllocated", 62, id="100 of the cpu are used, and 25 of the memory"),
    ],
)
def test_a_resource_that_is_overcommitted_counts_as_full_beside_one_that_is_not(strategy: str, score: int) -> None:
    cluster = ResourceCluster(node_of(cpu="4", memory="8Gi"))
    assert cluster.score_of(scoring(strategy, CPU_AND_MEMORY), pod_of(cpu="8", memory="2Gi")) == score


def test_weights_count() -> None:
    cluster = ResourceCluster(node_of(cpu="4", memory="8Gi"))
    pod = pod_of(cpu="1", memory="4Gi")
    assert cluster.score_of(scoring("LeastAllocated", {"cpu": 3, "memory": 1}), pod) == 68
    assert cluster.score_of(scoring("MostAllocated", {"cpu": 1, "memory": 4}), pod) == 45


@pytest.mark.parametrize(
    ("placed", "pod", "score"),
    [
        pytest.param([], pod_of(), 85, id="the pod itself, 100m of 1 cpu and 200Mi of 1000Mi"),
        pytest.param([pod_of()], pod_of(), 70, id="and those that are there"),
        pytest.param([pod_of(cpu="200m")], pod_of(memory="400Mi"), 55, id="each resource by itself"),
        pytest.param([], make_pod(containers=[{}, {}]), 70, id="every container"),
        pytest.param([], pod_of(cpu="0", memory="0"), 100, id="a zero that is written counts as zero"),
    ],
)
def test_a_container_without_requests_weighs_100m_and_200mi(placed: list[Pod], pod: Pod, score: int) -> None:
    cluster = ResourceCluster(node_of(cpu="1", memory="1000Mi"))
    cluster.place("node", *placed)
    assert cluster.score_of(NodeResourcesFit(), pod) == score


def test_pod_level_requests_count_for_placed_pods_only() -> None:
    cluster = ResourceCluster(node_of(cpu="1", memory="1000Mi"))
    pod = make_pod(containers=[{}], resources={"requests": {"cpu": "500m", "memory": "500Mi"}})
    assert cluster.score_of(NodeResourcesFit(), pod) == 85
    cluster.place("node", pod)
    assert cluster.score_of(NodeResourcesFit(), pod) == 35


@pytest.mark.parametrize(
    ("pod", "least", "most"),
    [
        pytest.param(
            pod_of(cpu="1", gpu="1"), {"plain": 75, "equipped": 55}, {"plain": 25, "equipped": 45}, id="requested"
        ),
        pytest.param(pod_of(cpu="1"), {"plain": 75, "equipped": 75}, {"plain": 25, "equipped": 25}, id="not requested"),
    ],
)
def test_an_extended_resource_counts_where_it_is_if_the_pod_requests_it(
    pod: Pod, least: dict[str, int], most: dict[str, int]
) -> None:
    cluster = ResourceCluster(node_of("plain", cpu="4"), node_of("equipped", cpu="4", gpu="2"))
    weights = {GPU: 4, "cpu": 1}
    for strategy, expected in (("LeastAllocated", least), ("MostAllocated", most)):
        scores = cluster.scores(scoring(strategy, weights), pod)
        assert {name: scores[name] for name in expected} == expected


def test_a_node_without_any_of_the_resources_scores_nothing() -> None:
    cluster = ResourceCluster(node_of(memory="1Gi"))
    for strategy in ("LeastAllocated", "MostAllocated"):
        assert cluster.score_of(scoring(strategy, {"cpu": 1}), pod_of(cpu="1")) == 0
        assert cluster.score_of(scoring(strategy, {GPU: 1}), pod_of(cpu="1")) == 0
    assert cluster.score_of(scoring("RequestedToCapacityRatio", {"cpu": 1}, (0, 10)), pod_of(cpu="1")) == 0


@pytest.mark.parametrize(
    ("used", "score"),
    [
        pytest.param("500m", 20, id="level before the first point"),
        pytest.param("1", 20, id="at a point"),
        pytest.param("2", 30, id="climbing"),
        pytest.param("2900m", 39, id="the percentage is cut"),
        pytest.param("4", 50, id="at the peak"),
        pytest.param("5", 34, id="falling by 16.66, cut towards zero"),
        pytest.param("7", 0, id="at the last point"),
        pytest.param("10", 0, id="level after it"),
        pytest.param("12", 0, id="beyond what the node has"),
    ],
)
def test_a_curve_is_read_at_the_used_percentage(used: str, score: int) -> None:
    cluster = ResourceCluster(node_of(cpu="10"))
    plugin = scoring("RequestedToCapacityRatio", {"cpu": 1}, (10, 2), (40, 5), (70, 0))
    assert cluster.score_of(plugin, pod_of(cpu=used)) == score


def test_curves_are_averaged_to_the_nearest_with_halves_up() -> None:
    cluster = ResourceCluster(node_of(cpu="4", memory="8Gi"))
    plugin = scoring("RequestedToCapacityRatio", CPU_AND_MEMORY, (0, 0), (100, 10))
    assert cluster.score_of(plugin, pod_of(cpu="1", memory="4Gi")) == 38
    uneven = scoring("RequestedToCapacityRatio", {"cpu": 2, "memory": 1}, (0, 0), (100, 10))
    assert cluster.score_of(uneven, pod_of(cpu="1", memory="4Gi")) == 33


def test_a_resource_whose_curve_is_at_zero_does_not_weigh() -> None:
    cluster = ResourceCluster(node_of(cpu="4", memory="8Gi"))
    plugin = scoring("RequestedToCapacityRatio", CPU_AND_MEMORY, (50, 0), (100, 10))
    assert cluster.score_of(plugin, pod_of(cpu="1", memory="6Gi")) == 50


def test_a_strategy_that_is_not_usable_is_refused() -> None:
    with pytest.raises(ValueError, match="'MiddleAllocated' is not usable; use LeastAllocated, MostAllocated"):
        scoring("MiddleAllocated", CPU_AND_MEMORY)


def test_a_score_enabled_without_its_preparation_prepares_itself() -> None:
    cluster = ResourceCluster(node_of(cpu="4", memory="8Gi"))
    assert NodeResourcesFit().score(pod_of(cpu="1", memory="4Gi"), cluster.nodes, None)[0] == 62

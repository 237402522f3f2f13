"""Amounts that an int64 does not hold: they overflow as kube-scheduler's do, however many nodes are asked about."""

from __future__ import annotations

import numpy as np
import pytest

from stowplan.model.pod import Pod
from stowplan.plugins.noderesources.arguments import (
    CPU_AND_MEMORY,
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ScoringStrategy,
)
from stowplan.plugins.noderesources.balanced_allocation import NodeResourcesBalancedAllocation
from stowplan.plugins.noderesources.fit import NodeResourcesFit
from stowplan.plugins.shape_score import UtilizationShapePoint
from tests.unit.plugins.noderesources.resource_cluster import ResourceCluster, Said, node_of, pod_of
from tests.unit.plugins.small_cluster import SmallCluster, make_pod

MOST_OF_INT64 = str(2**63 - 1)
RATIO = RequestedToCapacityRatioParam((UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10)))


def two_containers(memory: str) -> Pod:
    each = {"resources": {"requests": {"memory": memory}}}
    return make_pod(containers=[{"name": "one", **each}, {"name": "two", **each}])


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        pytest.param(pod_of(memory="7Ei"), ("unresolvable", "Insufficient memory"), id="more than the node has"),
        pytest.param(pod_of(memory="8Ei"), ("unresolvable", "Insufficient memory"), id="the most there is"),
        pytest.param(pod_of(memory="10E"), (), id="more than there are numbers for comes to nothing"),
        pytest.param(pod_of(cpu="1E"), (), id="so many cpus have no thousandths"),
        pytest.param(two_containers("4Ei"), (), id="a sum that overflows is less than nothing"),
        pytest.param(two_containers("3Ei"), ("unresolvable", "Insufficient memory"), id="a sum that does not"),
    ],
)
def test_what_a_pod_requests(pod: Pod, said: Said) -> None:
    cluster = ResourceCluster(node_of(cpu="4", memory="1Gi"))
    assert cluster.said(NodeResourcesFit(), pod).get("node", ()) == said


def test_what_the_pods_of_a_node_take_overflows() -> None:
    cluster = ResourceCluster(node_of(memory=MOST_OF_INT64))
    cluster.place("node", pod_of(memory=MOST_OF_INT64), pod_of(memory=MOST_OF_INT64))
    # What is left is the most there is and 2 more, which is the least there is.
    pod = pod_of(memory="1")
    assert cluster.said(NodeResourcesFit(), pod) == {"node": ("Insufficient memory",)}
    state = NodeResourcesFit().pre_filter(pod, cluster.nodes)
    assert not state.fits(*cluster.table.resources.amounts(0))


def test_a_row_is_asked_again_whose_room_lies_between_requests_that_floats_cannot_tell_apart() -> None:
    cluster = SmallCluster(node_of(memory=str(2**62 + 699)))
    fit, nodes = NodeResourcesFit(), cluster.nodes
    before = fit.pre_filter(pod_of(memory=str(2**62 + 600)), nodes)
    after = fit.pre_filter(pod_of(memory=str(2**62 + 700)), nodes)
    changed = after.changed_rows(before, nodes)
    assert changed is not None
    assert changed.tolist() == [0]


@pytest.mark.parametrize(
    ("strategy", "memory", "wanted", "score"),
    [
        # A hundred times 2^62 - 2^30 is a multiple of 2^64 less 100 * 2^30: of 2^62, nothing. Cpu scores 50.
        pytest.param("LeastAllocated", "4Ei", "1Gi", 25, id="4Ei: nothing of it is free"),
        # 2^62 is left of a hundred times 2^60, less something: 3 of 100.
        pytest.param("LeastAllocated", "1Ei", "1Gi", 26, id="1Ei: 3 of 100 are free"),
        # -2^62 is left of a hundred times 3 * 2^60, and the fraction is cut off: -1 of 100, 49 halves in all.
        pytest.param("LeastAllocated", "3Ei", "1Gi", 24, id="3Ei: less than nothing is free"),
        pytest.param("MostAllocated", "4Ei", "3Ei", 24, id="three quarters taken count as less than nothing"),
        pytest.param("MostAllocated", "4Ei", "1Ei", 25, id="a quarter taken counts as nothing"),
        # What scores nothing does not weigh.
        pytest.param("RequestedToCapacityRatio", "4Ei", "3Ei", 50, id="less than nothing is at the start of the curve"),
        pytest.param("RequestedToCapacityRatio", "1Ei", "3Ei", 75, id="more than all is at the end of the curve"),
    ],
)
def test_percentages_overflow(strategy: str, memory: str, wanted: str, score: int) -> None:
    ratio = RATIO if strategy == "RequestedToCapacityRatio" else None
    plugin = NodeResourcesFit(NodeResourcesFitArgs(ScoringStrategy(strategy, CPU_AND_MEMORY, ratio)))
    cluster = ResourceCluster(node_of(cpu="2", memory=memory))
    assert cluster.score_of(plugin, pod_of(cpu="1", memory=wanted)) == score
    everywhere = cluster.nodes.take(np.zeros(9, dtype=np.intp))
    state = plugin.pre_score(pod_of(cpu="1", memory=wanted), cluster.nodes)
    assert plugin.score(pod_of(cpu="1", memory=wanted), everywhere, state).tolist() == [score] * 9


def test_balance_is_told_by_fractions_that_do_not_overflow() -> None:
    cluster = ResourceCluster(node_of(cpu="2", memory="4Ei"))
    # From 0 and 0 to 1/2 and 1/2; and to 1/2 and 1, which is a quarter of deviation.
    assert cluster.score_of(NodeResourcesBalancedAllocation(), pod_of(cpu="1", memory="2Ei")) == 75
    assert cluster.score_of(NodeResourcesBalancedAllocation(), pod_of(cpu="1", memory="4Ei")) == 62

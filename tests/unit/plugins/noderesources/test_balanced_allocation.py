"""NodeResourcesBalancedAllocation: does the pod even the node out?"""

from __future__ import annotations

import pytest

from stowplan.framework.contract import SKIP
from stowplan.model.pod import Pod
from stowplan.plugins.noderesources.arguments import NodeResourcesBalancedAllocationArgs, ResourceSpec
from stowplan.plugins.noderesources.balanced_allocation import NodeResourcesBalancedAllocation
from tests.unit.plugins.noderesources.resource_cluster import GPU, ResourceCluster, node_of, pod_of
from tests.unit.plugins.small_cluster import make_pod


def balancing(*names: str) -> NodeResourcesBalancedAllocation:
    return NodeResourcesBalancedAllocation(
        NodeResourcesBalancedAllocationArgs(tuple(ResourceSpec(name, 1) for name in names))
    )


@pytest.mark.parametrize(
    ("placed", "pod", "score"),
    [
        pytest.param([], pod_of(cpu="1", memory="2Gi"), 75, id="even before and after"),
        pytest.param([], pod_of(cpu="2"), 62, id="tilted from 100 to 75, and half a point cut off"),
        pytest.param([], pod_of(cpu="4"), 50, id="tilted as far as can be"),
        pytest.param([pod_of(cpu="4")], pod_of(memory="8Gi"), 100, id="evened out as far as can be"),
        pytest.param([pod_of(cpu="2")], pod_of(memory="4Gi"), 87, id="evened out from 75 to 100"),
        pytest.param([pod_of(cpu="2")], pod_of(cpu="1", memory="2Gi"), 75, id="as tilted as before"),
        pytest.param([pod_of(cpu="6")], pod_of(memory="8Gi"), 100, id="more than full is full"),
        pytest.param([pod_of()], pod_of(cpu="1", memory="2Gi"), 75, id="a pod without requests weighs nothing here"),
        pytest.param(
            [],
            make_pod(containers=[{}], resources={"requests": {"cpu": "2"}}),
            62,
            id="a request of the pod as a whole counts",
        ),
    ],
)
def test_the_score_compares_with_and_without_the_pod(placed: list[Pod], pod: Pod, score: int) -> None:
    cluster = ResourceCluster(node_of(cpu="4", memory="8Gi"))
    cluster.place("node", *placed)
    assert cluster.score_of(NodeResourcesBalancedAllocation(), pod) == score


@pytest.mark.parametrize(
    ("pod", "score"),
    [
        # The deviation of 1/2, 0, 0 is the root of 1/18: 76 of 100. Of 1, 0, 0 it is the root of 2/9: 52.
        pytest.param(pod_of(cpu="2"), 63, id="one of three half used"),
        pytest.param(pod_of(cpu="4"), 51, id="one of three used up"),
        pytest.param(pod_of(cpu="2", memory="4Gi", ephemeral_storage="5Gi"), 75, id="all three alike"),
    ],
)
def test_more_than_two_resources_have_a_standard_deviation(pod: Pod, score: int) -> None:
    cluster = ResourceCluster(node_of(cpu="4", memory="8Gi", ephemeral_storage="10Gi"))
    assert cluster.score_of(balancing("cpu", "memory", "ephemeral-storage"), pod) == score


@pytest.mark.parametrize(
    ("names", "pod", "expected"),
    [
        pytest.param(
            ("cpu", "memory", GPU),
            pod_of(cpu="2", gpu="1"),
            {"full": 63, "no memory": 75, "no gpu": 62, "cpu only": 75},
            id="of three",
        ),
        pytest.param(("cpu", "memory"), pod_of(cpu="2"), {"full": 62, "no memory": 75, "no gpu": 62}, id="of two"),
        pytest.param(("cpu", GPU), pod_of(cpu="2"), {"full": 75, "no gpu": 75}, id="an extended one not requested"),
    ],
)
def test_a_resource_that_is_not_there_or_not_requested_is_left_out(
    names: tuple[str, ...], pod: Pod, expected: dict[str, int]
) -> None:
    cluster = ResourceCluster(
        node_of("full", cpu="4", memory="8Gi", gpu="2"),
        node_of("no memory", cpu="4", gpu="2"),
        node_of("no gpu", cpu="4", memory="8Gi"),
        node_of("cpu only", cpu="4"),
    )
    scores = cluster.scores(balancing(*names), pod)
    assert {name: scores[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("plugin", "pod"),
    [
        pytest.param(NodeResourcesBalancedAllocation(), pod_of(), id="nothing at all"),
        pytest.param(NodeResourcesBalancedAllocation(), pod_of(cpu="0", memory="0"), id="zeros"),
        pytest.param(NodeResourcesBalancedAllocation(), pod_of(ephemeral_storage="1Gi", gpu="1"), id="only others"),
        pytest.param(balancing("memory", GPU), pod_of(cpu="1"), id="none of those configured"),
    ],
)
def test_a_pod_that_requests_none_of_the_resources_is_not_scored(
    plugin: NodeResourcesBalancedAllocation, pod: Pod
) -> None:
    cluster = ResourceCluster(node_of(cpu="4", memory="8Gi", gpu="2"))
    assert plugin.pre_score(pod, cluster.nodes) is SKIP


@pytest.mark.parametrize(
    ("pod", "score"),
    [
        pytest.param(pod_of(cpu="2"), 62, id="as if it were prepared"),
        pytest.param(pod_of(), 0, id="nothing for a pod that would be skipped"),
    ],
)
def test_a_score_enabled_without_its_preparation_prepares_itself(pod: Pod, score: int) -> None:
    cluster = ResourceCluster(node_of(cpu="4", memory="8Gi"))
    assert NodeResourcesBalancedAllocation().score(pod, cluster.nodes, None)[0] == score

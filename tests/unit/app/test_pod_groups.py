"""Pod groups in the library: scheduled and explained without a queue."""

from __future__ import annotations

import pytest

from stowplan.app.cluster import Chosen, Cluster, Gated, Refused
from stowplan.model.pod import Pod
from stowplan.testing import make_node, make_pod
from tests.integration.gang_world import own_group, own_members

RACK = "example.com/rack"


def cluster_of(nodes: int, needed: int, gates: str = "GenericWorkload=true", topology: str = "") -> Cluster:
    cluster = Cluster(feature_gates=gates)
    for number in range(nodes):
        cluster.add(make_node(f"n{number}").capacity(cpu="2", pods=9).label(RACK, f"rack-{number // 2}").build())
    cluster.add(own_group("train", needed, priority=5, topology=topology))
    return cluster


def waiting(cluster: Cluster, count: int) -> list[Pod]:
    pods = own_members("train", count, priority=5)
    cluster.add_all(pods)
    return pods


def test_a_group_that_fits_is_placed() -> None:
    cluster = cluster_of(2, needed=2)
    found = cluster.schedule_group(waiting(cluster, 2))
    assert {one.node_name for one in found if isinstance(one, Chosen)} == {"n0", "n1"}


def test_a_group_that_does_not_fit_changes_nothing() -> None:
    cluster = cluster_of(2, needed=3)
    found = cluster.schedule_group(waiting(cluster, 3))
    assert [type(one) for one in found] == [Refused] * 3
    assert not list(cluster.cache.pods())


def test_one_pod_of_a_gang_does_not_go_without_the_others() -> None:
    cluster = cluster_of(2, needed=2)
    first, _ = waiting(cluster, 2)
    result = cluster.schedule(first)
    assert isinstance(result, Refused)
    assert result.message == "pod group is unschedulable, minCount (2) cannot be satisfied: 0 scheduled, 1 remaining"


def test_pods_of_an_incomplete_gang_are_held_back() -> None:
    cluster = cluster_of(2, needed=2)
    [result] = cluster.schedule_group(waiting(cluster, 1))
    assert isinstance(result, Gated)
    assert result.message == "waiting for minCount pods from a gang to appear in scheduling queue"


def test_a_pod_whose_group_is_not_there_is_held_back() -> None:
    cluster = Cluster(feature_gates="GenericWorkload=true")
    assert isinstance(cluster.schedule(own_members("train", 1)[0]), Gated)


def test_an_explanation_names_the_pod_that_is_missing_in_every_placement() -> None:
    gates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
    cluster = cluster_of(4, needed=3, gates=gates, topology=RACK)
    explanation = cluster.explain_group(waiting(cluster, 3))
    assert [(one.name, len(one.nodes), one.missing) for one in explanation.placements] == [
        ("rack-0", 2, "default/train-2"),
        ("rack-1", 2, "default/train-2"),
    ]
    assert explanation.placements[0].why == "0/2 nodes are available: 2 Insufficient cpu."


def test_an_explanation_names_whom_the_group_would_evict() -> None:
    cluster = cluster_of(2, needed=2)
    cluster.add(make_pod("low").requests(cpu="2").on("n0").build())
    explanation = cluster.explain_group(waiting(cluster, 2))
    assert explanation.victims == ("default/low",)
    assert explanation.making_room == "pod group preemption: found a placement for podgroup, preempting 1 victims"
    assert [placed.pod.name for placed in cluster.cache.pods()] == ["low"]


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_both_releases_place_groups(release: str) -> None:
    gates = {"GenericWorkload": True, **({"GangScheduling": True} if release == "1.36" else {})}
    cluster = Cluster(release=release, feature_gates=gates)
    cluster.add(make_node("n0").capacity(cpu="2", pods=9).build())
    cluster.add(own_group("train", 2))
    pods = own_members("train", 2)
    cluster.add_all(pods)
    assert [type(one) for one in cluster.schedule_group(pods)] == [Refused, Refused]

"""Volumes through a whole `Cluster`: pods are placed one after the other, each with a volume of its own."""

from __future__ import annotations

from stowplan.app.cluster import Chosen, Cluster, Refused
from stowplan.model.pod import Pod
from tests.unit.plugins.small_cluster import make_node
from tests.unit.plugins.volumes.stored import (
    DRIVER,
    FAST,
    HOSTNAME,
    capacity,
    claim,
    driver,
    on,
    storage_class,
    user_of,
    volume,
)

ROOM = {"allocatable": {"pods": "9"}}


def cluster_with_local_disks() -> Cluster:
    cluster = Cluster()
    for name in "ab":
        cluster.add(make_node(name, labels={HOSTNAME: name}, status=ROOM))
        cluster.add(volume(f"disk-{name}", nodeAffinity=on(name)))
    cluster.add(storage_class())
    cluster.add_all(claim(f"data-{number}") for number in range(3))
    return cluster


def pods() -> list[Pod]:
    return [user_of(f"data-{number}", name=f"db-{number}") for number in range(3)]


def test_every_pod_takes_a_volume_and_the_next_goes_elsewhere() -> None:
    cluster = cluster_with_local_disks()
    first, second, third = map(cluster.schedule, pods())
    assert isinstance(first, Chosen)
    assert isinstance(second, Chosen)
    assert {first.node_name, second.node_name} == {"a", "b"}
    assert isinstance(third, Refused)
    assert third.message == (
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def test_choosing_takes_nothing() -> None:
    cluster = cluster_with_local_disks()
    assert all(isinstance(cluster.choose(pod), Chosen) for pod in pods())


def test_a_plugin_finds_a_node_by_its_name_as_long_as_it_is_there() -> None:
    cluster = cluster_with_local_disks()
    assert [node.name for node in map(cluster.handle.row_of("b").node, range(len(cluster.handle.row_of("b"))))] == ["b"]
    cluster.remove(make_node("b"))
    assert len(cluster.handle.row_of("b")) == 0


def test_a_plugin_is_told_whether_a_pod_is_still_placed() -> None:
    cluster, pod = cluster_with_local_disks(), pods()[0]
    assert not cluster.handle.is_placed(pod)
    cluster.schedule(pod)
    assert cluster.handle.is_placed(pod)
    cluster.remove(pod)
    assert not cluster.handle.is_placed(pod)


def test_whoever_runs_the_scheduler_is_told_once_what_is_taken_for_granted_about_free_space() -> None:
    cluster, told = Cluster(), list[str]()
    cluster.handle.stopwatch.wind(lambda: 0, (1.0, 1.0), told.append)
    for name in "ab":
        cluster.add(make_node(name, status=ROOM))
    cluster.add_all([storage_class(FAST, DRIVER), driver(), capacity("r", None, {}, maximumVolumeSize="50Gi")])
    for number in range(2):
        cluster.add(claim(f"data-{number}", storageClassName=FAST))
        assert isinstance(cluster.schedule(user_of(f"data-{number}", name=f"db-{number}")), Chosen)
    assert [text.partition(":")[0] for text in told] == [
        "CSIStorageCapacity default/r has maximumVolumeSize and no capacity"
    ]


def test_a_pod_without_claims_is_scored_0_by_free_space_on_every_node() -> None:
    cluster = cluster_with_local_disks()
    explained = cluster.explain(user_of(name="plain"))
    scores = {name: node.scores["VolumeBinding"].weighted for name, node in explained.nodes.items()}
    assert scores == {"a": 0, "b": 0}

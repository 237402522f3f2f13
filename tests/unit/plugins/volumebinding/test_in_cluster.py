"""Volumes through a whole `Cluster`: pods are placed one after the other, each with a volume of its own."""

from __future__ import annotations

from stowplan.app.cluster import Chosen, Cluster, Refused
from stowplan.model.pod import Pod
from tests.unit.plugins.small_cluster import make_node
from tests.unit.plugins.volumes.stored import HOSTNAME, claim, on, storage_class, user_of, volume

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
    assert third.message == "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."


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

"""A whole cluster as columns and shares: every number written out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from stowplan.app.cluster import Cluster
from stowplan.app.supposition import SuppositionError
from stowplan.testing import make_node, make_pod

GI = 1024**3


def cluster() -> Cluster:
    """Three nodes: 2 of 4 cores taken on a, all of 2 on b, none of 2 on c, which has a GPU and is cordoned."""
    found = Cluster()
    found.add(make_node("a").capacity(cpu=4, memory="8Gi", pods=10).zone("z1").build())
    found.add(make_node("b").capacity(cpu=2, memory="4Gi", pods=10).zone("z2").build())
    gpus = {"nvidia.com/gpu": 4}
    found.add(make_node("c").capacity({**gpus, "cpu": 2, "memory": "4Gi", "pods": 10}).cordon().build())
    found.add(make_pod("web").requests(cpu=2, memory="1Gi").on("a").priority(7).build())
    found.add(make_pod("db").requests(cpu=2, memory="3Gi").on("b").build())
    return found


def test_nodes_are_columns() -> None:
    frame = cluster().nodes_frame()
    resources = ("cpu", "memory", "ephemeral-storage", "pods", "nvidia.com/gpu")
    amounts = ("allocatable", "requested", "free", "utilisation")
    assert frame.columns == (
        *("name", "zone", "unschedulable", "pods"),
        *(f"{resource}_{amount}" for resource in resources for amount in amounts),
    )
    assert len(frame) == 3


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("name", ["a", "b", "c"]),
        ("zone", ["z1", "z2", ""]),
        ("unschedulable", [False, False, True]),
        ("pods", [1, 1, 0]),
        ("cpu_allocatable", [4000, 2000, 2000]),
        ("cpu_requested", [2000, 2000, 0]),
        ("cpu_free", [2000, 0, 2000]),
        ("cpu_utilisation", [0.5, 1.0, 0.0]),
        ("memory_allocatable", [8 * GI, 4 * GI, 4 * GI]),
        ("memory_requested", [GI, 3 * GI, 0]),
        ("memory_free", [7 * GI, GI, 4 * GI]),
        ("memory_utilisation", [0.125, 0.75, 0.0]),
        ("pods_allocatable", [10, 10, 10]),
        ("pods_requested", [1, 1, 0]),
        ("pods_free", [9, 9, 10]),
        ("nvidia.com/gpu_allocatable", [0, 0, 4]),
        ("nvidia.com/gpu_free", [0, 0, 4]),
    ],
)
def test_a_column_of_nodes(column: str, expected: list[Any]) -> None:
    assert cluster().nodes_frame()[column].tolist() == expected


def test_the_share_of_what_a_node_does_not_have_is_not_a_number() -> None:
    assert [math.isnan(share) for share in cluster().nodes_frame()["nvidia.com/gpu_utilisation"]] == [True, True, False]


def test_what_is_free_is_negative_where_more_is_taken_than_there_is() -> None:
    found = Cluster()
    found.add(make_node("a").capacity(cpu=1).build())
    found.add(make_pod("web").requests(cpu=3).on("a").build())
    frame = found.nodes_frame()
    assert (frame["cpu_free"].tolist(), frame["cpu_utilisation"].tolist()) == ([-2000], [3.0])


def test_a_frame_does_not_follow_the_cluster() -> None:
    found = cluster()
    frame = found.nodes_frame()
    found.add(make_pod("more").requests(cpu=1).on("a").build())
    assert frame["cpu_requested"].tolist() == [2000, 2000, 0]
    frame["cpu_requested"][0] = 0
    assert found.nodes_frame()["cpu_requested"].tolist() == [3000, 2000, 0]


def test_a_resource_that_no_node_has_any_more_is_left_out() -> None:
    found = cluster()
    found.remove(make_node("c").build())
    assert not any(name.startswith("nvidia") for name in found.nodes_frame().columns)
    assert list(found.utilisation()) == ["cpu", "memory", "ephemeral-storage", "pods"]


def test_the_old_label_of_the_zone_counts_as_well() -> None:
    found = Cluster()
    found.add(make_node("a").label("failure-domain.beta.kubernetes.io/zone", "old").build())
    assert found.nodes_frame()["zone"].tolist() == ["old"]


def test_placements_are_columns() -> None:
    found = cluster()
    found.schedule(make_pod("new").requests(cpu="500m", memory="1Gi").build())
    assert found.placements_frame().to_csv() == (
        "namespace,name,node,priority,scheduler_name,cpu_requested,memory_requested,is_assumed\r\n"
        "default,web,a,7,default-scheduler,2000,1073741824,false\r\n"
        "default,db,b,0,default-scheduler,2000,3221225472,false\r\n"
        "default,new,a,0,default-scheduler,500,1073741824,true\r\n"
    )


def test_a_pod_on_a_node_that_is_not_there_is_placed_too_and_adds_nothing_to_the_table() -> None:
    found = cluster()
    found.add(make_pod("lost").requests({"cpu": 1, "example.com/new": 2}).on("gone").build())
    frame = found.placements_frame()
    assert (frame["node"].tolist(), frame["cpu_requested"].tolist()) == (["a", "b", "gone"], [2000, 2000, 1000])
    assert "example.com/new" not in found.cache.table.resources.index_of


def test_an_empty_cluster_has_empty_columns() -> None:
    nodes, placements = Cluster().nodes_frame(), Cluster().placements_frame()
    assert (len(nodes), nodes["name"].dtype.kind, nodes["cpu_free"].dtype.kind) == (0, "U", "i")
    assert (len(placements), placements["node"].dtype.kind, placements["is_assumed"].dtype.kind) == (0, "U", "b")


# Shares


def test_utilisation_is_what_is_requested_of_what_there_is() -> None:
    shares = cluster().utilisation()
    assert math.isnan(shares.pop("ephemeral-storage"))
    assert shares == {"cpu": 0.5, "memory": 0.25, "pods": 2 / 30, "nvidia.com/gpu": 0.0}


def test_utilisation_counts_more_than_an_int64_holds() -> None:
    found = Cluster()
    for name in "abc":
        found.add(make_node(name).capacity({"example.com/big": 2**62}).build())
    found.add(make_pod("half").requests({"example.com/big": 2**61}).on("a").build())
    assert found.utilisation()["example.com/big"] == pytest.approx(1 / 6)


def fragmented() -> Cluster:
    """Free are 3 cores on a, 1 on b, 1 on c and none on d; the largest pod asks for 2."""
    found = Cluster()
    for name, cpu in (("a", 4), ("b", 3), ("c", 3), ("d", 1)):
        found.add(make_node(name).capacity(cpu=cpu, memory="4Gi", pods=2).build())
    for name, cpu in (("a", 1), ("b", 2), ("c", 2), ("d", 1)):
        found.add(make_pod(f"on-{name}").requests(cpu=cpu).on(name).build())
    return found


def test_fragmentation_is_the_share_of_what_is_free_where_too_little_of_it_is_left() -> None:
    # The largest request is 2 cores: the 1 + 1 on b and c are of no use to it, the 3 on a are; 2 of 5.
    assert fragmented().fragmentation()["cpu"] == 0.4


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        pytest.param({"cpu": "500m"}, 0.0, id="there is room for it on every node with something left"),
        pytest.param({"cpu": 1}, 0.0, id="what fits exactly is of use"),
        pytest.param({"cpu": "1001m"}, 0.4, id="a little more than two nodes have"),
        pytest.param({"cpu": 3}, 0.4, id="as much as one node has"),
        pytest.param({"cpu": 4}, 1.0, id="more than any node has"),
        pytest.param({}, 0.0, id="a pod that asks for nothing can use everything"),
    ],
)
def test_fragmentation_as_a_pod_sees_it(requests: dict[str, str | int], expected: float) -> None:
    assert fragmented().fragmentation(make_pod("new").requests(requests).build())["cpu"] == expected


def test_every_resource_is_looked_at_by_itself() -> None:
    shares = fragmented().fragmentation(make_pod("new").requests(cpu=4, memory="1Gi").build())
    assert (shares["cpu"], shares["memory"], shares["pods"]) == (1.0, 0.0, 0.0)


def test_where_nothing_is_free_there_is_no_share_of_it() -> None:
    found = Cluster()
    found.add(make_node("a").capacity(cpu=1, pods=1).build())
    found.add(make_pod("web").requests(cpu=1).on("a").build())
    assert all(math.isnan(found.fragmentation()[resource]) for resource in ("cpu", "pods"))


def test_where_more_is_taken_than_there_is_nothing_is_free() -> None:
    found = fragmented()
    # Two cores too many, which do not count against the five that are free.
    found.add(make_pod("static").requests(cpu=2).on("d").build())
    assert found.fragmentation()["cpu"] == 0.4


def test_without_pods_nothing_is_fragmented() -> None:
    found = Cluster()
    found.add(make_node("a").capacity(cpu=1, pods=1).build())
    assert (found.fragmentation()["cpu"], found.fragmentation()["pods"]) == (0.0, 0.0)


def test_a_pod_that_asks_for_what_nobody_has_adds_nothing_to_the_table() -> None:
    found = fragmented()
    shares = found.fragmentation(make_pod("new").requests({"example.com/new": 1}).build())
    assert "example.com/new" not in shares
    assert "example.com/new" not in found.cache.table.resources.index_of


def test_only_a_pod_can_be_asked_for() -> None:
    with pytest.raises(TypeError, match=r"expected a Pod, got str; stowplan\.testing makes some"):
        fragmented().fragmentation("web")  # type: ignore[arg-type]


# What is only supposed


def test_what_is_supposed_shows_in_the_columns_and_is_gone_afterwards() -> None:
    found = cluster()
    before = [found.nodes_frame().to_csv(), found.placements_frame().to_csv()]
    with found.suppose() as world:
        placed = world.schedule_all(make_pod(f"more-{number}").requests(cpu=1).build() for number in range(3))
        assert placed.by_node().keys() == {"a"}
        assert world.nodes_frame()["cpu_requested"].tolist() == [4000, 2000, 0]
        assert world.utilisation()["cpu"] == 0.75
        assert len(world.placements_frame()) == 4
    assert [found.nodes_frame().to_csv(), found.placements_frame().to_csv()] == before


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda cluster: cluster.nodes_frame(), id="nodes"),
        pytest.param(lambda cluster: cluster.placements_frame(), id="placements"),
        pytest.param(lambda cluster: cluster.utilisation(), id="utilisation"),
        pytest.param(lambda cluster: cluster.fragmentation(), id="fragmentation"),
        pytest.param(lambda cluster: cluster._repr_html_(), id="in a notebook"),
        pytest.param(lambda cluster: cluster.schedule_all([make_pod("new").build()]), id="scheduling"),
    ],
)
def test_a_cluster_of_which_something_else_is_supposed_answers_nothing(ask: Callable[[Cluster], object]) -> None:
    found = cluster()
    with found.suppose() as world:
        with pytest.raises(SuppositionError, match="something is supposed of it"):
            ask(found)
        ask(world)
    with pytest.raises(SuppositionError, match="what was supposed has been taken back"):
        ask(world)

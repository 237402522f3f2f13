"""A cluster that is supposed: what may be used when, what foreign plugins are asked, and what is drawn."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
import pytest

from stowplan.app.cluster import Chosen, Cluster, Refused
from stowplan.app.supposition import SuppositionError
from stowplan.framework import Filter, FilterNode, Nodes, Permit, PostBind, Reject, Reserve, Undoable, reject
from stowplan.model.pod import Pod
from stowplan.testing import make_node, make_pod

HERE = "tests.unit.app.test_supposition"


class Ledger(Reserve):
    """Knows by itself who has which node."""

    def __init__(self) -> None:
        self.parked: dict[str, str] = {}

    def reserve(self, pod: Pod, node_name: str) -> None:
        self.parked[pod.key] = node_name

    def unreserve(self, pod: Pod, node_name: str) -> None:
        self.parked.pop(pod.key, None)


class Parking(Ledger, FilterNode):
    """Has one place on every node."""

    def filter_node(self, pod: Pod, node: Any, state: Any) -> str | None:
        return "no place to park" if node.name in self.parked.values() else None

    def sign(self, pod: Pod) -> Hashable:
        return tuple(sorted(self.parked.items()))


class Tolling(Filter, Undoable):
    """Lets pods pass until so many were asked about, and can be set back."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        self.asked.append(pod.key)
        yield reject(np.zeros(len(nodes), dtype=bool), "never")

    def save_state(self) -> list[str]:
        return list(self.asked)

    def restore_state(self, saved: list[str]) -> None:
        self.asked = saved


class Holding(Permit, PostBind):
    """Acts only after a node is chosen."""

    def permit(self, pod: Pod, node_name: str) -> None: ...

    async def post_bind(self, pod: Pod, node_name: str) -> None: ...


def cluster_with(*plugins: str, **options: Any) -> Cluster:
    enabled = [{"name": f"{HERE}:{name}"} for name in plugins]
    profile = {"schedulerName": "default-scheduler", "plugins": {"multiPoint": {"enabled": enabled}}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    cluster = Cluster(config, **options)
    cluster.add_all(make_node(name).capacity(cpu="4", memory="8Gi", pods=10).build() for name in ("a", "b"))
    return cluster


def plugin_of(cluster: Cluster, kind: type) -> Any:
    return next(one for one in cluster.profiles["default-scheduler"].foreign if isinstance(one, kind))


def pod(name: str, cpu: str = "1") -> Pod:
    return make_pod(name).requests(cpu=cpu).build()


def test_a_cluster_cannot_be_used_while_something_is_supposed_of_it() -> None:
    cluster = cluster_with()
    with cluster.suppose() as world:
        for use in (lambda: cluster.schedule(pod("p")), lambda: cluster.add(pod("p")), cluster.suppose().__enter__):
            with pytest.raises(SuppositionError, match="use what `suppose` gave"):
                use()
        world.schedule(pod("p"))
    assert isinstance(cluster.schedule(pod("p")), Chosen)


def test_what_was_supposed_cannot_be_used_when_it_is_over() -> None:
    cluster = cluster_with()
    with cluster.suppose() as world:
        pass
    with pytest.raises(SuppositionError, match="suppose it again"):
        world.schedule(pod("p"))


def test_it_is_taken_back_when_something_goes_wrong_inside() -> None:
    cluster = cluster_with()

    def fail() -> None:
        with cluster.suppose() as world:
            world.schedule(pod("p", cpu="4"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(cluster.cache.pods()) == []
    assert isinstance(cluster.schedule(pod("q", cpu="4")), Chosen)


def test_a_plugin_that_reserves_is_asked_and_gives_it_back() -> None:
    cluster = cluster_with("Parking")
    parking = plugin_of(cluster, Parking)
    with cluster.suppose() as world:
        assert {world.schedule(pod(name)).node_name for name in ("p", "q")} == {"a", "b"}
        assert isinstance(world.schedule(pod("r")), Refused)
    assert parking.parked == {}


def test_who_was_evicted_inside_has_its_place_again() -> None:
    cluster = cluster_with("Ledger")
    parking = plugin_of(cluster, Ledger)
    for name in ("p", "q"):
        cluster.schedule(make_pod(name).requests(cpu="4").build())
    before = dict(parking.parked)
    with cluster.suppose() as world:
        result = world.schedule(make_pod("urgent").requests(cpu="4").priority(10).build())
        assert isinstance(result, Chosen)
        assert len(result.victims) == 1
        assert parking.parked != before
    assert parking.parked == before


def test_state_of_its_own_is_restored() -> None:
    cluster = cluster_with("Tolling")
    tolling = plugin_of(cluster, Tolling)
    cluster.schedule(pod("before"))
    with cluster.suppose() as world:
        world.schedule(pod("inside", cpu="2"))
        assert "default/inside" in tolling.asked
    assert tolling.asked == ["default/before"]


def test_who_acts_only_later_is_named() -> None:
    assert cluster_with("Holding", "Parking").not_taking_part == ("plugin Holding",)


def test_draws_come_to_the_same_as_if_nothing_had_been_asked() -> None:
    def placed(asks: bool) -> list[str | None]:
        cluster = cluster_with(seed=7)
        if asks:
            with cluster.suppose() as world:
                for number in range(5):
                    world.schedule(pod(f"inside-{number}", cpu="100m"))
        return [cluster.schedule(pod(f"p{number}", cpu="100m")).node_name for number in range(12)]

    assert placed(asks=True) == placed(asks=False)


def test_inside_the_draws_are_those_that_come_next() -> None:
    cluster = cluster_with(seed=3)
    names = [f"p{number}" for number in range(8)]
    with cluster.suppose() as world:
        foreseen = [world.schedule(pod(name, cpu="100m")).node_name for name in names]
    assert [cluster.schedule(pod(name, cpu="100m")).node_name for name in names] == foreseen

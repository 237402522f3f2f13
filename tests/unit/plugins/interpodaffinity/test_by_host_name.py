"""With the gate for it, required terms over host names are about the node itself: "one" and "two" bear one name."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.config import feature_gates
from stowplan.framework.contract import SKIP
from stowplan.model import decode
from stowplan.model.pod import Pod
from stowplan.plugins.interpodaffinity.plugin import InterPodAffinity
from stowplan.testing import LocalHandle
from tests.unit.plugins.small_cluster import SmallCluster, make_node

HOST, ZONE = "kubernetes.io/hostname", "zone"
ON, OFF = "InterPodAffinityHostnameFastPath=true", ""
NEAR, AWAY = "podAffinity", "podAntiAffinity"


def pod(app: str, side: str = "", *terms: tuple[str, str]) -> Pod:
    """Make a pod with terms, each a topology key and the app that it is about."""
    written = [{"topologyKey": key, "labelSelector": {"matchLabels": {"app": about}}} for key, about in terms]
    affinity = {side: {"requiredDuringSchedulingIgnoredDuringExecution": written}} if side else {}
    metadata = {"name": app, "namespace": "default", "uid": app, "labels": {"app": app}}
    return decode.convert(Pod, {"metadata": metadata, "spec": {"affinity": affinity}})


def small_cluster() -> SmallCluster:
    return SmallCluster(
        make_node("one", labels={HOST: "same", ZONE: "z"}),
        make_node("two", labels={HOST: "same", ZONE: "z"}),
        make_node("other", labels={HOST: "other", ZONE: "z"}),
        make_node("nameless", labels={ZONE: "z"}),
    )


def plugin(gates: str) -> InterPodAffinity:
    handle = LocalHandle()
    handle.feature_gates = feature_gates.parse(gates)
    return InterPodAffinity(handle)


def refused(incoming: Pod, placed: dict[str, Pod], gates: str) -> list[str]:
    cluster = small_cluster()
    for node_name, one in placed.items():
        cluster.place(node_name, one)
    return list(cluster.refusals(plugin(gates), incoming))


@pytest.mark.parametrize(
    ("incoming", "placed", "by_node", "by_name"),
    [
        pytest.param(pod("db", AWAY, (HOST, "web")), {"one": pod("web")}, ["one"], ["one", "two"], id="anti-affinity"),
        pytest.param(
            pod("web"), {"one": pod("db", AWAY, (HOST, "web"))}, ["one"], ["one", "two"], id="that of a placed pod"
        ),
        pytest.param(
            pod("db", NEAR, (HOST, "web")),
            {"one": pod("web")},
            ["two", "other", "nameless"],
            ["other", "nameless"],
            id="affinity",
        ),
        pytest.param(
            pod("db", NEAR, (HOST, "web"), (ZONE, "web")),
            {"one": pod("web")},
            ["other", "nameless"],
            ["other", "nameless"],
            id="but not affinity with a term over something else",
        ),
        pytest.param(
            pod("db", AWAY, (HOST, "web"), (ZONE, "cache")),
            {"one": pod("web"), "nameless": pod("web")},
            ["one"],
            ["one", "two"],
            id="whatever other terms of anti-affinity there are",
        ),
        pytest.param(
            pod("db", NEAR, (HOST, "db")),
            {"nameless": pod("db")},
            ["one", "two", "other", "nameless"],
            ["nameless"],
            id="a companion on a node without a name is one, too: the pod is not the first of its kind",
        ),
        pytest.param(
            pod("db", NEAR, (HOST, "db")), {}, ["nameless"], ["nameless"], id="the first of its kind needs a name"
        ),
    ],
)
def test_who_is_near(incoming: Pod, placed: dict[str, Pod], by_node: list[str], by_name: list[str]) -> None:
    assert sorted(refused(incoming, placed, ON)) == sorted(by_node)
    assert sorted(refused(incoming, placed, OFF)) == sorted(by_name)


@pytest.mark.parametrize(
    ("gates", "term", "is_skipped"),
    [
        pytest.param(ON, (HOST, "cache"), False, id="a term over host names, about whomever, has nodes looked at"),
        pytest.param(ON, (ZONE, "cache"), True, id="one over another label does not"),
        pytest.param(OFF, (HOST, "cache"), True, id="without the gate only one about the pod does"),
    ],
)
def test_when_it_is_skipped(gates: str, term: tuple[str, str], is_skipped: bool) -> None:
    cluster = small_cluster()
    cluster.place("nameless", pod("db", AWAY, term))
    answer: Any = plugin(gates).pre_filter(pod("web"), cluster.nodes)
    assert (answer is SKIP) == is_skipped


def test_a_pod_supposed_to_come_is_looked_at_on_its_node() -> None:
    cluster = small_cluster()
    supposed = cluster.suppose("two", added=(pod("db", AWAY, (HOST, "web")),))
    cluster.place("other", pod("db", AWAY, (HOST, "cache")))
    assert list(cluster.refusals(plugin(ON), pod("web"), supposed)) == ["two"]


def test_a_pod_supposed_to_go_is_missed_on_its_node() -> None:
    cluster = small_cluster()
    leaving = pod("web")
    cluster.place("one", leaving)
    supposed = cluster.suppose("one", gone=(leaving,))
    assert list(cluster.refusals(plugin(ON), pod("db", AWAY, (HOST, "web")), supposed)) == []

"""Kept answers follow what plugins look at beside pods and nodes: namespaces, services, owners, images elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.engine.scheduling_cycle import find_feasible, rank
from stowplan.model.affinity import Affinity, PodAffinity, PodAffinityTerm
from stowplan.model.kinds import Namespace, ReplicaSet, Service, ServiceSpec, SetSpec
from stowplan.model.meta import LabelSelector, NamespacedMeta, ObjectMeta
from stowplan.model.pod import Pod
from stowplan.testing import make_node, make_pod
from tests.unit.plugins.volumes import storage

MEBIBYTE = 1024 * 1024
META = NamespacedMeta(name="web")
WEB = make_pod("web").label("app", "web")


def cluster_of_two() -> Cluster:
    cluster = Cluster()
    cluster.add_all(make_node(name).capacity(cpu=4, memory="8Gi").build() for name in ("a", "b"))
    return cluster


def refused(cluster: Cluster, pod: Pod) -> list[str]:
    profile, table = cluster.profile_of(pod), cluster.cache.table
    found = find_feasible(cluster.field, profile, pod, table.shape_of(pod))
    return sorted(found.verdict.rejected)


def scores(cluster: Cluster, pod: Pod, plugin: str) -> list[int] | None:
    """Return the normalised scores of a plugin by row, None if it had nothing to say."""
    profile, table = cluster.profile_of(pod), cluster.cache.table
    found = find_feasible(cluster.field, profile, pod, table.shape_of(pod))
    scored = rank(cluster.field, profile, pod, found).by_plugin().get(plugin)
    return None if scored is None else scored[1].tolist()


def keeps_away_from(team: str) -> Pod:
    """Make a pod that cannot stand pods from namespaces of a team."""
    term = PodAffinityTerm(
        topology_key="kubernetes.io/hostname",
        label_selector=LabelSelector(match_labels={"app": "web"}),
        namespace_selector=LabelSelector(match_labels={"team": team}),
    )
    away = PodAffinity(required_during_scheduling_ignored_during_execution=(term,))
    pod = make_pod("shy").build()
    return type(pod)(
        metadata=pod.metadata,
        spec=type(pod.spec)(containers=pod.spec.containers, affinity=Affinity(pod_anti_affinity=away)),
    )


def namespace(team: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name="shop", labels={"team": team}))


def test_the_labels_of_a_namespace_decide_whom_a_pod_keeps_away_from() -> None:
    cluster, pod = cluster_of_two(), keeps_away_from("red")
    cluster.add(make_pod("web", "shop").label("app", "web").on("a").build())
    assert refused(cluster, pod) == []
    cluster.add(namespace("red"))
    assert refused(cluster, pod) == ["a"]
    cluster.add(namespace("blue"))
    assert refused(cluster, pod) == []
    cluster.add(namespace("red"))
    cluster.remove(namespace("red"))
    assert refused(cluster, pod) == []


def test_the_labels_of_its_own_namespace_decide_who_keeps_away_from_a_pod() -> None:
    cluster, pod = cluster_of_two(), make_pod("web", "shop").label("app", "web").build()
    cluster.cache.assume(keeps_away_from("red"), "b")
    assert refused(cluster, pod) == []
    cluster.add(namespace("red"))
    assert refused(cluster, pod) == ["b"]


@pytest.mark.parametrize(
    ("pod", "found"),
    [
        pytest.param(WEB.build(), Service(metadata=META, spec=ServiceSpec(selector={"app": "web"})), id="a service"),
        pytest.param(
            WEB.owner("ReplicaSet", "web").build(),
            ReplicaSet(metadata=META, spec=SetSpec(selector=LabelSelector(match_labels={"app": "web"}))),
            id="a replica set",
        ),
    ],
)
def test_a_pod_is_spread_once_it_is_known_whose_it_is(pod: Pod, found: Any) -> None:
    cluster = cluster_of_two()
    cluster.add(WEB.name("there").on("a").build())
    assert scores(cluster, pod, "PodTopologySpread") is None
    cluster.add(found)
    # The fewer siblings the better; a node without any gets all.
    spread = scores(cluster, pod, "PodTopologySpread")
    assert spread is not None
    assert spread[0] < spread[1] == 100
    cluster.remove(found)
    assert scores(cluster, pod, "PodTopologySpread") is None


def test_an_image_draws_more_once_another_node_holds_it_too() -> None:
    cluster, pod = cluster_of_two(), make_pod("web").image("app:v1").build()

    def holding(name: str) -> None:
        cluster.add(make_node(name).capacity(cpu=4, memory="8Gi").image("app:v1", 1000 * MEBIBYTE).build())

    assert scores(cluster, pod, "ImageLocality") == [0, 0]
    holding("a")
    # Half of the nodes hold it: (500 - 23) of (1000 - 23) MiB.
    assert scores(cluster, pod, "ImageLocality") == [48, 0]
    holding("b")
    assert scores(cluster, pod, "ImageLocality") == [100, 100]


def test_an_image_draws_less_once_there_is_a_node_more_without_it() -> None:
    cluster = cluster_of_two()
    cluster.add(make_node("c").capacity(cpu=4, memory="8Gi").image("db:1", 900 * MEBIBYTE).build())
    pod = make_pod("asked").image("db:1").build()
    for _ in range(3):
        # 300 of 900 MiB, as one of three holds it: (300 - 23) * 100 // (1000 - 23).
        assert scores(cluster, pod, "ImageLocality") == [0, 0, 28]
    cluster.add(make_node("d").capacity(cpu=4, memory="8Gi").build())
    assert scores(cluster, pod, "ImageLocality") == [0, 0, 20, 0]


@pytest.mark.parametrize("limit", [pytest.param(1, id="limited"), pytest.param(None, id="without a limit")])
def test_of_pods_whose_claims_differ_one_may_share_a_volume_with_a_nominated_pod(limit: int | None) -> None:
    cluster = Cluster()
    bound = storage.bound("a", "b", "shared")
    annotations = {"pv.kubernetes.io/bind-completed": "yes"}
    cluster.add_all(replace(one, metadata=replace(one.metadata, annotations=annotations)) for one in bound)
    cluster.add_all([make_node("n").capacity(cpu="4").build(), storage.csi_node("n", ebs=limit)])
    waiting = storage.pod("waiting", "shared")
    cluster.add(replace(waiting, status=replace(waiting.status, nominated_node_name="n")))
    expected = {"a": [] if limit is None else ["n"], "b": [] if limit is None else ["n"], "shared": []}
    for claim in ("a", "b", "shared", "a", "shared", "shared", "b"):
        assert refused(cluster, storage.pod(f"with-{claim}", claim)) == expected[claim]

"""`LocalCluster`: the cluster of `stowplan up` in a program, by itself, with the official client, and without async."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes
import pytest

from stowplan.local import LocalCluster, LocalClusterError

OFFICIAL: Any = kubernetes


def pod(name: str, cpu: str = "1") -> dict[str, Any]:
    container = {"name": "main", "image": "web", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def test_pods_are_placed_or_refused_when_it_is_settled() -> None:
    async def story() -> None:
        async with LocalCluster(pod("web"), nodes=2) as cluster:
            first = await cluster.settled()
            assert (first.is_good, [one.pod for one in first.placements]) == (True, ["shop/web"])
            await cluster.apply(pod("large", cpu="99"))
            second = await cluster.settled()
            assert not second.is_good
            assert [one.pod for one in second.refused] == ["shop/large"]
            assert second.refused[0].message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
            assert cluster.placements()["shop/large"] is None
            assert cluster.placements()["shop/web"] in ("node-0001", "node-0002")
        with pytest.raises(LocalClusterError, match="the cluster is not up"):
            cluster.placements()

    asyncio.run(story())


def test_a_copy_of_one_places_pods_of_its_own_beside_those_that_were_copied(tmp_path: Path) -> None:
    snapshot = tmp_path / "prod.yaml"
    names = [f"shop/web-{number}" for number in range(9)]
    with LocalCluster.in_thread(*(pod(key.partition("/")[2]) for key in names), nodes=2) as cluster:
        assert cluster.settled().is_good
        taken = subprocess.run(
            [sys.executable, "-m", "stowplan", "snapshot", "--kubeconfig", str(cluster.kubeconfig)],
            capture_output=True,
            check=True,
        )
        snapshot.write_bytes(taken.stdout)
    others = [f"shop/other-{number}" for number in range(9)]
    with LocalCluster.in_thread(*(pod(key.partition("/")[2]) for key in others), copied_from=snapshot) as copy:
        assert [one.pod for one in copy.settled().placements] == others
        assert set(copy.placements()) == {*names, *others}


def test_without_async_the_official_client_reaches_it_by_its_kubeconfig() -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: only}\nstatus: {allocatable: {cpu: 4, pods: 10}}\n"
    with LocalCluster.in_thread(node, pod("web")) as cluster:
        api = OFFICIAL.client.CoreV1Api(OFFICIAL.config.new_client_from_config(str(cluster.kubeconfig)))
        assert [one.metadata.name for one in api.list_node().items] == ["only"]
        assert cluster.settled().is_good
        assert api.read_namespaced_pod("web", "shop").spec.node_name == "only"
        kubeconfig = cluster.kubeconfig
    assert not kubeconfig.exists()


def test_what_cannot_be_used_is_refused_and_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(LocalClusterError, match=r"none\.yaml: cannot be read: No such file or directory; check the"):
        LocalCluster.in_thread(tmp_path / "none.yaml").__enter__()
    with (
        LocalCluster.in_thread(nodes=1) as cluster,
        pytest.raises(LocalClusterError, match=r'unknown field "spec\.cont"'),
    ):
        cluster.apply({**pod("web"), "spec": {"cont": []}})


def test_what_is_waited_for_too_long_is_named() -> None:
    async def story() -> None:
        async with LocalCluster(nodes=1) as cluster:
            await cluster.settled()
            # So many that some are not decided on yet, however fast it goes.
            await cluster.apply(*(pod(f"web-{number}", cpu="10m") for number in range(50)))
            late = "the cluster is not settled after 0 s: pods that are not decided on: "
            with pytest.raises(TimeoutError, match=rf"{late}shop/web-\d+ \("):
                await cluster.settled(0)
            assert (await cluster.settled()).is_good

    asyncio.run(story())


def test_a_cluster_is_for_one_block() -> None:
    async def twice() -> None:
        async with LocalCluster(nodes=1) as cluster:
            with pytest.raises(LocalClusterError, match="the cluster is up already; make another LocalCluster"):
                await cluster.__aenter__()
            await cluster.settled()

    asyncio.run(twice())
    with LocalCluster.in_thread(nodes=1) as over:
        pass
    for use in (over.settled, over.placements, over.apply):
        with pytest.raises(LocalClusterError, match="the cluster is not up; use it within the block"):
            use()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        pytest.param({"nodes": -1}, "nodes: Invalid value: -1: write how many there are, 0 or more", id="nodes"),
        pytest.param({"nodes": "3"}, "nodes: Invalid value: '3': write how many there are, 0 or more", id="a text"),
        pytest.param(
            {"config": {"kind": "KubeSchedulerConfiguration"}},
            "config: expected the path of a file, got dict; write it to one",
            id="config",
        ),
        pytest.param(
            {"feature_gates": "Nope=true"}, "feature_gates: unrecognized feature gate: Nope; known: AllAlpha", id="gate"
        ),
    ],
)
def test_an_option_of_a_wrong_value_is_refused_before_anything_is_started(
    options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(LocalClusterError) as refused:
        LocalCluster(**options)
    assert str(refused.value).startswith(problem)

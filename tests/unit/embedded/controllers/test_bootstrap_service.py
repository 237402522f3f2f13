"""The service that stands for the API server itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stowplan.embedded.controllers.start import ControllerOptions, announce
from tests.unit.embedded.controllers.small_cluster import SmallCluster, tell
from tests.unit.embedded.given import resource

SERVICES = resource("services")
ENDPOINTS = resource("endpoints")
SLICES = resource("endpointslices.discovery.k8s.io")


async def announced(cluster: SmallCluster, host: str) -> list[asyncio.Task[None]]:
    tasks = announce(cluster.api, ControllerOptions(now=cluster.now), host, 6443)
    await cluster.pass_time(1)
    return tasks


def stop(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()


def test_it_is_the_one_that_a_real_api_server_makes() -> None:
    async def story(cluster: SmallCluster) -> None:
        tasks = await announced(cluster, "192.0.2.7")
        service = cluster.get(SERVICES, "kubernetes")
        assert service["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}
        assert service["spec"]["clusterIP"] == "10.96.0.1"
        assert service["spec"]["ports"] == [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]
        assert "selector" not in service["spec"]
        stop(tasks)

    tell(story, nodes=0)


def test_its_endpoint_is_where_the_server_listens() -> None:
    async def story(cluster: SmallCluster) -> None:
        tasks = await announced(cluster, "192.0.2.7")
        port = {"name": "https", "port": 6443, "protocol": "TCP"}
        assert cluster.get(ENDPOINTS, "kubernetes")["subsets"] == [
            {"addresses": [{"ip": "192.0.2.7"}], "ports": [port]}
        ]
        found = cluster.get(SLICES, "kubernetes")
        assert found["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}
        assert found["endpoints"] == [{"addresses": ["192.0.2.7"], "conditions": {"ready": True}}]
        assert (found["addressType"], found["ports"]) == ("IPv4", [port])
        stop(tasks)

    tell(story, nodes=0)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "0.0.0.0"])
def test_an_address_that_nobody_else_can_call_is_not_offered(host: str) -> None:
    async def story(cluster: SmallCluster) -> None:
        tasks = await announced(cluster, host)
        assert "subsets" not in cluster.get(ENDPOINTS, "kubernetes")
        assert cluster.get(SLICES, "kubernetes")["endpoints"] == []
        stop(tasks)

    tell(story, nodes=0)


@pytest.mark.parametrize("of", [SERVICES, ENDPOINTS, SLICES], ids=lambda of: of.kind)
def test_what_is_deleted_comes_back(of: Any) -> None:
    async def story(cluster: SmallCluster) -> None:
        tasks = await announced(cluster, "192.0.2.7")
        uid = cluster.get(of, "kubernetes")["metadata"]["uid"]
        cluster.delete(of, "kubernetes")
        await cluster.pass_time(1)
        assert cluster.get(of, "kubernetes")["metadata"]["uid"] != uid
        stop(tasks)

    tell(story, nodes=0)


def test_ports_that_somebody_changed_are_put_right_and_labels_are_left() -> None:
    async def story(cluster: SmallCluster) -> None:
        tasks = await announced(cluster, "192.0.2.7")

        def spoil(service: dict[str, Any]) -> None:
            service["metadata"]["labels"]["mine"] = "yes"
            service["spec"]["ports"][0]["targetPort"] = 1

        cluster.edit(SERVICES, "kubernetes", spoil)
        await cluster.pass_time(1)
        service = cluster.get(SERVICES, "kubernetes")
        assert service["spec"]["ports"][0]["targetPort"] == 6443
        assert service["metadata"]["labels"]["mine"] == "yes"
        stop(tasks)

    tell(story, nodes=0)


def test_a_server_that_listens_elsewhere_after_a_restart_says_so() -> None:
    async def story(cluster: SmallCluster) -> None:
        stop(await announced(cluster, "192.0.2.7"))
        tasks = await announced(cluster, "192.0.2.8")
        assert cluster.get(ENDPOINTS, "kubernetes")["subsets"][0]["addresses"] == [{"ip": "192.0.2.8"}]
        assert cluster.get(SLICES, "kubernetes")["endpoints"][0]["addresses"] == ["192.0.2.8"]
        stop(tasks)

    tell(story, nodes=0)

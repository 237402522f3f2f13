"""What follows from the state of a node: taints, evictions, the removal of pods that nobody runs."""

from typing import Any

import pytest

from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import SmallCluster, ready_count, tell, template
from tests.unit.embedded.given import NODES, PODS


def taints(cluster: SmallCluster, name: str) -> list[tuple[str, str]]:
    found = cluster.get(NODES, name)["spec"].get("taints") or []
    return sorted((taint["key"], taint["effect"]) for taint in found)


def set_condition(cluster: SmallCluster, kind: str, status: str) -> None:
    node = cluster.get(NODES, "node-0")
    kept = [each for each in node["status"]["conditions"] if each["type"] != kind]
    node["status"]["conditions"] = [*kept, {"type": kind, "status": status}]
    cluster.api.update(NODES, "", "node-0", node, subresource="status")


def taint_node(cluster: SmallCluster, **taint: str) -> None:
    cluster.edit(
        NODES, "node-0", lambda node: node["spec"].update(taints=[{"key": "gpu", "effect": "NoExecute", **taint}])
    )


def pod(**more: Any) -> Object:
    return {**template()["spec"], **more}


def test_a_new_node_is_ready_and_has_no_taint() -> None:
    async def story(cluster: SmallCluster) -> None:
        assert taints(cluster, "node-0") == []

    tell(story)


def test_cordoning_taints_the_node_and_uncordoning_lifts_that() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.edit(NODES, "node-0", lambda node: node["spec"].update(unschedulable=True))
        await cluster.pass_time(0.1)
        assert taints(cluster, "node-0") == [("node.kubernetes.io/unschedulable", "NoSchedule")]
        cluster.edit(NODES, "node-0", lambda node: node["spec"].update(unschedulable=False))
        await cluster.pass_time(0.1)
        assert taints(cluster, "node-0") == []

    tell(story)


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        pytest.param(
            "Ready",
            "False",
            [("node.kubernetes.io/not-ready", "NoExecute"), ("node.kubernetes.io/not-ready", "NoSchedule")],
            id="not ready",
        ),
        pytest.param(
            "Ready",
            "Unknown",
            [("node.kubernetes.io/unreachable", "NoExecute"), ("node.kubernetes.io/unreachable", "NoSchedule")],
            id="unreachable",
        ),
        pytest.param("DiskPressure", "True", [("node.kubernetes.io/disk-pressure", "NoSchedule")], id="short of disk"),
    ],
)
def test_conditions_taint_the_node(kind: str, status: str, expected: list[tuple[str, str]]) -> None:
    async def story(cluster: SmallCluster) -> None:
        set_condition(cluster, kind, status)
        await cluster.pass_time(0.1)
        assert taints(cluster, "node-0") == expected

    tell(story)


def test_taints_of_others_stay() -> None:
    async def story(cluster: SmallCluster) -> None:
        mine = [{"key": "own", "value": "a", "effect": "NoSchedule"}]
        cluster.edit(NODES, "node-0", lambda node: node["spec"].update(taints=mine, unschedulable=True))
        await cluster.pass_time(0.1)
        assert taints(cluster, "node-0") == [("node.kubernetes.io/unschedulable", "NoSchedule"), ("own", "NoSchedule")]

    tell(story)


def test_pods_of_a_node_that_is_not_ready_are_not_ready_and_go_after_five_minutes() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(PODS, "web", pod())
        await cluster.pass_time(2)
        set_condition(cluster, "Ready", "False")
        await cluster.pass_time(1)
        assert ready_count(cluster.pods()) == 0
        await cluster.pass_time(290)
        assert cluster.exists(PODS, "web")
        await cluster.pass_time(15)
        assert not cluster.exists(PODS, "web")

    tell(story, nodes=1)


def test_pods_are_ready_again_with_their_node() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(PODS, "web", pod())
        await cluster.pass_time(2)
        set_condition(cluster, "Ready", "False")
        await cluster.pass_time(1)
        set_condition(cluster, "Ready", "True")
        await cluster.pass_time(1)
        assert ready_count(cluster.pods()) == 1
        await cluster.pass_time(600)
        assert cluster.exists(PODS, "web")

    tell(story, nodes=1)


def test_a_pod_that_does_not_tolerate_the_taint_goes_at_once() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(PODS, "web", pod())
        await cluster.pass_time(2)
        taint_node(cluster)
        await cluster.pass_time(1)
        assert not cluster.exists(PODS, "web")
        assert cluster.events("TaintManagerEviction") == ["Marking for deletion Pod default/web"]

    tell(story, nodes=1)


def test_a_pod_that_tolerates_it_for_a_while_goes_after_that_while() -> None:
    async def story(cluster: SmallCluster) -> None:
        patient = {"key": "gpu", "operator": "Exists", "effect": "NoExecute"}
        cluster.create(PODS, "patient", pod(tolerations=[{**patient, "tolerationSeconds": 60}]))
        cluster.create(PODS, "stoic", pod(tolerations=[patient]))
        await cluster.pass_time(2)
        taint_node(cluster)
        await cluster.pass_time(55)
        assert cluster.exists(PODS, "patient")
        await cluster.pass_time(10)
        assert not cluster.exists(PODS, "patient")
        await cluster.pass_time(600)
        assert cluster.exists(PODS, "stoic")

    tell(story, nodes=1)


def test_a_taint_that_is_lifted_in_time_harms_nobody() -> None:
    async def story(cluster: SmallCluster) -> None:
        patient = {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
        cluster.create(PODS, "patient", pod(tolerations=[patient]))
        await cluster.pass_time(2)
        taint_node(cluster)
        await cluster.pass_time(30)
        cluster.edit(NODES, "node-0", lambda node: node["spec"].update(taints=[]))
        await cluster.pass_time(300)
        assert cluster.exists(PODS, "patient")

    tell(story, nodes=1)


def test_pods_of_a_node_that_is_gone_are_removed_after_a_while() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(PODS, "web", pod())
        await cluster.pass_time(2)
        cluster.delete(NODES, "node-0")
        await cluster.pass_time(3)
        assert cluster.exists(PODS, "web")
        await cluster.pass_time(3)
        assert not cluster.exists(PODS, "web")

    tell(story, nodes=1, gone_node_seconds=5.0)


def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(PODS, "web", pod())
        await cluster.pass_time(2)
        cluster.delete(NODES, "node-0")
        await cluster.pass_time(3)
        cluster.add_node("node-0")
        await cluster.pass_time(60)
        assert cluster.get(PODS, "web")["status"]["phase"] == "Running"

    tell(story, nodes=1, gone_node_seconds=5.0)

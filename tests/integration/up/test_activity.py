"""What `stowplan up` tells of a cluster while it runs, read off a cluster in this process."""

import asyncio
import re
from typing import Any

from stowplan.local import LocalCluster
from stowplan.local.activity import Activity, ActivityCounter, Utilisation


def pod(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "web", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    metadata: dict[str, Any] = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def replica_set(name: str, replicas: int, cpu: str) -> dict[str, Any]:
    template = pod(name, cpu)
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": template["metadata"],
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
        },
    }


PODS = (
    pod("web-1", "4"),
    pod("web-2", "4", nodeSelector={"kubernetes.io/hostname": "node-0002"}),
    *(pod(f"huge-{number}", "64") for number in range(3)),
    replica_set("db", 2, "64"),
    pod("choosy", "1", nodeSelector={"disk": "ssd"}),
    pod("held", "1", schedulingGates=[{"name": "example.com/later"}]),
)


def activity_of(*manifests: dict[str, Any]) -> Activity:
    """Return what goes on in a cluster of two nodes when all pods are decided on."""

    async def story() -> Activity:
        async with LocalCluster(nodes=2) as cluster:
            counter = ActivityCounter(cluster._open_cluster)
            assert counter.count().pods.alike == []
            await cluster.apply(*manifests)
            await cluster.settled()
            return counter.count(is_last=True)

    return asyncio.run(story())


def test_it_tells_who_waits_and_why_how_full_the_cluster_is_and_what_was_decided() -> None:
    activity = activity_of(*PODS)
    # What controllers make has five letters of their own at the end.
    names = [re.sub(r"^shop/db-\w{5}$", "shop/db-xxxxx", one.pod) for one in activity.pods.alike]
    # Those who were refused come first, of them the largest number; who is held back comes last.
    assert names == ["shop/huge-0", "shop/db-xxxxx", "shop/choosy", "shop/held"]
    found = [(one.pods, one.place) for one in activity.pods.alike]
    assert found == [(3, "unschedulable"), (2, "unschedulable"), (1, "unschedulable"), (1, "gated")]
    why = {one.pod: one.why for one in activity.pods.alike}
    assert why["shop/huge-0"].startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert why["shop/held"] == "waiting for scheduling gates: [example.com/later]"
    assert activity.pods.waiting == {"unschedulable": 6, "gated": 1}
    assert activity.utilisation == [
        Utilisation("cpu", 8000, 32000),
        Utilisation("memory", 2 << 30, 128 << 30),
        Utilisation("pods", 2, 220),
    ]
    assert (activity.nodes, activity.bound, activity.schedules) == (2, 2, True)
    decided = {one.pod: (one.node, one.text) for one in activity.last}
    assert decided["shop/web-2"] == ("node-0002", "the only node found")
    node, text = decided["shop/web-1"]
    assert node in ("node-0001", "node-0002")
    assert text.startswith("best of 2 found, score ")
    assert decided["shop/choosy"][0] == ""
    assert "2 node(s) didn't match Pod's node affinity/selector" in decided["shop/choosy"][1]


def test_room_that_is_made_for_a_pod_is_told_of() -> None:
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 9}
    fills = [pod(f"fill-{number}", "12") for number in range(2)]

    async def story() -> Activity:
        async with LocalCluster(nodes=2) as cluster:
            counter = ActivityCounter(cluster._open_cluster)
            await cluster.apply(urgent, *fills)
            await cluster.settled()
            await cluster.apply(pod("first", "10", priorityClassName="urgent"))
            await cluster.settled()
            return counter.count(is_last=True)

    last = [(one.pod, one.node, one.text) for one in asyncio.run(story()).last if one.pod == "shop/first"]
    (bound, preempting) = last
    assert bound == ("shop/first", bound[1], "room was made for it there")
    assert preempting[2].startswith(f"makes room on {bound[1]}: 0/2 nodes are available: 2 Insufficient cpu.")

"""Nodes are reported ready, and their leases kept."""

from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import SmallCluster, condition, tell
from tests.unit.embedded.given import NODES, resource

LEASES = resource("leases.coordination.k8s.io")


def lease(cluster: SmallCluster, name: str) -> Object:
    return cluster.get(LEASES, name, "kube-node-lease")


def test_a_new_node_says_what_a_kubelet_would() -> None:
    async def story(cluster: SmallCluster) -> None:
        node = cluster.get(NODES, "node-0")
        assert condition(node, "Ready") == {
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "message": "kubelet is posting ready status",
        }
        assert condition(node, "DiskPressure")["status"] == "False"
        assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.37.1"
        assert {each["type"] for each in node["status"]["addresses"]} == {"InternalIP", "Hostname"}

    tell(story)


def test_what_a_node_says_of_itself_stays() -> None:
    async def story(cluster: SmallCluster) -> None:
        broken = {"type": "Ready", "status": "False", "reason": "KubeletNotReady"}
        status = {"conditions": [broken], "addresses": [{"type": "InternalIP", "address": "192.0.2.7"}]}
        cluster.api.create(NODES, "", {"metadata": {"name": "own"}, "status": status})
        await cluster.pass_time(60)
        node = cluster.get(NODES, "own")
        assert condition(node, "Ready")["reason"] == "KubeletNotReady"
        assert node["status"]["addresses"] == [{"type": "InternalIP", "address": "192.0.2.7"}]

    tell(story)


def test_leases_are_renewed_at_the_interval_and_only_they_are_written() -> None:
    async def story(cluster: SmallCluster) -> None:
        node_version = cluster.get(NODES, "node-0")["metadata"]["resourceVersion"]
        first = lease(cluster, "node-0")
        assert first["spec"]["holderIdentity"] == "node-0"
        assert first["spec"]["leaseDurationSeconds"] == 40
        assert first["metadata"]["ownerReferences"][0]["name"] == "node-0"
        await cluster.pass_time(60)
        renewed = lease(cluster, "node-0")["spec"]["renewTime"]
        assert "2026-01-01T12:00:49.000000Z" <= renewed <= "2026-01-01T12:01:01.000000Z"
        assert cluster.get(NODES, "node-0")["metadata"]["resourceVersion"] == node_version

    tell(story, heartbeat_seconds=10.0)


def test_with_very_many_nodes_each_lease_is_renewed_less_often_and_holds_longer() -> None:
    async def story(cluster: SmallCluster) -> None:
        await cluster.pass_time(5)
        before = cluster.api.store.version
        await cluster.pass_time(4.5)
        # A hundred leases a second, and nothing else.
        assert cluster.api.store.version - before <= 500
        assert lease(cluster, "node-0")["spec"]["leaseDurationSeconds"] == 48

    tell(story, nodes=1200, heartbeat_seconds=10.0)


def test_the_lease_goes_with_its_node() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.delete(NODES, "node-0")
        await cluster.pass_time(30)
        assert not cluster.exists(LEASES, "node-0", "kube-node-lease")
        assert cluster.exists(LEASES, "node-1", "kube-node-lease")

    tell(story)

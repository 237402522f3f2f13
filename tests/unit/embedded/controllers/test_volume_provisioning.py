"""Volumes are made for claims that ask for them, where they are needed."""

from typing import Any

import pytest

from stowplan.embedded.controllers import volume_provisioning
from stowplan.embedded.controllers.volume_provisioning import standard_class
from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import STATEFUL_SETS, SmallCluster, ready_count, tell, template
from tests.unit.embedded.controllers.storage_objects import (
    CLAIMS,
    CLASSES,
    SELECTED_NODE,
    VOLUMES,
    add_claim,
    add_class,
    add_volume,
    bound_to,
    phase,
    select_node,
)
from tests.unit.embedded.given import resource

LABELS = {
    "kubernetes.io/hostname": "host-a",
    "topology.kubernetes.io/zone": "zone-1",
    "rack": "r7",
    "disks.example.com/shelf": "s9",
}
WAITS = {"volumeBindingMode": "WaitForFirstConsumer"}
ZONES = [{"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["zone-1", "zone-2"]}]}]
RACKS = [{"matchLabelExpressions": [{"key": "rack", "values": ["r7"]}]}]


def requires(**labels: str) -> Object:
    """The node affinity of a volume that these labels lead to; two underscores stand for a slash, one for a dot."""
    expressions = [
        {"key": key.replace("__", "/").replace("_", "."), "operator": "In", "values": [value]}
        for key, value in labels.items()
    ]
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}


def volume_of(cluster: SmallCluster, claim: str) -> Object:
    return cluster.get(VOLUMES, bound_to(cluster, claim))


def test_a_claim_is_served_at_once_with_what_it_asked_for() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_class(cluster, "fast", mountOptions=["discard"])
        made = add_claim(cluster, "data", "3Gi", storageClassName="fast", volumeMode="Block")
        await cluster.pass_time(0.1)
        volume = volume_of(cluster, "data")
        reference = volume["spec"].pop("claimRef")
        assert (reference["name"], reference["uid"]) == ("data", made["metadata"]["uid"])
        name = f"pvc-{made['metadata']['uid']}"
        assert volume["metadata"]["name"] == name
        assert volume["metadata"]["annotations"] == {"pv.kubernetes.io/provisioned-by": "disks.example.com"}
        assert volume["spec"] == {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "3Gi"},
            "csi": {"driver": "disks.example.com", "volumeHandle": name},
            "mountOptions": ["discard"],
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": "fast",
            "volumeMode": "Block",
        }
        assert (phase(cluster, "data"), volume["status"]["phase"]) == ("Bound", "Bound")
        assert cluster.events("ProvisioningSucceeded") == [f"Successfully provisioned volume {name}"]

    tell(story)


@pytest.mark.parametrize(
    ("content", "affinity"),
    [
        pytest.param(
            {"provisioner": "stowplan.dev/local"}, requires(kubernetes_io__hostname="host-a"), id="ours are of a node"
        ),
        pytest.param({}, requires(topology_kubernetes_io__zone="zone-1"), id="those of others are of a zone"),
        pytest.param({"allowedTopologies": RACKS}, requires(rack="r7"), id="the class names other parts"),
    ],
)
def test_a_volume_is_made_where_its_consumer_goes(content: Object, affinity: Object) -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.add_node("a", labels=LABELS)
        add_class(cluster, "near", **WAITS, **content)
        add_claim(cluster, "data", storageClassName="near")
        await cluster.pass_time(0.1)
        assert (phase(cluster, "data"), cluster.api.list(VOLUMES)) == ("Pending", [])
        select_node(cluster, "data", "a")
        await cluster.pass_time(0.1)
        assert volume_of(cluster, "data")["spec"]["nodeAffinity"] == affinity

    tell(story)


def test_what_a_driver_says_of_a_node_comes_first() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.add_node("a", labels=LABELS)
        driver = {"name": "disks.example.com", "nodeID": "a", "topologyKeys": ["disks.example.com/shelf"]}
        cluster.create(resource("csinodes.storage.k8s.io"), "a", {"drivers": [driver]})
        add_class(cluster, "near", **WAITS)
        add_claim(cluster, "data", storageClassName="near", annotations={SELECTED_NODE: "a"})
        await cluster.pass_time(0.1)
        affinity = volume_of(cluster, "data")["spec"]["nodeAffinity"]
        assert affinity == requires(disks_example_com__shelf="s9")

    tell(story)


@pytest.mark.parametrize(
    ("node", "content"),
    [
        pytest.param("gone", {}, id="a node that is not there"),
        pytest.param("node-0", {"allowedTopologies": RACKS}, id="a node outside of what the class allows"),
    ],
)
def test_a_choice_that_cannot_be_served_is_taken_back(node: str, content: Object) -> None:
    async def story(cluster: SmallCluster) -> None:
        add_class(cluster, "near", **WAITS, **content)
        add_claim(cluster, "data", storageClassName="near", annotations={SELECTED_NODE: node})
        await cluster.pass_time(0.1)
        assert SELECTED_NODE not in cluster.get(CLAIMS, "data")["metadata"]["annotations"]
        assert (phase(cluster, "data"), cluster.api.list(VOLUMES)) == ("Pending", [])

    tell(story)


def test_a_volume_that_fits_is_taken_before_one_is_made() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_class(cluster, "fast")
        spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}
        cluster.create(VOLUMES, "spare", {**spec, "hostPath": {"path": "/a"}})
        await cluster.pass_time(0.1)
        add_claim(cluster, "data", storageClassName="fast")
        await cluster.pass_time(0.1)
        assert [volume["metadata"]["name"] for volume in cluster.api.list(VOLUMES)] == ["spare"]

    tell(story)


def test_a_volume_that_is_reserved_but_too_small_does_not_keep_one_from_being_made() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_class(cluster, "fast")
        add_volume(cluster, "small", "1Gi", claimRef={"namespace": "default", "name": "data"})
        made = add_claim(cluster, "data", "2Gi", storageClassName="fast")
        await cluster.pass_time(0.1)
        assert bound_to(cluster, "data") == f"pvc-{made['metadata']['uid']}"

    tell(story)


def test_the_volume_goes_with_its_claim() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_class(cluster, "fast")
        add_claim(cluster, "data", storageClassName="fast")
        await cluster.pass_time(0.1)
        cluster.delete(CLAIMS, "data")
        await cluster.pass_time(0.1)
        assert cluster.api.list(VOLUMES) == []

    tell(story)


def test_a_stateful_set_runs_on_volumes_of_the_default_class() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.api.create(CLASSES, "", standard_class() | {"volumeBindingMode": "Immediate"})
        wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        spec: dict[str, Any] = {
            "replicas": 2,
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": template(app="db"),
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": wanted}],
        }
        cluster.create(STATEFUL_SETS, "db", spec)
        await cluster.pass_time(5)
        assert ready_count(cluster.pods(app="db")) == 2
        assert (phase(cluster, "data-db-0"), phase(cluster, "data-db-1")) == ("Bound", "Bound")

    tell(story)


@pytest.mark.parametrize(
    ("topologies", "claims", "expected"),
    [
        pytest.param([], ["data"], [{}], id="no limits, no preference"),
        pytest.param(RACKS, ["data"], [{"rack": "r7"}], id="the only one"),
        pytest.param(
            ZONES,
            ["data-db-0", "data-db-1", "data-db-2"],
            [
                {"topology.kubernetes.io/zone": "zone-1"},
                {"topology.kubernetes.io/zone": "zone-2"},
                {"topology.kubernetes.io/zone": "zone-1"},
            ],
            id="numbered claims one after the other",
        ),
    ],
)
def test_volumes_without_a_consumer_are_spread(topologies: Any, claims: list[str], expected: list[Object]) -> None:
    chosen = [volume_provisioning.spread({"allowedTopologies": topologies}, claim) for claim in claims]
    assert chosen == expected


@pytest.mark.parametrize(
    ("topologies", "labels", "expected"),
    [
        pytest.param([], {}, True, id="no limits"),
        pytest.param(ZONES, {"topology.kubernetes.io/zone": "zone-2"}, True, id="one of the values"),
        pytest.param(ZONES, {"topology.kubernetes.io/zone": "zone-3"}, False, id="none of the values"),
        pytest.param(ZONES, {}, False, id="no such label"),
        pytest.param([*ZONES, *RACKS], {"rack": "r7"}, True, id="one of several terms"),
    ],
)
def test_where_a_class_allows_volumes(topologies: Any, labels: dict[str, str], expected: bool) -> None:
    assert volume_provisioning.allows({"allowedTopologies": topologies}, labels) is expected


@pytest.mark.parametrize("expression", [{"key": "zone"}, {"values": ["a"]}], ids=["no values", "no key"])
def test_a_topology_that_says_only_half_suits_no_node(expression: dict[str, Any]) -> None:
    storage_class = {"allowedTopologies": [{"matchLabelExpressions": [expression]}]}
    assert not volume_provisioning.allows(storage_class, {"zone": "a"})

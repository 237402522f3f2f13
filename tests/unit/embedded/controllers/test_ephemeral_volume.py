"""A volume that lives as long as its pod."""

from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import SmallCluster, tell
from tests.unit.embedded.controllers.storage_objects import (
    CLAIMS,
    VOLUMES,
    add_claim,
    add_class,
    add_pod,
    phase,
)
from tests.unit.embedded.given import PODS

TEMPLATE: Object = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "fast",
    },
}
VOLUME: Object = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}


def test_the_claim_is_named_after_pod_and_volume_and_belongs_to_the_pod() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_class(cluster, "fast")
        pod = add_pod(cluster, "web", VOLUME)
        await cluster.pass_time(2)
        claim = cluster.get(CLAIMS, "web-scratch")
        assert claim["metadata"]["labels"] == {"app": "web"}
        assert claim["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": "web",
                "uid": pod["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        assert (phase(cluster, "web-scratch"), cluster.get(PODS, "web")["status"]["phase"]) == ("Bound", "Running")

    tell(story)


def test_it_all_goes_with_the_pod() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_class(cluster, "fast")
        add_pod(cluster, "web", VOLUME)
        await cluster.pass_time(2)
        cluster.delete(PODS, "web", propagationPolicy="Foreground")
        await cluster.pass_time(2)
        assert not cluster.exists(PODS, "web")
        assert (cluster.api.list(CLAIMS), cluster.api.list(VOLUMES)) == ([], [])

    tell(story)


def test_a_claim_that_is_deleted_too_early_is_made_again() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_pod(cluster, "web", VOLUME, schedulingGates=[{"name": "wait"}])
        await cluster.pass_time(0.1)
        first = cluster.get(CLAIMS, "web-scratch")["metadata"]["uid"]
        cluster.delete(CLAIMS, "web-scratch")
        await cluster.pass_time(0.1)
        assert cluster.get(CLAIMS, "web-scratch")["metadata"]["uid"] != first

    tell(story)


def test_a_claim_of_somebody_else_is_not_taken() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_claim(cluster, "web-scratch")
        add_pod(cluster, "web", VOLUME)
        await cluster.pass_time(0.1)
        assert cluster.events("FailedBinding")[-1] == (
            'ephemeral volume scratch: PVC "default/web-scratch" was not created for pod "default/web" '
            "(pod is not owner)"
        )

    tell(story)

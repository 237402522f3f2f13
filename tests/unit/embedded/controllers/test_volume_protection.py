"""What is in use stays until it is let go."""

import pytest

from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import SmallCluster, tell
from tests.unit.embedded.controllers.storage_objects import (
    CLAIMS,
    VOLUMES,
    add_claim,
    add_pod,
    add_volume,
    volume_phase,
)
from tests.unit.embedded.given import PODS

VOLUME: Object = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}


def test_new_claims_and_volumes_are_protected() -> None:
    async def story(cluster: SmallCluster) -> None:
        assert add_claim(cluster, "data")["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
        assert add_volume(cluster, "disk")["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]

    tell(story)


def test_what_nobody_uses_goes_at_once() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_volume(cluster, "disk")
        add_claim(cluster, "other", storageClassName="none")
        await cluster.pass_time(0.1)
        cluster.delete(VOLUMES, "disk")
        cluster.delete(CLAIMS, "other")
        await cluster.pass_time(0.1)
        assert not cluster.exists(VOLUMES, "disk")
        assert not cluster.exists(CLAIMS, "other")

    tell(story)


def test_a_claim_waits_for_its_pods_and_a_volume_for_its_claim() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_volume(cluster, "disk")
        add_claim(cluster, "data")
        add_pod(cluster, "user", VOLUME)
        await cluster.pass_time(2)
        assert cluster.get(PODS, "user")["status"]["phase"] == "Running"
        cluster.delete(VOLUMES, "disk")
        cluster.delete(CLAIMS, "data")
        await cluster.pass_time(1)
        assert "deletionTimestamp" in cluster.get(CLAIMS, "data")["metadata"]
        assert volume_phase(cluster, "disk") == "Bound"
        cluster.delete(PODS, "user")
        await cluster.pass_time(1)
        assert not cluster.exists(CLAIMS, "data")
        assert not cluster.exists(VOLUMES, "disk")

    tell(story)


@pytest.mark.parametrize(
    ("spec", "is_kept"),
    [
        pytest.param({"schedulingGates": [{"name": "wait"}]}, False, id="a pod without a node does not count"),
        pytest.param({"nodeName": "node-0"}, True, id="a pod on a node does"),
    ],
)
def test_which_pods_keep_a_claim(spec: Object, is_kept: bool) -> None:
    async def story(cluster: SmallCluster) -> None:
        add_claim(cluster, "data")
        add_pod(cluster, "user", VOLUME, **spec)
        await cluster.pass_time(1)
        cluster.delete(CLAIMS, "data")
        await cluster.pass_time(0.1)
        assert cluster.exists(CLAIMS, "data") is is_kept

    tell(story)

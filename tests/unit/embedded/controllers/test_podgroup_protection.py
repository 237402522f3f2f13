"""A group of pods stays until its pods have ended."""

import pytest

from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.catalogue import Catalogue
from tests.unit.embedded.controllers.small_cluster import SmallCluster, tell
from tests.unit.embedded.given import PODS

GATES = frozenset({"GenericWorkload"})
SHORT = {"stowplan.dev/duration": "5s"}


def groups(cluster: SmallCluster) -> Resource:
    """The resource of groups as the release of the cluster serves it."""
    [first, *_] = [one for one in cluster.api.catalogue.all() if one.kind == "PodGroup"]
    return first


def add_group(cluster: SmallCluster) -> Object:
    return cluster.create(groups(cluster), "train", {"schedulingPolicy": {"gang": {"minCount": 1}}})


def add_pod(cluster: SmallCluster, name: str, group: str = "train", **metadata: Object) -> None:
    containers = [{"name": "main", "image": "app:1"}]
    spec = {"containers": containers, "restartPolicy": "Never", "schedulingGroup": {"podGroupName": group}}
    cluster.create(PODS, name, spec, **metadata)


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_a_group_goes_with_the_last_pod_that_has_not_ended(release: str) -> None:
    async def story(cluster: SmallCluster) -> None:
        assert add_group(cluster)["metadata"]["finalizers"] == ["scheduling.k8s.io/podgroup-protection"]
        add_pod(cluster, "ends", annotations=SHORT)
        add_pod(cluster, "stays")
        await cluster.pass_time(2)
        cluster.delete(groups(cluster), "train")
        await cluster.pass_time(10)
        assert cluster.get(PODS, "ends")["status"]["phase"] == "Succeeded"
        assert "deletionTimestamp" in cluster.get(groups(cluster), "train")["metadata"]
        cluster.delete(PODS, "stays")
        await cluster.pass_time(1)
        assert not cluster.exists(groups(cluster), "train")

    tell(story, catalogue=Catalogue(release, GATES))


def test_a_group_goes_when_its_last_pod_ends() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_group(cluster)
        add_pod(cluster, "ends", annotations=SHORT)
        await cluster.pass_time(2)
        cluster.delete(groups(cluster), "train")
        await cluster.pass_time(1)
        assert cluster.exists(groups(cluster), "train")
        await cluster.pass_time(10)
        assert not cluster.exists(groups(cluster), "train")

    tell(story, catalogue=Catalogue("1.37", GATES))


def test_a_group_that_nobody_names_goes_at_once() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_group(cluster)
        add_pod(cluster, "other", group="other")
        await cluster.pass_time(0.1)
        cluster.delete(groups(cluster), "train")
        await cluster.pass_time(0.1)
        assert not cluster.exists(groups(cluster), "train")

    tell(story, catalogue=Catalogue("1.37", GATES))

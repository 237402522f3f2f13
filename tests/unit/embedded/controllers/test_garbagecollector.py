"""Dependents go with their owners, before them, or are let go."""

from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import DEPLOYMENTS, REPLICA_SETS, SmallCluster, tell, template
from tests.unit.embedded.given import CONFIG_MAPS, PODS, resource

PRIORITY_CLASSES = resource("priorityclasses.scheduling.k8s.io")
DEFINITIONS = resource("customresourcedefinitions.apiextensions.k8s.io")


def deployment() -> Object:
    return {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template(app="web")}


def config_map(cluster: SmallCluster, name: str, *owners: Object, **metadata: object) -> Object:
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": each["metadata"]["name"], "uid": each["metadata"]["uid"]}
        for each in owners
    ]
    made = {"metadata": {"name": name, "namespace": "default", "ownerReferences": references, **metadata}}
    return cluster.api.create(CONFIG_MAPS, "default", made)


def test_in_the_background_the_owner_goes_first() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", deployment())
        await cluster.pass_time(3)
        cluster.delete(DEPLOYMENTS, "web", propagationPolicy="Background")
        assert not cluster.exists(DEPLOYMENTS, "web")
        await cluster.pass_time(3)
        assert cluster.api.list(REPLICA_SETS, "default") == []
        assert cluster.pods() == []

    tell(story)


def test_in_the_foreground_the_owner_waits_for_its_dependents() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", deployment())
        await cluster.pass_time(3)
        held = cluster.pods()[0]["metadata"]["name"]
        cluster.edit(PODS, held, lambda pod: pod["metadata"].update(finalizers=["example.com/hold"]))
        cluster.delete(DEPLOYMENTS, "web", propagationPolicy="Foreground")
        await cluster.pass_time(3)
        assert cluster.get(DEPLOYMENTS, "web")["metadata"]["finalizers"] == ["foregroundDeletion"]
        assert [pod["metadata"]["name"] for pod in cluster.pods()] == [held]
        cluster.edit(PODS, held, lambda pod: pod["metadata"].update(finalizers=[]))
        await cluster.pass_time(3)
        assert not cluster.exists(DEPLOYMENTS, "web")
        assert cluster.api.list(REPLICA_SETS, "default") == []

    tell(story)


def test_orphans_stay_and_forget_their_owner() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", deployment())
        await cluster.pass_time(3)
        cluster.delete(DEPLOYMENTS, "web", propagationPolicy="Orphan")
        await cluster.pass_time(3)
        assert not cluster.exists(DEPLOYMENTS, "web")
        (left,) = cluster.api.list(REPLICA_SETS, "default")
        assert not left["metadata"].get("ownerReferences")
        assert len(cluster.pods(app="web")) == 2

    tell(story)


def test_an_object_with_another_owner_stays() -> None:
    async def story(cluster: SmallCluster) -> None:
        first, second = config_map(cluster, "first"), config_map(cluster, "second")
        config_map(cluster, "both", first, second)
        cluster.delete(CONFIG_MAPS, "first")
        await cluster.pass_time(1)
        references = cluster.get(CONFIG_MAPS, "both")["metadata"]["ownerReferences"]
        assert [each["name"] for each in references] == ["second"]
        cluster.delete(CONFIG_MAPS, "second")
        await cluster.pass_time(1)
        assert not cluster.exists(CONFIG_MAPS, "both")

    tell(story)


def test_an_object_whose_owner_never_was_goes() -> None:
    async def story(cluster: SmallCluster) -> None:
        ghost = {"metadata": {"name": "ghost", "uid": "11111111-1111-4111-8111-111111111111"}}
        config_map(cluster, "lost", ghost)
        await cluster.pass_time(1)
        assert not cluster.exists(CONFIG_MAPS, "lost")

    tell(story)


def test_a_new_object_of_the_owners_name_is_not_the_owner() -> None:
    async def story(cluster: SmallCluster) -> None:
        config_map(cluster, "child", config_map(cluster, "parent"))
        cluster.delete(CONFIG_MAPS, "parent")
        config_map(cluster, "parent")
        await cluster.pass_time(1)
        assert cluster.exists(CONFIG_MAPS, "parent")
        assert not cluster.exists(CONFIG_MAPS, "child")

    tell(story)


def test_a_dependent_that_does_not_block_is_not_waited_for() -> None:
    async def story(cluster: SmallCluster) -> None:
        parent = config_map(cluster, "parent")
        config_map(cluster, "child", parent, finalizers=["example.com/hold"])
        cluster.delete(CONFIG_MAPS, "parent", propagationPolicy="Foreground")
        await cluster.pass_time(1)
        assert not cluster.exists(CONFIG_MAPS, "parent")
        assert "deletionTimestamp" in cluster.get(CONFIG_MAPS, "child")["metadata"]

    tell(story)


def test_objects_that_own_each_other_go_together() -> None:
    def blocking(owner: Object) -> list[Object]:
        meta = owner["metadata"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"]}
        return [{**reference, "blockOwnerDeletion": True}]

    async def story(cluster: SmallCluster) -> None:
        first, second = config_map(cluster, "first"), config_map(cluster, "second")
        cluster.edit(CONFIG_MAPS, "first", lambda obj: obj["metadata"].update(ownerReferences=blocking(second)))
        cluster.edit(CONFIG_MAPS, "second", lambda obj: obj["metadata"].update(ownerReferences=blocking(first)))
        cluster.delete(CONFIG_MAPS, "first", propagationPolicy="Foreground")
        await cluster.pass_time(3)
        assert not cluster.exists(CONFIG_MAPS, "first")
        assert not cluster.exists(CONFIG_MAPS, "second")

    tell(story)


def test_what_is_in_no_namespace_outlives_an_owner_that_can_only_be_in_one() -> None:
    async def story(cluster: SmallCluster) -> None:
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "0"}
        made = {"metadata": {"name": "fast", "ownerReferences": [owner]}, "value": 1}
        cluster.api.create(PRIORITY_CLASSES, "", made)
        await cluster.pass_time(3)
        left = cluster.api.get(PRIORITY_CLASSES, "", "fast")
        assert left["metadata"]["ownerReferences"] == [owner]

    tell(story)

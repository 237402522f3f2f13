"""StatefulSets number their pods and go through them in order."""

from typing import Any

from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import STATEFUL_SETS, SmallCluster, annotated, tell, template
from tests.unit.embedded.controllers.storage_objects import CLAIMS, add_class
from tests.unit.embedded.given import PODS, resource

REVISIONS = resource("controllerrevisions.apps")


def spec(replicas: int, **more: Any) -> Object:
    return {
        "replicas": replicas,
        "serviceName": "db",
        "selector": {"matchLabels": {"app": "db"}},
        "template": template(app="db"),
        **more,
    }


def set_image(image: str) -> Any:
    def change(obj: Object) -> None:
        obj["spec"]["template"]["spec"]["containers"][0]["image"] = image

    return change


def images(cluster: SmallCluster) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in cluster.pods(app="db")}


def test_pods_are_made_one_after_the_other_when_the_one_before_is_ready() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(STATEFUL_SETS, "db", spec(3))
        await cluster.pass_time(0.3)
        assert list(images(cluster)) == ["db-0"]
        await cluster.pass_time(5)
        assert list(images(cluster)) == ["db-0", "db-1", "db-2"]
        pod = cluster.get(PODS, "db-2")
        assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-2", "db")
        assert pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "db-2"
        assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "2"
        status = cluster.get(STATEFUL_SETS, "db")["status"]
        revision = status.pop("currentRevision")
        assert status.pop("updateRevision") == revision
        assert status == {
            "observedGeneration": 1,
            "replicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "currentReplicas": 3,
            "updatedReplicas": 3,
            "collisionCount": 0,
        }
        assert cluster.events("SuccessfulCreate")[0] == "create Pod db-0 in StatefulSet db successful"

    tell(story)


def test_parallel_pods_are_made_at_once() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(STATEFUL_SETS, "db", spec(3, podManagementPolicy="Parallel"))
        await cluster.pass_time(0.3)
        assert list(images(cluster)) == ["db-0", "db-1", "db-2"]

    tell(story)


def test_ordinals_may_start_elsewhere() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(STATEFUL_SETS, "db", spec(2, ordinals={"start": 5}))
        await cluster.pass_time(5)
        assert list(images(cluster)) == ["db-5", "db-6"]

    tell(story)


def test_the_highest_pods_go_first_and_one_at_a_time() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(STATEFUL_SETS, "db", spec(4, podManagementPolicy="OrderedReady"))
        await cluster.pass_time(8)
        cluster.edit(STATEFUL_SETS, "db", lambda obj: obj["spec"].update(replicas=1))
        seen = []
        for _ in range(60):
            await cluster.pass_time(0.05)
            seen.append(tuple(images(cluster)))
        assert list(dict.fromkeys(seen))[-1] == ("db-0",)
        assert all("db-1" in names or "db-2" not in names for names in seen)
        assert all("db-2" in names or "db-3" not in names for names in seen)

    tell(story)


def test_an_update_goes_from_the_highest_pod_down() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(STATEFUL_SETS, "db", spec(3))
        await cluster.pass_time(6)
        cluster.edit(STATEFUL_SETS, "db", set_image("app:2"))
        await cluster.pass_time(1)
        assert images(cluster)["db-2"] == "app:2"
        assert images(cluster)["db-0"] == "app:1"
        await cluster.pass_time(6)
        assert images(cluster) == {"db-0": "app:2", "db-1": "app:2", "db-2": "app:2"}
        status = cluster.get(STATEFUL_SETS, "db")["status"]
        assert status["currentRevision"] == status["updateRevision"]
        assert (status["updatedReplicas"], status["observedGeneration"]) == (3, 2)
        assert sorted(each["revision"] for each in cluster.api.list(REVISIONS, "default")) == [1, 2]

    tell(story)


def test_pods_below_the_partition_keep_the_old_template_even_when_they_come_back() -> None:
    async def story(cluster: SmallCluster) -> None:
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
        cluster.create(STATEFUL_SETS, "db", spec(3, updateStrategy=strategy))
        await cluster.pass_time(6)
        cluster.edit(STATEFUL_SETS, "db", set_image("app:2"))
        await cluster.pass_time(6)
        assert images(cluster) == {"db-0": "app:1", "db-1": "app:1", "db-2": "app:2"}
        cluster.delete(PODS, "db-1")
        await cluster.pass_time(6)
        assert images(cluster) == {"db-0": "app:1", "db-1": "app:1", "db-2": "app:2"}
        status = cluster.get(STATEFUL_SETS, "db")["status"]
        assert (status["currentReplicas"], status["updatedReplicas"]) == (2, 1)

    tell(story)


def test_on_delete_waits_for_somebody_to_delete_the_pod() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(STATEFUL_SETS, "db", spec(2, updateStrategy={"type": "OnDelete"}))
        await cluster.pass_time(4)
        cluster.edit(STATEFUL_SETS, "db", set_image("app:2"))
        await cluster.pass_time(4)
        assert images(cluster) == {"db-0": "app:1", "db-1": "app:1"}
        cluster.delete(PODS, "db-0")
        await cluster.pass_time(4)
        assert images(cluster) == {"db-0": "app:2", "db-1": "app:1"}

    tell(story)


def test_a_template_that_comes_back_is_the_latest_revision_again() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(STATEFUL_SETS, "db", spec(1))
        for image in ("app:2", "app:1"):
            await cluster.pass_time(4)
            cluster.edit(STATEFUL_SETS, "db", set_image(image))
        await cluster.pass_time(4)
        kept = {
            each["data"]["spec"]["template"]["spec"]["containers"][0]["image"]: each["revision"]
            for each in cluster.api.list(REVISIONS, "default")
        }
        assert kept == {"app:1": 3, "app:2": 2}

    tell(story)


def test_claims_are_made_for_each_pod_and_stay() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_class(cluster, "fast", is_default=True)
        wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        claim = {"metadata": {"name": "data"}, "spec": wanted}
        cluster.create(STATEFUL_SETS, "db", spec(2, volumeClaimTemplates=[claim]))
        await cluster.pass_time(4)
        names = sorted(each["metadata"]["name"] for each in cluster.api.list(CLAIMS, "default"))
        assert names == ["data-db-0", "data-db-1"]
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1"}}
        assert volume in cluster.get(PODS, "db-1")["spec"]["volumes"]
        cluster.edit(STATEFUL_SETS, "db", lambda obj: obj["spec"].update(replicas=1))
        await cluster.pass_time(4)
        assert len(cluster.api.list(CLAIMS, "default")) == 2

    tell(story)


def test_a_pod_that_failed_is_made_anew() -> None:
    async def story(cluster: SmallCluster) -> None:
        made = annotated(template(app="db"), duration="2s", exit_code="1")
        cluster.create(STATEFUL_SETS, "db", spec(1) | {"template": made})
        await cluster.pass_time(1)
        first = cluster.get(PODS, "db-0")
        first["status"]["phase"] = "Failed"
        cluster.api.update(PODS, "default", "db-0", first, subresource="status")
        await cluster.pass_time(1)
        second = cluster.get(PODS, "db-0")
        assert second["metadata"]["uid"] != first["metadata"]["uid"]

    tell(story)

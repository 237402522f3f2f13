"""Deployments roll from one pod template to the next."""

from typing import Any

from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import (
    DEPLOYMENTS,
    REPLICA_SETS,
    SmallCluster,
    condition,
    ready_count,
    tell,
    template,
)
from tests.unit.embedded.given import NODES

REVISION = "deployment.kubernetes.io/revision"


def spec(replicas: int, **more: Any) -> Object:
    return {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template(app="web"), **more}


def set_image(image: str) -> Any:
    def change(obj: Object) -> None:
        obj["spec"]["template"]["spec"]["containers"][0]["image"] = image

    return change


def replica_sets(cluster: SmallCluster) -> dict[str, Object]:
    """The ReplicaSets by the image of their template."""
    return {
        each["spec"]["template"]["spec"]["containers"][0]["image"]: each
        for each in cluster.api.list(REPLICA_SETS, "default")
    }


def images(cluster: SmallCluster) -> list[str]:
    return sorted(pod["spec"]["containers"][0]["image"] for pod in cluster.pods(app="web"))


def test_a_deployment_makes_a_replica_set_and_reports_that_it_is_done() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec(3))
        await cluster.pass_time(3)
        (made,) = replica_sets(cluster).values()
        name = made["metadata"]["name"]
        suffix = made["metadata"]["labels"]["pod-template-hash"]
        assert name == f"web-{suffix}"
        assert made["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": suffix}
        assert ready_count(cluster.pods(**{"pod-template-hash": suffix})) == 3
        deployment = cluster.get(DEPLOYMENTS, "web")
        assert deployment["metadata"]["annotations"][REVISION] == "1"
        counts = {key: value for key, value in deployment["status"].items() if key != "conditions"}
        assert counts == {
            "observedGeneration": 1,
            "replicas": 3,
            "updatedReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
        }
        assert condition(deployment, "Progressing") == {
            "type": "Progressing",
            "status": "True",
            "reason": "NewReplicaSetAvailable",
            "message": f'ReplicaSet "{name}" has successfully progressed.',
        }
        assert condition(deployment, "Available")["reason"] == "MinimumReplicasAvailable"
        assert cluster.events("ScalingReplicaSet") == [f"Scaled up replica set {name} from 0 to 3"]

    tell(story)


def test_a_new_template_rolls_without_ever_falling_below_the_limit() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec(4))
        await cluster.pass_time(3)
        cluster.edit(DEPLOYMENTS, "web", set_image("app:2"))
        for _ in range(100):
            await cluster.pass_time(0.1)
            pods = [pod for pod in cluster.pods(app="web") if "deletionTimestamp" not in pod["metadata"]]
            assert ready_count(pods) >= 3
            assert len(pods) <= 5
        assert images(cluster) == ["app:2"] * 4
        sizes = {image: each["spec"]["replicas"] for image, each in replica_sets(cluster).items()}
        assert sizes == {"app:1": 0, "app:2": 4}
        deployment = cluster.get(DEPLOYMENTS, "web")
        assert deployment["metadata"]["annotations"][REVISION] == "2"
        assert deployment["status"]["updatedReplicas"] == 4
        assert deployment["status"]["observedGeneration"] == deployment["metadata"]["generation"]

    tell(story)


def test_going_back_to_an_old_template_takes_its_replica_set_again() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec(2))
        await cluster.pass_time(3)
        cluster.edit(DEPLOYMENTS, "web", set_image("app:2"))
        await cluster.pass_time(5)
        cluster.edit(DEPLOYMENTS, "web", set_image("app:1"))
        await cluster.pass_time(5)
        assert images(cluster) == ["app:1", "app:1"]
        annotations = {image: each["metadata"]["annotations"] for image, each in replica_sets(cluster).items()}
        assert {image: each[REVISION] for image, each in annotations.items()} == {"app:1": "3", "app:2": "2"}
        assert annotations["app:1"]["deployment.kubernetes.io/revision-history"] == "1"
        assert cluster.get(DEPLOYMENTS, "web")["metadata"]["annotations"][REVISION] == "3"

    tell(story)


def test_scaling_resizes_the_one_active_replica_set() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec(2))
        await cluster.pass_time(3)
        cluster.edit(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(replicas=5))
        await cluster.pass_time(3)
        assert cluster.get(DEPLOYMENTS, "web")["status"]["availableReplicas"] == 5
        cluster.edit(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(replicas=0))
        await cluster.pass_time(3)
        assert cluster.pods(app="web") == []
        (made,) = replica_sets(cluster)
        name = replica_sets(cluster)[made]["metadata"]["name"]
        assert cluster.events("ScalingReplicaSet") == [
            f"Scaled up replica set {name} from 0 to 2",
            f"Scaled up replica set {name} from 2 to 5",
            f"Scaled down replica set {name} from 5 to 0",
        ]

    tell(story)


def test_recreate_ends_all_old_pods_before_the_first_new_one() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec(3, strategy={"type": "Recreate"}))
        await cluster.pass_time(3)
        cluster.edit(DEPLOYMENTS, "web", set_image("app:2"))
        for _ in range(50):
            await cluster.pass_time(0.1)
            assert len(set(images(cluster))) <= 1
        assert images(cluster) == ["app:2"] * 3

    tell(story)


def test_a_paused_deployment_scales_but_does_not_roll() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec(2))
        await cluster.pass_time(3)
        cluster.edit(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(paused=True))
        await cluster.pass_time(1)
        assert condition(cluster.get(DEPLOYMENTS, "web"), "Progressing")["reason"] == "DeploymentPaused"
        cluster.edit(DEPLOYMENTS, "web", set_image("app:2"))
        cluster.edit(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(replicas=3))
        await cluster.pass_time(5)
        assert images(cluster) == ["app:1"] * 3
        cluster.edit(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(paused=False))
        await cluster.pass_time(5)
        assert images(cluster) == ["app:2"] * 3
        assert condition(cluster.get(DEPLOYMENTS, "web"), "Progressing")["reason"] == "NewReplicaSetAvailable"

    tell(story)


def test_only_so_many_old_replica_sets_are_kept() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec(1, revisionHistoryLimit=1))
        for number in range(2, 5):
            await cluster.pass_time(5)
            cluster.edit(DEPLOYMENTS, "web", set_image(f"app:{number}"))
        await cluster.pass_time(5)
        assert sorted(replica_sets(cluster)) == ["app:3", "app:4"]

    tell(story)


def test_a_rollout_that_stands_still_is_reported_after_the_deadline() -> None:
    async def story(cluster: SmallCluster) -> None:
        for number in range(3):
            cluster.edit(NODES, f"node-{number}", lambda node: node["spec"].update(unschedulable=True))
        await cluster.pass_time(1)
        cluster.create(DEPLOYMENTS, "web", spec(2, progressDeadlineSeconds=60))
        await cluster.pass_time(30)
        deployment = cluster.get(DEPLOYMENTS, "web")
        assert condition(deployment, "Progressing")["status"] == "True"
        assert condition(deployment, "Available")["status"] == "False"
        assert deployment["status"]["unavailableReplicas"] == 2
        await cluster.pass_time(60)
        progress = condition(cluster.get(DEPLOYMENTS, "web"), "Progressing")
        assert (progress["status"], progress["reason"]) == ("False", "ProgressDeadlineExceeded")
        for number in range(3):
            cluster.edit(NODES, f"node-{number}", lambda node: node["spec"].update(unschedulable=False))
        await cluster.pass_time(5)
        progress = condition(cluster.get(DEPLOYMENTS, "web"), "Progressing")
        assert (progress["status"], progress["reason"]) == ("True", "NewReplicaSetAvailable")

    tell(story)


def test_why_pods_cannot_be_made_is_passed_on() -> None:
    async def story(cluster: SmallCluster) -> None:
        made = template(app="web")
        made["spec"]["priorityClassName"] = "high"
        cluster.create(DEPLOYMENTS, "web", spec(1) | {"template": made})
        await cluster.pass_time(3)
        failure = condition(cluster.get(DEPLOYMENTS, "web"), "ReplicaFailure")
        assert "no PriorityClass with name high was found" in failure["message"]

    tell(story)


def test_an_orphaned_replica_set_is_adopted() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", spec(2))
        await cluster.pass_time(3)
        before = {pod["metadata"]["uid"] for pod in cluster.pods(app="web")}
        cluster.delete(DEPLOYMENTS, "web", propagationPolicy="Orphan")
        await cluster.pass_time(3)
        assert not cluster.exists(DEPLOYMENTS, "web")
        cluster.create(DEPLOYMENTS, "web", spec(2))
        await cluster.pass_time(3)
        assert {pod["metadata"]["uid"] for pod in cluster.pods(app="web")} == before
        assert cluster.get(DEPLOYMENTS, "web")["status"]["availableReplicas"] == 2

    tell(story)

"""ReplicaSets keep their number of pods."""

import gc
from typing import Any

from stowplan.embedded.objects.errors import StatusError
from tests.unit.embedded.controllers.small_cluster import (
    REPLICA_SETS,
    SmallCluster,
    condition,
    ready_count,
    tell,
    template,
)
from tests.unit.embedded.given import NODES, PODS, resource


def spec(replicas: int, **more: Any) -> dict[str, Any]:
    return {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": template(app="web"),
        **more,
    }


def test_as_many_pods_run_as_asked_for() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(REPLICA_SETS, "web", spec(3))
        await cluster.pass_time(2)
        pods = cluster.pods(app="web")
        assert [pod["status"]["phase"] for pod in pods] == ["Running", "Running", "Running"]
        assert all(pod["metadata"]["name"].startswith("web-") for pod in pods)
        assert cluster.get(REPLICA_SETS, "web")["status"] == {
            "replicas": 3,
            "fullyLabeledReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "observedGeneration": 1,
        }
        assert cluster.events("SuccessfulCreate") == [f"Created pod: {name}" for name in made_order(cluster)]

    tell(story)


def made_order(cluster: SmallCluster) -> list[str]:
    events = sorted(cluster.events("SuccessfulCreate"))
    names = sorted(pod["metadata"]["name"] for pod in cluster.pods(app="web"))
    assert events == [f"Created pod: {name}" for name in names]
    return [message.removeprefix("Created pod: ") for message in cluster.events("SuccessfulCreate")]


def test_a_deleted_pod_is_replaced() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(REPLICA_SETS, "web", spec(2))
        await cluster.pass_time(2)
        before = [pod["metadata"]["name"] for pod in cluster.pods()]
        cluster.delete(PODS, before[0])
        await cluster.pass_time(2)
        after = [pod["metadata"]["name"] for pod in cluster.pods()]
        assert before[0] not in after
        assert before[1] in after
        assert len(after) == 2

    tell(story)


def test_when_there_are_too_many_the_youngest_go_first() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(REPLICA_SETS, "web", spec(2))
        await cluster.pass_time(2)
        old = {pod["metadata"]["name"] for pod in cluster.pods()}
        cluster.edit(REPLICA_SETS, "web", lambda obj: obj["spec"].update(replicas=4))
        await cluster.pass_time(5)
        cluster.edit(REPLICA_SETS, "web", lambda obj: obj["spec"].update(replicas=2))
        await cluster.pass_time(2)
        assert {pod["metadata"]["name"] for pod in cluster.pods()} == old

    tell(story, nodes=4)


def test_a_pod_that_costs_less_to_delete_goes_first() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(REPLICA_SETS, "web", spec(3))
        await cluster.pass_time(2)
        cheap = cluster.pods()[1]["metadata"]["name"]
        annotation = {"controller.kubernetes.io/pod-deletion-cost": "-5"}
        cluster.edit(PODS, cheap, lambda pod: pod["metadata"].update(annotations=annotation))
        cluster.edit(REPLICA_SETS, "web", lambda obj: obj["spec"].update(replicas=2))
        await cluster.pass_time(2)
        assert cheap not in [pod["metadata"]["name"] for pod in cluster.pods()]

    tell(story)


def test_an_orphan_that_matches_is_adopted_and_one_that_no_longer_does_is_let_go() -> None:
    async def story(cluster: SmallCluster) -> None:
        orphan = {"containers": [{"name": "main", "image": "app:1"}]}
        cluster.create(PODS, "stray", orphan, labels={"app": "web"})
        cluster.create(REPLICA_SETS, "web", spec(2))
        await cluster.pass_time(2)
        owners = cluster.get(PODS, "stray")["metadata"]["ownerReferences"]
        assert [(owner["kind"], owner["name"], owner["controller"]) for owner in owners] == [
            ("ReplicaSet", "web", True)
        ]
        assert len(cluster.pods(app="web")) == 2
        cluster.edit(PODS, "stray", lambda pod: pod["metadata"]["labels"].update(app="mine"))
        await cluster.pass_time(2)
        assert not cluster.get(PODS, "stray")["metadata"].get("ownerReferences")
        assert len(cluster.pods(app="web")) == 2

    tell(story)


def test_a_pod_counts_as_available_only_after_it_was_ready_long_enough() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(REPLICA_SETS, "web", spec(1, minReadySeconds=30))
        await cluster.pass_time(10)
        status = cluster.get(REPLICA_SETS, "web")["status"]
        assert (status["readyReplicas"], status.get("availableReplicas", 0)) == (1, 0)
        await cluster.pass_time(25)
        assert cluster.get(REPLICA_SETS, "web")["status"]["availableReplicas"] == 1

    tell(story)


def test_a_refusal_to_make_pods_is_told_and_tried_again() -> None:
    async def story(cluster: SmallCluster) -> None:
        made = template(app="web")
        made["spec"]["priorityClassName"] = "high"
        cluster.create(REPLICA_SETS, "web", spec(1) | {"template": made})
        await cluster.pass_time(2)
        failure = condition(cluster.get(REPLICA_SETS, "web"), "ReplicaFailure")
        assert (failure["status"], failure["reason"]) == ("True", "FailedCreate")
        assert "no PriorityClass with name high was found" in failure["message"]
        assert cluster.events("FailedCreate")[0].startswith("Error creating: ")
        cluster.api.create(
            resource("priorityclasses.scheduling.k8s.io"), "", {"metadata": {"name": "high"}, "value": 5}
        )
        await cluster.pass_time(40)
        assert len(cluster.pods(app="web")) == 1
        assert "conditions" not in cluster.get(REPLICA_SETS, "web")["status"]

    tell(story)


def test_a_refusal_is_not_kept_with_all_that_led_to_it() -> None:
    async def story(cluster: SmallCluster) -> None:
        made = template(app="web")
        made["spec"]["priorityClassName"] = "high"
        gc.collect()
        gc.disable()
        before = refusals()
        cluster.create(REPLICA_SETS, "web", spec(1) | {"template": made})
        await cluster.pass_time(2)
        kept = refusals() - before
        gc.enable()
        assert condition(cluster.get(REPLICA_SETS, "web"), "ReplicaFailure")["reason"] == "FailedCreate"
        assert kept == 0

    tell(story)


def refusals() -> int:
    """How many there are in memory."""
    return sum(type(each) is StatusError for each in gc.get_objects())


def test_hundreds_of_pods_are_made_in_several_goes() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(REPLICA_SETS, "web", spec(350))
        await cluster.pass_time(5)
        assert ready_count(cluster.pods(app="web")) == 350
        assert cluster.get(REPLICA_SETS, "web")["status"]["availableReplicas"] == 350
        # One object does not get more events than anybody wants to read.
        assert len(cluster.events("SuccessfulCreate")) == 25

    tell(story)


def test_replication_controllers_do_the_same_with_a_plain_map_of_labels() -> None:
    async def story(cluster: SmallCluster) -> None:
        controllers = resource("replicationcontrollers")
        plain = {"replicas": 2, "selector": {"app": "old"}, "template": template(app="old")}
        cluster.create(controllers, "old", plain)
        await cluster.pass_time(2)
        assert ready_count(cluster.pods(app="old")) == 2
        assert cluster.get(controllers, "old")["status"]["readyReplicas"] == 2

    tell(story)


def test_pods_of_a_node_that_is_gone_come_back_elsewhere() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(REPLICA_SETS, "web", spec(3))
        await cluster.pass_time(2)
        cluster.delete(NODES, "node-1")
        await cluster.pass_time(10)
        pods = cluster.pods(app="web")
        assert ready_count(pods) == 3
        assert {pod["spec"]["nodeName"] for pod in pods} == {"node-0", "node-2"}

    tell(story)

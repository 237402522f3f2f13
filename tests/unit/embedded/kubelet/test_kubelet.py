"""The kubelet stand-in runs pods, ends them, and removes them."""

from typing import Any

import pytest

from stowplan.embedded.kubelet.kubelet import KubeletTiming
from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import SmallCluster, condition, ready_count, tell, template
from tests.unit.embedded.controllers.storage_objects import add_claim, add_volume
from tests.unit.embedded.given import NODES, PODS


def spec(**more: Any) -> Object:
    return {**template()["spec"], **more}


def lasting(seconds: str, exit_code: str = "0") -> dict[str, str]:
    return {"stowplan.dev/duration": seconds, "stowplan.dev/exit-code": exit_code}


def test_a_bound_pod_runs_with_all_that_a_kubelet_reports() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(PODS, "web", spec(initContainers=[{"name": "prepare", "image": "tool:1"}]))
        await cluster.pass_time(0.3)
        assert cluster.get(PODS, "web")["status"]["phase"] == "Pending"
        await cluster.pass_time(1)
        status = cluster.get(PODS, "web")["status"]
        assert (status["phase"], status["startTime"]) == ("Running", "2026-01-01T12:00:00Z")
        for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"):
            assert condition(cluster.get(PODS, "web"), kind)["status"] == "True"
        (container,) = status["containerStatuses"]
        assert {key: container[key] for key in ("name", "image", "ready", "started", "restartCount", "state")} == {
            "name": "main",
            "image": "app:1",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": "2026-01-01T12:00:00Z"}},
        }
        assert container["containerID"].startswith("stowplan://")
        assert container["imageID"].startswith("stowplan://sha256:")
        (prepared,) = status["initContainerStatuses"]
        assert prepared["state"]["terminated"]["reason"] == "Completed"
        assert status["podIP"].startswith("10.")
        (address,) = [
            each for each in cluster.get(NODES, "node-0")["status"]["addresses"] if each["type"] == "InternalIP"
        ]
        assert status["hostIP"] == address["address"]

    tell(story, nodes=1)


def test_a_pod_on_a_node_without_an_address_can_still_be_written() -> None:
    async def story(cluster: SmallCluster) -> None:
        node = cluster.get(NODES, "node-0")
        node["status"]["addresses"] = [{"type": "InternalIP", "address": ""}]
        cluster.api.update(NODES, "", "node-0", node, subresource="status")
        cluster.create(PODS, "web", spec())
        await cluster.pass_time(2)
        pod = cluster.get(PODS, "web")
        assert pod["status"]["phase"] == "Running"
        assert "hostIPs" not in pod["status"]
        cluster.api.update(PODS, "default", "web", pod, subresource="status")

    tell(story, nodes=1)


def test_a_pod_is_taken_on_and_held_until_its_volume_is_bound() -> None:
    async def story(cluster: SmallCluster) -> None:
        volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
        cluster.create(PODS, "web", spec(volumes=[volume], nodeName="node-0"))
        await cluster.pass_time(2)
        status = cluster.get(PODS, "web")["status"]
        assert (status["phase"], status["startTime"]) == ("Pending", "2026-01-01T12:00:00Z")
        assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
        assert condition(cluster.get(PODS, "web"), "ContainersReady") == {
            "type": "ContainersReady",
            "status": "False",
            "reason": "ContainersNotReady",
            "message": "containers with unready status: [main]",
        }
        missing = 'Unable to attach or mount volumes: persistentvolumeclaim "data" not found'
        assert cluster.events("FailedMount") == [missing]
        add_volume(cluster, "disk")
        add_claim(cluster, "data")
        await cluster.pass_time(1)
        assert cluster.get(PODS, "web")["status"]["phase"] == "Running"
        assert ready_count(cluster.pods()) == 1

    tell(story, nodes=1)


def test_no_two_pods_have_the_same_address() -> None:
    async def story(cluster: SmallCluster) -> None:
        for number in range(30):
            cluster.create(PODS, f"web-{number}", spec())
        cluster.create(PODS, "host", spec(hostNetwork=True))
        await cluster.pass_time(3)
        addresses = [pod["status"]["podIP"] for pod in cluster.pods()]
        assert len(set(addresses)) == 31
        host = cluster.get(PODS, "host")["status"]
        assert host["podIP"] == host["hostIP"]

    tell(story)


@pytest.mark.parametrize(
    ("policy", "exit_code", "phase", "reason"),
    [
        pytest.param("Never", "0", "Succeeded", "Completed", id="with success"),
        pytest.param("Never", "3", "Failed", "Error", id="with failure"),
        pytest.param("OnFailure", "0", "Succeeded", "Completed", id="with success, to be restarted only on failure"),
    ],
)
def test_a_pod_ends_after_its_duration(policy: str, exit_code: str, phase: str, reason: str) -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(PODS, "once", spec(restartPolicy=policy), annotations=lasting("30s", exit_code))
        await cluster.pass_time(29)
        assert cluster.get(PODS, "once")["status"]["phase"] == "Running"
        await cluster.pass_time(3)
        pod = cluster.get(PODS, "once")
        assert pod["status"]["phase"] == phase
        ended = pod["status"]["containerStatuses"][0]["state"]["terminated"]
        assert (ended["exitCode"], ended["reason"]) == (int(exit_code), reason)
        assert condition(pod, "Ready")["status"] == "False"

    tell(story)


def test_a_pod_whose_status_somebody_has_taken_away_is_restarted_all_the_same() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(PODS, "bare", spec(restartPolicy="Always"), annotations=lasting("5s", "1"))
        await cluster.pass_time(2)
        for without in ("containerStatuses", "state"):
            pod = cluster.get(PODS, "bare")
            if without in pod["status"]:
                del pod["status"][without]
            for each in pod["status"].get("containerStatuses", ()):
                each.pop(without, None)
                each.pop("restartCount", None)
            cluster.api.update(PODS, "default", "bare", pod, subresource="status")
            await cluster.pass_time(30)
            assert cluster.events("FailedSync") == []
            assert cluster.get(PODS, "bare")["status"]["phase"] == "Running"

    tell(story)


def test_a_pod_that_is_to_be_restarted_starts_again_later_each_time() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(PODS, "again", spec(restartPolicy="Always"), annotations=lasting("5s", "1"))
        await cluster.pass_time(8)
        pod = cluster.get(PODS, "again")
        assert pod["status"]["containerStatuses"][0]["restartCount"] == 1
        assert pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 1
        await cluster.pass_time(5)
        waiting = cluster.get(PODS, "again")
        assert waiting["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "CrashLoopBackOff"
        assert waiting["status"]["phase"] == "Running"
        assert ready_count([waiting]) == 0
        await cluster.pass_time(10)
        pod = cluster.get(PODS, "again")
        assert pod["status"]["containerStatuses"][0]["restartCount"] == 2
        assert ready_count([pod]) == 1

    tell(story)


@pytest.mark.parametrize("text", ["soon", "10", "-5s"])
def test_a_duration_that_is_none_is_an_event_of_the_pod_which_runs_on(text: str) -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(PODS, "odd", spec(restartPolicy="Never"), annotations={"stowplan.dev/duration": text})
        await cluster.pass_time(60)
        assert cluster.get(PODS, "odd")["status"]["phase"] == "Running"
        assert cluster.events("InvalidDuration") == [
            f"annotation stowplan.dev/duration: '{text}' is no length of time; write one such as 30s; "
            "until then the pod runs on"
        ]

    tell(story)


@pytest.mark.parametrize("text", ["soon", "-1", "256", "007000"])
def test_an_exit_code_that_is_none_is_an_event_of_the_pod(text: str) -> None:
    async def story(cluster: SmallCluster) -> None:
        given = {"stowplan.dev/exit-code": text, "stowplan.dev/duration": "5s"}
        cluster.create(PODS, "odd", spec(restartPolicy="Never"), annotations=given)
        await cluster.pass_time(20)
        assert cluster.get(PODS, "odd")["status"]["phase"] == "Succeeded"
        assert cluster.events("InvalidExitCode") == [
            f"annotation stowplan.dev/exit-code: '{text}' is no exit code; write a number from 0 to 255; "
            "until then it is 0"
        ]

    tell(story)


def test_a_duration_that_a_running_pod_gets_counts_and_one_that_is_none_is_told() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(PODS, "odd", spec(restartPolicy="Never"))
        await cluster.pass_time(5)
        for text, seconds in (("later", 5), ("30s", 10)):
            odd = cluster.get(PODS, "odd")
            odd["metadata"]["annotations"] = {"stowplan.dev/duration": text}
            cluster.api.update(PODS, "default", "odd", odd)
            await cluster.pass_time(seconds)
            assert cluster.get(PODS, "odd")["status"]["phase"] == "Running"
        assert len(cluster.events("InvalidDuration")) == 1
        await cluster.pass_time(20)
        assert cluster.get(PODS, "odd")["status"]["phase"] == "Succeeded"

    tell(story)


def test_a_deleted_pod_goes_after_the_time_that_stopping_takes_but_within_its_grace() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(PODS, "slow", spec(terminationGracePeriodSeconds=60))
        cluster.create(PODS, "hasty", spec(terminationGracePeriodSeconds=5))
        await cluster.pass_time(2)
        cluster.delete(PODS, "slow")
        cluster.delete(PODS, "hasty")
        await cluster.pass_time(4)
        assert "deletionTimestamp" in cluster.get(PODS, "hasty")["metadata"]
        await cluster.pass_time(2)
        assert not cluster.exists(PODS, "hasty")
        assert cluster.exists(PODS, "slow")
        await cluster.pass_time(15)
        assert not cluster.exists(PODS, "slow")

    tell(story, timing=KubeletTiming(stop_seconds=20.0))


def test_a_deleted_pod_that_somebody_holds_is_reported_as_ended() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(PODS, "held", spec(), finalizers=["example.com/hold"])
        await cluster.pass_time(2)
        cluster.delete(PODS, "held")
        await cluster.pass_time(2)
        pod = cluster.get(PODS, "held")
        assert pod["status"]["phase"] == "Failed"
        assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137
        cluster.edit(PODS, "held", lambda obj: obj["metadata"].update(finalizers=[]))
        assert not cluster.exists(PODS, "held")

    tell(story)


def test_a_pod_waits_for_its_readiness_gates() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(PODS, "gated", spec(readinessGates=[{"conditionType": "example.com/open"}]))
        await cluster.pass_time(2)
        pod = cluster.get(PODS, "gated")
        assert condition(pod, "Ready")["reason"] == "ReadinessGatesNotReady"
        pod["status"]["conditions"].append({"type": "example.com/open", "status": "True"})
        cluster.api.update(PODS, "default", "gated", pod, subresource="status")
        await cluster.pass_time(1)
        assert ready_count(cluster.pods()) == 1

    tell(story)


def test_starts_are_told_where_wished() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(PODS, "web", spec())
        await cluster.pass_time(2)
        assert cluster.events("Started") == ["Container started: main"]

    tell(story, timing=KubeletTiming(tells_starts=True))

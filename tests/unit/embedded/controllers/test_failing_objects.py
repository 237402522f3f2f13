"""One object that nobody can make anything of: the others go on, and an event on it says why it does not."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.objects.resource import Object, Resource
from tests.unit.embedded.controllers.small_cluster import (
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    EVENTS,
    JOBS,
    REPLICA_SETS,
    STATEFUL_SETS,
    SmallCluster,
    tell,
)
from tests.unit.embedded.given import NODES, PODS, resource

LEASES = resource("leases.coordination.k8s.io")
CONTAINERS = [{"name": "c", "image": "i"}]
JOB = {"template": {"spec": {"containers": CONTAINERS, "restartPolicy": "Never"}}}


def workload(app: str, replicas: int = 1) -> Object:
    labels = {"app": app}
    template = {"metadata": {"labels": labels}, "spec": {"containers": CONTAINERS}}
    return {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}


def put_past_everybody(cluster: SmallCluster, of: Resource, name: str, **parts: Any) -> None:
    """Keep what no client could write, but what an older release may have kept."""
    namespace = "kube-node-lease" if of is LEASES else "default"
    cluster.api.store.write(of, {**cluster.get(of, name, namespace), **parts})


def failures(cluster: SmallCluster, name: str) -> set[tuple[str, str, str]]:
    """Who said what of an object that failed."""
    events = [event for event in cluster.api.list(EVENTS) if event["reason"] == "FailedSync"]
    return {
        (event["source"]["component"], event["type"], event["message"])
        for event in events
        if event["involvedObject"]["name"] == name
    }


def test_a_deployment_with_a_condition_without_a_type_is_scaled() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", workload("web"))
        await cluster.pass_time(5)
        put_past_everybody(cluster, DEPLOYMENTS, "web", status={"conditions": [{"status": "True"}]})
        cluster.edit(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(replicas=3))
        await cluster.pass_time(5)
        assert len(cluster.pods(app="web")) == 3
        assert failures(cluster, "web") == set()

    tell(story)


@pytest.mark.parametrize("of", [DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS], ids=lambda of: str(of.kind))
def test_a_workload_that_lacks_what_is_filled_in_today_is_rolled_out_once(of: Resource) -> None:
    async def story(cluster: SmallCluster) -> None:
        metadata = {"name": "web", "namespace": "default", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
        plain = {"apiVersion": of.api_version, "kind": of.kind, "metadata": metadata, "spec": workload("web")}
        cluster.api.store.write(of, plain)
        await cluster.pass_time(60)
        assert {pod["status"]["phase"] for pod in cluster.pods(app="web")} == {"Running"}
        assert len(cluster.api.list(REPLICA_SETS)) == (1 if of is DEPLOYMENTS else 0)
        assert len(cluster.api.list(resource("controllerrevisions.apps"))) == (0 if of is DEPLOYMENTS else 1)

    tell(story)


def test_the_others_go_on_and_an_event_says_why_one_does_not() -> None:
    async def story(cluster: SmallCluster) -> None:
        for name in ("odd", "good"):
            cluster.create(CRON_JOBS, name, {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}})
        put_past_everybody(cluster, CRON_JOBS, "odd", status={"active": True})
        await cluster.pass_time(130)
        made = {obj["metadata"]["ownerReferences"][0]["name"] for obj in cluster.api.list(JOBS)}
        assert made == {"good"}
        problem = "TypeError: 'bool' object is not iterable"
        assert failures(cluster, "odd") == {("cronjob-controller", "Warning", problem)}

    tell(story)


def test_what_fails_is_logged_once_and_goes_on_once_it_is_corrected(caplog: pytest.LogCaptureFixture) -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(CRON_JOBS, "odd", {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}})
        put_past_everybody(cluster, CRON_JOBS, "odd", status={"active": True})
        await cluster.pass_time(300)
        assert cluster.api.list(JOBS) == []
        put_past_everybody(cluster, CRON_JOBS, "odd", status={})
        await cluster.pass_time(60)
        assert len(cluster.api.list(JOBS)) >= 1

    tell(story)
    problem = "failed and will be tried again: TypeError: 'bool' object is not iterable"
    assert caplog.messages == [f"cronjob-controller: cronjobs.batch default/odd {problem}"]


def test_a_lease_that_is_no_lease_keeps_no_other_node_from_its_own() -> None:
    async def story(cluster: SmallCluster) -> None:
        await cluster.pass_time(2)
        put_past_everybody(cluster, LEASES, "node-0", spec=7)
        before = cluster.get(LEASES, "node-1", "kube-node-lease")["spec"]["renewTime"]
        await cluster.pass_time(60)
        assert cluster.get(LEASES, "node-1", "kube-node-lease")["spec"]["renewTime"] > before
        problem = "TypeError: 'int' object is not a mapping"
        assert failures(cluster, "node-0") == {("kubelet", "Warning", problem)}

    tell(story)


def test_a_node_that_cannot_be_read_keeps_no_pod_from_another() -> None:
    async def story(cluster: SmallCluster) -> None:
        put_past_everybody(cluster, NODES, "node-0", status={"addresses": "here"})
        cluster.create(PODS, "a", {"containers": CONTAINERS, "nodeName": "node-1"})
        await cluster.pass_time(5)
        assert cluster.get(PODS, "a")["status"]["phase"] == "Running"
        problem = "ValidationError: Expected `array | null`, got `str` - at `$.status.addresses`"
        assert ("controllermanager", "Warning", problem) in failures(cluster, "node-0")

    tell(story)

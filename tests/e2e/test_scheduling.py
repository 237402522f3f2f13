"""kube-scheduler and Stowplan on the same ground: pods land and run, and what is said about the others can be read."""

from typing import Any

import pytest

from tests.e2e.api import Api, Object
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import node, pod
from tests.e2e.plane import Plane
from tests.e2e.scheduler_process import SchedulerProcess, kube_scheduler

pytestmark = [pytest.mark.each_release, pytest.mark.usefixtures("scheduler")]


def test_pods_are_bound_and_run(api: Api, kubelets: Kubelets, namespace: str) -> None:
    kubelets.register(node(name) for name in ("a", "b", "c"))
    api.create_all(pod(namespace, f"p{number}", {"cpu": "2"}) for number in range(6))

    pods = api.wait_for(f"/api/v1/namespaces/{namespace}/pods", all_run)
    assert sorted(item["spec"]["nodeName"] for item in pods["items"]) == ["a", "a", "b", "b", "c", "c"]


def test_describe_tells_where_a_pod_went(plane: Plane, kubelets: Kubelets, namespace: str) -> None:
    kubelets.register([node("only")])
    plane.api.create(pod(namespace, "web", {"cpu": "1"}))
    plane.api.wait_for(f"/api/v1/namespaces/{namespace}/pods/web", runs)
    plane.api.wait_for(f"/api/v1/namespaces/{namespace}/events", has_items)

    described = plane.kubectl("describe", "pod", "web", "--namespace", namespace)
    event = next(line for line in described.splitlines() if "Scheduled" in line and "Normal" in line)
    assert event.split() == [
        *("Normal", "Scheduled"),
        *event.split()[2:-6],
        *("default-scheduler", "Successfully", "assigned", f"{namespace}/web", "to", "only"),
    ]


def test_a_pod_that_fits_nowhere_is_told_why(plane: Plane, kubelets: Kubelets, namespace: str) -> None:
    api, message = plane.api, UNSCHEDULABLE[plane.release]
    taint = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
    kubelets.register([node("small", {"cpu": "1"}), node("db", taints=[taint])])
    api.create(pod(namespace, "big", {"cpu": "2"}))

    # A scheduler hears of nodes and pods on two watches: it may have tried with one node before it knew of the other.
    waiting = api.wait_for(f"/api/v1/namespaces/{namespace}/pods/big", lambda item: is_refused(item, message))
    condition = waiting["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "Unschedulable")
    events = api.wait_for(f"/api/v1/namespaces/{namespace}/events", lambda listed: says(listed, message))["items"]
    event = next(event for event in events if event["message"] == message)
    assert (event["type"], event["reason"]) == ("Warning", "FailedScheduling")


def test_a_preempted_pod_makes_room(api: Api, kubelets: Kubelets, namespace: str) -> None:
    kubelets.register([node("only")])
    api.create(pod(namespace, "low", {"cpu": "3"}))
    api.wait_for(f"/api/v1/namespaces/{namespace}/pods/low", runs)
    api.create(pod(namespace, "high", {"cpu": "3"}, priorityClassName="system-cluster-critical"))

    assert api.wait_for(f"/api/v1/namespaces/{namespace}/pods/high", runs)["spec"]["nodeName"] == "only"
    assert [item["metadata"]["name"] for item in api.items(f"/api/v1/namespaces/{namespace}/pods")] == ["high"]


def test_scheduling_goes_on_after_the_api_server_was_away(plane: Plane, kubelets: Kubelets, namespace: str) -> None:
    kubelets.register([node("only")])
    with plane.without_api_server():
        pass
    plane.api.create(pod(namespace, "web", {"cpu": "1"}))

    assert plane.api.wait_for(f"/api/v1/namespaces/{namespace}/pods/web", runs)["spec"]["nodeName"] == "only"


def test_a_second_scheduler_takes_its_own_pods_only(plane: Plane, kubelets: Kubelets, namespace: str) -> None:
    kubelets.register([node("only")])
    second = kube_scheduler(plane, named("other"), name="second-scheduler")
    second.start()
    try:
        plane.api.create(pod(namespace, "web", schedulerName="other"))
        plane.api.wait_for(f"/api/v1/namespaces/{namespace}/pods/web", runs)
    finally:
        second.stop()

    events = plane.api.wait_for(f"/api/v1/namespaces/{namespace}/events", has_items)["items"]
    assert [event["reportingComponent"] for event in events] == ["other"]


def test_it_binds_as_its_own_user(plane: Plane, kubelets: Kubelets, namespace: str) -> None:
    kubelets.register([node("only")])
    plane.api.create(pod(namespace, "web"))
    plane.api.wait_for(f"/api/v1/namespaces/{namespace}/pods/web", runs)

    assert [
        (event["user"]["username"], event["verb"], event["responseStatus"]["code"])
        for event in plane.audit_events()
        if event.get("objectRef", {}).get("subresource") == "binding" and event["objectRef"]["namespace"] == namespace
    ] == [("system:kube-scheduler", "create", 201)]


def test_it_ends_with_1_when_told_to_end(scheduler: SchedulerProcess) -> None:
    assert scheduler.stop() == 1
    assert "finished without leader elect" in scheduler.process.last_words()


def test_its_time_is_counted(scheduler: SchedulerProcess) -> None:
    assert 0.05 < scheduler.process.cpu_seconds() < 60


FITS_NOWHERE = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). "
NOT_HELPFUL = "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
UNSCHEDULABLE = {
    "1.36": f"{FITS_NOWHERE}no new claims to deallocate, {NOT_HELPFUL}",
    "1.37": f"{FITS_NOWHERE}{NOT_HELPFUL}",
}


def runs(item: Object) -> bool:
    return bool(item["status"]["phase"] == "Running")


def all_run(pods: Object) -> bool:
    return all(runs(item) for item in pods["items"])


def has_items(listing: Object) -> bool:
    return bool(listing["items"])


def is_refused(item: Object, message: str) -> bool:
    return any(condition.get("message") == message for condition in item["status"].get("conditions", ()))


def says(events: Object, message: str) -> bool:
    return any(event["message"] == message for event in events["items"])


def named(scheduler_name: str) -> dict[str, Any]:
    """Describe a scheduler of that name with the default plugins."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": scheduler_name}],
    }

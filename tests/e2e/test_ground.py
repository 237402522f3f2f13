"""The control plane is the real one: versions, permissions, audit log, history, restarts, controllers."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stowplan.embedded.objects.releases import VERSIONS
from tests.e2e.api import Api, ApiError
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import node
from tests.e2e.plane import Plane


@pytest.mark.each_release
def test_client_and_server_are_of_the_release_we_compare_with(plane: Plane) -> None:
    version = VERSIONS[plane.release]
    versions = json.loads(plane.kubectl("version", "--output=json"))

    assert versions["clientVersion"]["gitVersion"] == version
    # Who built it may be said behind a plus.
    assert versions["serverVersion"]["gitVersion"].partition("+")[0] == version
    assert versions["serverVersion"]["major"] == "1"
    assert versions["serverVersion"]["minor"] == plane.release.partition(".")[2]


def test_a_service_account_may_do_only_what_its_roles_say(plane: Plane, namespace: str) -> None:
    plane.create_service_account(namespace, "reader")
    kubeconfig = plane.service_account_kubeconfig(namespace, "reader")

    who = json.loads(plane.kubectl("auth", "whoami", "--output=json", kubeconfig=kubeconfig))
    assert who["status"]["userInfo"]["username"] == f"system:serviceaccount:{namespace}:reader"
    assert not can_list_nodes(plane, kubeconfig)

    plane.grant(namespace, "reader", "system:kube-scheduler")
    assert becomes_true(lambda: can_list_nodes(plane, kubeconfig))


def test_a_thousand_nodes_join_ready_and_as_described(api: Api, kubelets: Kubelets) -> None:
    gpu = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    kubelets.register(
        node(f"node-{number}", {"cpu": "8"}, {"zone": f"z{number % 3}"}, [gpu] if number % 2 else [])
        for number in range(1000)
    )

    nodes = {item["metadata"]["name"]: item for item in api.items("/api/v1/nodes")}
    assert len(nodes) == 1000
    assert nodes["node-4"]["metadata"]["labels"]["zone"] == "z1"
    assert nodes["node-4"]["status"]["allocatable"] == {"cpu": "8", "memory": "16Gi", "pods": "110"}
    assert "taints" not in nodes["node-4"]["spec"]
    assert nodes["node-5"]["spec"]["taints"] == [gpu]
    assert all(item["status"]["conditions"][0]["status"] == "True" for item in nodes.values())


def test_objects_outlive_a_restart_of_the_api_server(plane: Plane, namespace: str) -> None:
    with plane.without_api_server(), pytest.raises(OSError, match="Cannot connect"):
        plane.api.get("/version")

    assert plane.api.get(f"/api/v1/namespaces/{namespace}")["metadata"]["name"] == namespace


def test_a_watch_from_before_a_compaction_is_gone(plane: Plane, namespace: str) -> None:
    version = plane.api.get(f"/api/v1/namespaces/{namespace}/pods")["metadata"]["resourceVersion"]
    plane.create_service_account(namespace, "later")
    with plane.without_api_server():
        plane.compact()

    async def first_event() -> tuple[str, int]:
        watch = plane.api.watch(f"/api/v1/namespaces/{namespace}/pods", resourceVersion=version)
        async for kind, item in watch:
            return kind, item["code"]
        raise AssertionError("the watch ended without an event")

    assert plane.api.run(first_event()) == ("ERROR", 410)


def test_requests_are_audited_with_their_user_and_resource(plane: Plane, namespace: str) -> None:
    plane.create_service_account(namespace, "audited")

    found = [event for event in plane.audit_events() if event.get("objectRef", {}).get("name") == "audited"]
    assert [
        (event["user"]["username"], event["verb"], event["objectRef"]["resource"], event["responseStatus"]["code"])
        for event in found
    ] == [("kubernetes-admin", "create", "serviceaccounts", 201)]


def test_controllers_make_the_pods_of_a_deployment(plane: Plane, namespace: str) -> None:
    with plane.controllers():
        plane.kubectl("create", "deployment", "web", "--image=web:1", "--replicas=3", "--namespace", namespace)
        plane.api.wait_for(f"/api/v1/namespaces/{namespace}/pods", lambda pods: len(pods["items"]) == 3)
        plane.kubectl("delete", "deployment", "web", "--namespace", namespace, "--cascade=foreground")

    assert plane.api.items(f"/api/v1/namespaces/{namespace}/pods") == []


def test_controllers_heed_what_kubelets_report(plane: Plane, kubelets: Kubelets) -> None:
    kubelets.register([node("only")])
    kubelets.start_heartbeats()
    lease = plane.api.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/only")
    assert lease["spec"]["holderIdentity"] == "only"

    kubelets.report("only", is_ready=False)
    with plane.controllers():
        tainted = plane.api.wait_for("/api/v1/nodes/only", lambda item: "taints" in item["spec"])
    assert "node.kubernetes.io/not-ready" in {taint["key"] for taint in tainted["spec"]["taints"]}


def test_a_refused_request_names_its_status(api: Api) -> None:
    with pytest.raises(ApiError, match=r'namespaces \\"nowhere\\" not found') as refused:
        api.get("/api/v1/namespaces/nowhere")
    assert refused.value.status == 404


def can_list_nodes(plane: Plane, kubeconfig: Path) -> bool:
    """Tell whether the API server answers this user, rather than forbid it."""
    try:
        plane.kubectl("get", "nodes", kubeconfig=kubeconfig)
    except AssertionError as refusal:
        if "is forbidden" in str(refusal):
            return False
        raise
    return True


def becomes_true(question: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not question():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True

"""The everyday life of the official Python client on `stowplan up`, reached by the kubeconfig that it writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kubernetes
import pytest

from tests.integration.up.up_process import Up, running

# The types of the client say less than it does.
OFFICIAL: Any = kubernetes
NODES = ["node-0001", "node-0002", "node-0003"]
CONTAINER = {"name": "c", "image": "web:1", "resources": {"requests": {"cpu": "100m"}}}


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running(tmp_path_factory.mktemp("official"), "--nodes", "3") as up:
        yield up


@pytest.fixture(scope="module")
def api(up: Up) -> Any:
    return OFFICIAL.config.new_client_from_config(str(up.folder / ".stowplan" / "kubeconfig"))


@pytest.fixture(scope="module")
def core(api: Any) -> Any:
    return OFFICIAL.client.CoreV1Api(api)


@pytest.fixture(scope="module")
def apps(api: Any) -> Any:
    return OFFICIAL.client.AppsV1Api(api)


@pytest.fixture
def namespace(up: Up, core: Any, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name).replace("_", "-").removeprefix("test-")[:60].strip("-")
    core.create_namespace({"metadata": {"name": name}})
    up.until(lambda: bool(core.list_namespaced_service_account(name).items))
    return name


def pod(name: str, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [CONTAINER]}}


def deployment(replicas: int) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [CONTAINER]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def names(found: Any) -> list[str]:
    return [item.metadata.name for item in found.items]


def refused(call: Callable[[], object]) -> tuple[int, str]:
    """The code and the reason with which a call is refused."""
    with pytest.raises(OFFICIAL.client.ApiException) as caught:
        call()
    return caught.value.status, json.loads(caught.value.body)["reason"]


def test_a_pod_is_created_read_placed_and_deleted(up: Up, core: Any, namespace: str) -> None:
    made = core.create_namespaced_pod(namespace, pod("a"))
    assert (made.status.phase, made.status.qos_class) == ("Pending", "Burstable")
    up.until(lambda: core.read_namespaced_pod("a", namespace).status.phase == "Running")
    assert core.read_namespaced_pod("a", namespace).spec.node_name in NODES
    core.delete_namespaced_pod("a", namespace, grace_period_seconds=0)
    assert refused(lambda: core.read_namespaced_pod("a", namespace)) == (404, "NotFound")


def test_a_manifest_is_created_from_yaml(up: Up, api: Any, apps: Any, namespace: str, tmp_path: Path) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(json.dumps(deployment(2)), encoding="utf-8")
    OFFICIAL.utils.create_from_yaml(api, str(file), namespace=namespace)
    up.until(lambda: apps.read_namespaced_deployment("web", namespace).status.available_replicas == 2)


def test_lists_go_by_selectors_and_pages(core: Any, namespace: str) -> None:
    for number in range(5):
        core.create_namespaced_pod(namespace, pod(f"p{number}", parity="odd" if number % 2 else "even"))
    assert names(core.list_namespaced_pod(namespace, label_selector="parity=even")) == ["p0", "p2", "p4"]
    assert names(core.list_namespaced_pod(namespace, label_selector="parity notin (even)")) == ["p1", "p3"]
    assert names(core.list_namespaced_pod(namespace, field_selector="metadata.name=p3")) == ["p3"]
    first = core.list_namespaced_pod(namespace, limit=2)
    assert (names(first), first.metadata.remaining_item_count) == (["p0", "p1"], 3)
    rest = core.list_namespaced_pod(namespace, limit=5, _continue=first.metadata._continue)
    assert names(rest) == ["p2", "p3", "p4"]


def test_a_deployment_is_scaled_and_rolled_out(up: Up, core: Any, apps: Any, namespace: str) -> None:
    apps.create_namespaced_deployment(namespace, deployment(1))
    apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 3}})
    assert apps.read_namespaced_deployment_scale("web", namespace).spec.replicas == 3
    up.until(lambda: apps.read_namespaced_deployment("web", namespace).status.ready_replicas == 3)
    image = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "web:2"}]}}}}
    changed = apps.patch_namespaced_deployment("web", namespace, image)

    def is_rolled_out() -> bool:
        status = apps.read_namespaced_deployment("web", namespace).status
        is_seen = status.observed_generation >= changed.metadata.generation
        return is_seen and (status.updated_replicas, status.available_replicas, status.replicas) == (3, 3, 3)

    up.until(is_rolled_out)
    up.until(lambda: len(core.list_namespaced_pod(namespace).items) == 3)
    images = {item.spec.containers[0].image for item in core.list_namespaced_pod(namespace).items}
    assert images == {"web:2"}
    assert len(apps.list_namespaced_replica_set(namespace).items) == 2


def test_who_writes_what_is_no_longer_true_is_told(core: Any, namespace: str) -> None:
    made = core.create_namespaced_config_map(namespace, {"metadata": {"name": "c"}, "data": {"k": "1"}})
    made.data = {"k": "2"}
    core.replace_namespaced_config_map("c", namespace, made)
    made.data = {"k": "3"}
    assert refused(lambda: core.replace_namespaced_config_map("c", namespace, made)) == (409, "Conflict")
    assert core.read_namespaced_config_map("c", namespace).data == {"k": "2"}


def test_a_node_is_cordoned_tainted_and_drained(up: Up, core: Any, namespace: str) -> None:
    core.create_namespaced_pod(namespace, pod("a"))
    up.until(lambda: core.read_namespaced_pod("a", namespace).status.phase == "Running")
    node = core.read_namespaced_pod("a", namespace).spec.node_name
    taint = {"key": "down", "value": "soon", "effect": "NoSchedule"}
    core.patch_node(node, {"spec": {"unschedulable": True, "taints": [taint]}})
    found = core.read_node(node).spec
    assert found.unschedulable
    assert ("down", "soon", "NoSchedule") in [(one.key, one.value, one.effect) for one in found.taints]
    core.create_namespaced_pod_eviction("a", namespace, {"metadata": {"name": "a"}})
    up.until(lambda: names(core.list_namespaced_pod(namespace)) == [])
    core.create_namespaced_pod(namespace, pod("b"))
    up.until(lambda: core.read_namespaced_pod("b", namespace).status.phase == "Running")
    assert core.read_namespaced_pod("b", namespace).spec.node_name in set(NODES) - {node}
    core.patch_node(node, {"spec": {"unschedulable": None, "taints": None}})
    assert core.read_node(node).spec.taints is None


def test_a_watch_tells_the_life_of_a_pod(core: Any, namespace: str) -> None:
    stream, told = OFFICIAL.watch.Watch(), []
    core.create_namespaced_pod(namespace, pod("a"))
    for event in stream.stream(core.list_namespaced_pod, namespace, timeout_seconds=60):
        seen = event["object"]
        told.append((event["type"], seen.status.phase))
        if told.count(("MODIFIED", "Running")) == 1 and told[-1] == ("MODIFIED", "Running"):
            core.delete_namespaced_pod("a", namespace, grace_period_seconds=0)
        if event["type"] == "DELETED":
            stream.stop()
    assert (told[0][0], told[-1][0]) == ("ADDED", "DELETED")
    assert ("MODIFIED", "Running") in told


def test_everything_is_found_and_applied_by_the_dynamic_client(api: Any, namespace: str) -> None:
    discovering = OFFICIAL.dynamic.DynamicClient(api)
    kinds = [("v1", "Node"), ("policy/v1", "PodDisruptionBudget"), ("coordination.k8s.io/v1", "Lease")]
    found = [discovering.resources.get(api_version=version, kind=kind) for version, kind in kinds]
    assert [(each.name, each.namespaced) for each in found] == [
        ("nodes", False),
        ("poddisruptionbudgets", True),
        ("leases", True),
    ]
    deployments = discovering.resources.get(api_version="apps/v1", kind="Deployment")
    applied = discovering.server_side_apply(
        deployments, body=deployment(1), name="web", namespace=namespace, field_manager="tests", force_conflicts=True
    )
    (manager,) = [each for each in applied.metadata.managedFields if each.manager == "tests"]
    assert (manager.operation, applied.spec.replicas) == ("Apply", 1)


def test_a_custom_resource_lives_like_any_other(up: Up, api: Any) -> None:
    names_of_kind = {"plural": "ships", "singular": "ship", "kind": "Ship"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "sea.example", "scope": "Namespaced", "names": names_of_kind, "versions": [version]}
    definitions, custom = OFFICIAL.client.ApiextensionsV1Api(api), OFFICIAL.client.CustomObjectsApi(api)
    definitions.create_custom_resource_definition({"metadata": {"name": "ships.sea.example"}, "spec": spec})
    ship = {"apiVersion": "sea.example/v1", "kind": "Ship", "metadata": {"name": "s"}, "spec": {"holds": 3}}
    where = ("sea.example", "v1", "default", "ships")
    up.until(lambda: up.send("GET", "/apis/sea.example/v1/ships", None)[0] == 200)
    custom.create_namespaced_custom_object(*where, ship)
    custom.patch_namespaced_custom_object(*where, "s", {"spec": {"holds": 4}})
    assert custom.get_namespaced_custom_object(*where, "s")["spec"] == {"holds": 4}
    custom.delete_namespaced_custom_object(*where, "s")
    assert custom.list_namespaced_custom_object(*where)["items"] == []


def test_what_makes_no_sense_is_refused_in_words(core: Any, namespace: str) -> None:
    assert refused(
        lambda: core.create_namespaced_pod(namespace, {"metadata": {"name": "x"}, "spec": {"containers": []}})
    ) == (422, "Invalid")
    assert refused(lambda: core.list_namespaced_pod(namespace, label_selector="a in (")) == (400, "BadRequest")
    assert refused(lambda: core.create_namespace({"metadata": {"name": namespace}})) == (409, "AlreadyExists")


def test_a_namespace_goes_with_all_that_is_in_it(up: Up, core: Any, apps: Any, namespace: str) -> None:
    apps.create_namespaced_deployment(namespace, deployment(2))
    up.until(lambda: len(core.list_namespaced_pod(namespace).items) == 2)
    core.delete_namespace(namespace)
    up.until(lambda: up.send("GET", f"/api/v1/namespaces/{namespace}", None)[0] == 404)
    assert names(core.list_namespaced_pod(namespace)) == []

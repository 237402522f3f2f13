"""Items of lists that are told apart by a key, and come without it: refused by name, in whatever way they come."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.embedded.running import Cluster, make_api, make_namespace, running
from tests.integration.embedded.talking import Caller

CORE, APPS = "/api/v1/namespaces/default", "/apis/apps/v1/namespaces/default"
TEMPLATE: dict[str, Any] = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SELECTOR = {"matchLabels": {"a": "b"}}
ONCE = {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
STORAGE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
PODS_OF = {"selector": SELECTOR, "template": TEMPLATE}
#: Collection and spec of an object of each kind that has conditions.
KINDS = {
    "Deployment": (f"{APPS}/deployments", PODS_OF),
    "ReplicaSet": (f"{APPS}/replicasets", PODS_OF),
    "StatefulSet": (f"{APPS}/statefulsets", {**PODS_OF, "serviceName": "s"}),
    "DaemonSet": (f"{APPS}/daemonsets", PODS_OF),
    "Job": ("/apis/batch/v1/namespaces/default/jobs", {"template": ONCE}),
    "ReplicationController": (f"{CORE}/replicationcontrollers", {"selector": {"a": "b"}, "template": TEMPLATE}),
    "Pod": (f"{CORE}/pods", TEMPLATE["spec"]),
    "Node": ("/api/v1/nodes", {}),
    "Namespace": ("/api/v1/namespaces", {}),
    "PersistentVolumeClaim": (f"{CORE}/persistentvolumeclaims", STORAGE),
    "Service": (f"{CORE}/services", {"ports": [{"port": 80}]}),
    "PodDisruptionBudget": (
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        {"minAvailable": 1, "selector": SELECTOR},
    ),
}
API_VERSIONS = {"apps": "apps/v1", "batch": "batch/v1", "policy": "policy/v1"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    api = make_api()
    make_namespace(api, "default")
    with running(api) as started:
        caller = Caller(started.port)
        for collection, spec in KINDS.values():
            reply = caller.post(collection, {"metadata": {"name": "web"}, "spec": spec})
            assert reply.code == 201, reply.text
        caller.close()
        yield started


@pytest.fixture
def caller(cluster: Cluster) -> Iterator[Caller]:
    made = Caller(cluster.port)
    yield made
    made.close()


def api_version(collection: str) -> str:
    _, root, group, *_ = collection.split("/")
    return "v1" if root == "api" else API_VERSIONS[group]


@pytest.mark.parametrize("condition", [{"status": "True"}, {"type": "", "status": "True"}], ids=["none", "empty"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_without_a_type_is_refused(caller: Caller, kind: str, condition: dict[str, str]) -> None:
    path = f"{KINDS[kind][0]}/web"
    before = caller.get(path).content
    told = {**before, "status": {**before.get("status", {}), "conditions": [condition]}}
    reply = caller.put(f"{path}/status", told)
    causes = {(cause["field"], cause["message"]) for cause in reply.content["details"]["causes"]}
    assert (reply.code, ("status.conditions[0].type", "Required value") in causes) == (422, True)
    assert caller.get(path).content == before


@pytest.mark.parametrize(
    "media_type", ["json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_without_a_type_is_refused_in_every_patch(caller: Caller, kind: str, media_type: str) -> None:
    collection = KINDS[kind][0]
    patch: Any = {"status": {"conditions": [{"status": "True"}]}}
    if media_type == "json-patch+json":
        patch = [{"op": "add", "path": "/status", "value": patch["status"]}]
    elif media_type == "apply-patch+yaml":
        patch = {"apiVersion": api_version(collection), "kind": kind, "metadata": {"name": "web"}, **patch}
    query = {"fieldManager": "me"} if media_type == "apply-patch+yaml" else {}
    reply = caller.patch(f"{collection}/web/status", patch, media_type, **query)
    assert (reply.code, "type" in reply.content["message"]) == (422, True), reply.text


def pod_with(**spec: Any) -> dict[str, Any]:
    return {**TEMPLATE["spec"], **spec}


def container_with(**more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i", **more}]}


#: Specs of pods in which an item lacks what tells it apart.
SPECS = {
    "a container": {"containers": [{"image": "i"}]},
    "a null as container": {"containers": [None]},
    "an init container": pod_with(initContainers=[{"image": "i"}]),
    "a volume": pod_with(volumes=[{"emptyDir": {}}]),
    "a claim": pod_with(resourceClaims=[{}]),
    "a gate": pod_with(schedulingGates=[{}]),
    "an alias": pod_with(hostAliases=[{"hostnames": ["a"]}]),
    "a secret": pod_with(imagePullSecrets=[{}]),
    "a constraint": pod_with(topologySpreadConstraints=[{"maxSkew": 1}]),
    "a variable": container_with(env=[{"value": "x"}]),
    "a port": container_with(ports=[{}]),
    "a mount": container_with(volumeMounts=[{"name": "x"}]),
    "a device": container_with(volumeDevices=[{"name": "x"}]),
    "a claim of a container": container_with(resources={"claims": [{}]}),
}
MANAGED, OTHER = {"fieldManager": "me"}, {"fieldManager": "somebody else"}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_no_list_with_an_item_without_its_key_is_an_error_of_the_server(caller: Caller, spec: dict[str, Any]) -> None:
    """It is refused, or taken where upstream takes it; whoever comes later finds nothing that cannot be patched."""
    path, wanted = f"{APPS}/deployments/web", {"spec": {"template": {"spec": spec}}}
    named = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    codes = [
        caller.post(f"{APPS}/deployments", {"metadata": {"generateName": "x"}, **_filled(spec)}, **MANAGED).code,
        caller.put(path, {**named, **_filled(spec)}, **MANAGED).code,
        caller.patch(path, [{"op": "add", "path": "/spec/template/spec", "value": spec}], "json-patch+json").code,
        caller.patch(path, wanted, "merge-patch+json", **MANAGED).code,
        caller.patch(path, wanted, "strategic-merge-patch+json", **MANAGED).code,
        caller.patch(path, json.dumps({**named, **wanted}), "apply-patch+yaml", **MANAGED).code,
        caller.patch(
            path, {**named, "metadata": {"name": "web", "labels": {"x": "y"}}}, "apply-patch+yaml", **OTHER
        ).code,
    ]
    assert [code for code in codes if code >= 500] == []
    assert codes[-1] == 200


def _filled(spec: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"selector": SELECTOR, "template": {**TEMPLATE, "spec": spec}}}

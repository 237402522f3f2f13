"""What is asked of an object beside reading and changing it, and objects that have two forms."""

from __future__ import annotations

import base64
from typing import Any

from tests.integration.embedded.talking import NODES, PODS, Caller, pod

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CORE_EVENTS = "/api/v1/namespaces/default/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def deployment(name: str, replicas: int) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": pod("x")["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def test_a_pod_is_bound_once(caller: Caller) -> None:
    caller.post(NODES, {"metadata": {"name": "n1"}})
    caller.post(PODS, pod("p"))
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    first, second = caller.post(f"{PODS}/p/binding", binding), caller.post(f"{PODS}/p/binding", binding)
    assert (first.code, first.content["status"]) == (201, "Success")
    assert (second.code, second.content["reason"]) == (409, "Conflict")
    assert caller.get(f"{PODS}/p").content["spec"]["nodeName"] == "n1"


def test_a_binding_may_name_the_pod_itself(caller: Caller) -> None:
    caller.post(PODS, pod("p"))
    body = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    assert caller.post("/api/v1/namespaces/default/bindings", body).code == 201
    assert caller.get(f"{PODS}/p").content["spec"]["nodeName"] == "n1"


def test_an_eviction_deletes_a_pod(caller: Caller) -> None:
    caller.post(PODS, pod("p"))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert caller.post(f"{PODS}/p/eviction", eviction).code == 201
    assert caller.get(f"{PODS}/p").code == 404


def test_the_scale_is_read_and_changed(caller: Caller) -> None:
    caller.post(DEPLOYMENTS, deployment("d", 2))
    path = f"{DEPLOYMENTS}/d/scale"
    scale = caller.get(path).content
    assert (scale["kind"], scale["spec"]["replicas"]) == ("Scale", 2)
    assert caller.put(path, {**scale, "spec": {"replicas": 3}}).content["spec"]["replicas"] == 3
    assert caller.patch(path, {"spec": {"replicas": 4}}).content["spec"]["replicas"] == 4
    assert caller.get(f"{DEPLOYMENTS}/d").content["spec"]["replicas"] == 4


def test_a_service_account_is_given_a_token(caller: Caller) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    reply = caller.post(path, {"spec": {"expirationSeconds": 600}})
    assert (reply.code, reply.content["kind"]) == (201, "TokenRequest")
    assert reply.content["status"]["token"].count(".") == 2


def test_an_event_is_seen_in_either_form(caller: Caller) -> None:
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.com/me",
        "reportingInstance": "me-1",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": about,
        "note": "done",
        "type": "Normal",
    }
    made = caller.post(NEW_EVENTS, event)
    assert (made.code, made.content["note"]) == (201, "done")
    core = caller.get(f"{CORE_EVENTS}/e").content
    assert (core["apiVersion"], core["message"], core["involvedObject"]) == ("v1", "done", about)
    assert core["reportingComponent"] == "example.com/me"
    listed = caller.get(NEW_EVENTS, fieldSelector="regarding.name=p").content["items"]
    assert [(item["apiVersion"], item["note"]) for item in listed] == [("events.k8s.io/v1", "done")]
    (told,) = caller.watch(CORE_EVENTS, fieldSelector="involvedObject.name=p", timeoutSeconds=1)
    assert (told["object"]["apiVersion"], told["object"]["message"]) == ("v1", "done")


def test_kubectl_may_send_protobuf(caller: Caller) -> None:
    secret = "azhzAAoMCgJ2MRIGU2VjcmV0Eh8KEQoBcxIAGgAiACoAMgA4AEIAEgYKAWsSAXYaACgBGgAiAA=="
    path = "/api/v1/namespaces/default/secrets"
    reply = caller.post(path, base64.b64decode(secret), "application/vnd.kubernetes.protobuf")
    assert (reply.code, reply.content["data"]) == (201, {"k": "dg=="})

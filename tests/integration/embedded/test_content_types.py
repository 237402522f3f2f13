"""A body says what it is: what a web page can send without asking first (no content type, text, a form) is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.embedded.running import Cluster, running
from tests.integration.embedded.talking import CONFIG_MAPS, PODS, Caller, config_map, pod

BODIES = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
UNNAMED = "; the request has no Content-Type: send application/json if the body is JSON"
PATCHES = (
    "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, "
    "application/apply-patch+yaml"
)
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BINDING = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
REVIEW = {"spec": {"resourceAttributes": {"verb": "get"}}}
TOKEN = {"spec": {"expirationSeconds": 3600}}
SCALE = {"metadata": {"name": "d"}, "spec": {"replicas": 5}}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]},
    },
}
UNKNOWN = [
    pytest.param({}, id="none"),
    pytest.param({"Content-Type": ""}, id="empty"),
    pytest.param({"Content-Type": "text/plain"}, id="text"),
    pytest.param({"Content-Type": "text/plain;charset=UTF-8"}, id="text as pages send it"),
    pytest.param({"Content-Type": "application/x-www-form-urlencoded"}, id="a form"),
    pytest.param({"Content-Type": "multipart/form-data; boundary=x"}, id="a form with files"),
    pytest.param({"Content-Type": "text/plain; application/json"}, id="a known one as a parameter"),
    pytest.param({"Content-Type": "text/plain, application/json"}, id="a known one besides"),
    pytest.param({"Content-Type": "; application/json"}, id="only parameters"),
]
SENT: list[tuple[str, str, Any, str]] = [
    ("POST", PODS, pod("new"), BODIES),
    ("PUT", f"{CONFIG_MAPS}/kept", config_map("kept", "changed"), BODIES),
    ("DELETE", f"{CONFIG_MAPS}/kept", {"gracePeriodSeconds": 0}, BODIES),
    ("DELETE", CONFIG_MAPS, {"gracePeriodSeconds": 0}, BODIES),
    ("PUT", f"{PODS}/p/status", pod("p"), BODIES),
    ("POST", f"{PODS}/p/binding", BINDING, BODIES),
    ("POST", "/api/v1/namespaces/default/bindings", BINDING, BODIES),
    ("POST", f"{PODS}/p/eviction", EVICTION, BODIES),
    ("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", TOKEN, BODIES),
    ("PUT", f"{DEPLOYMENTS}/d/scale", SCALE, BODIES),
    ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", REVIEW, BODIES),
    ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "t"}}, BODIES),
    ("PATCH", f"{CONFIG_MAPS}/kept", {"data": {"value": "changed"}}, PATCHES),
    ("PATCH", f"{CONFIG_MAPS}/missing", {"data": {"value": "changed"}}, PATCHES),
    ("PATCH", f"{PODS}/p/status", {"status": {"phase": "Failed"}}, PATCHES),
    ("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 5}}, PATCHES),
]


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    """One server with one of each; nothing here changes it."""
    with running() as cluster:
        caller = Caller(cluster.port)
        for path, obj in ((CONFIG_MAPS, config_map("kept", "as it was")), (PODS, pod("p")), (DEPLOYMENTS, DEPLOYMENT)):
            assert caller.post(path, obj).code == 201
        caller.close()
        yield cluster


@pytest.fixture
def caller(shared: Cluster) -> Iterator[Caller]:
    caller = Caller(shared.port)
    yield caller
    caller.close()


@pytest.mark.parametrize("headers", UNKNOWN)
def test_a_body_of_an_unknown_kind_is_refused_in_upstreams_words(
    shared: Cluster, caller: Caller, headers: dict[str, str]
) -> None:
    before = shared.call(lambda: shared.api.store.version)
    for method, path, body, accepted in SENT:
        reply = caller.send(method, path, body, headers)
        assert (reply.code, reply.content.get("reason")) == (415, "UnsupportedMediaType"), (method, path)
        told = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
        is_told_more = accepted == BODIES and not headers.get("Content-Type")
        assert reply.content["message"] == told + (UNNAMED if is_told_more else "")
    assert shared.call(lambda: shared.api.store.version) == before


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON", "application/json ;q=1"])
def test_parameters_and_letters_change_nothing(caller: Caller, kind: str) -> None:
    assert caller.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", REVIEW, kind).code == 201


def test_nothing_to_read_needs_no_kind(caller: Caller) -> None:
    assert caller.post(CONFIG_MAPS, config_map("gone")).code == 201
    assert caller.send("DELETE", f"{CONFIG_MAPS}/gone", None, {}).code == 200


@pytest.mark.parametrize(
    ("agent", "code"),
    [
        pytest.param("kubectl/v1.36.4 (linux/amd64) kubernetes/0123456", 201, id="kubectl create --raw"),
        pytest.param("my-operator/v0.0.0 (darwin/arm64) kubernetes/$Format", 201, id="client-go"),
        pytest.param("OpenAPI-Generator/37.0.2/python", 201, id="the official client for Python"),
        pytest.param("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/156.0.0.0", 415, id="a browser"),
        pytest.param("Mozilla/5.0 (X11; Linux) kubectl/v1 (linux/amd64) kubernetes/1", 415, id="a browser that lies"),
        pytest.param("curl/8.5.0", 415, id="somebody else"),
        pytest.param("", 415, id="nobody"),
    ],
)
def test_clients_of_kubernetes_may_send_json_without_saying_so(caller: Caller, agent: str, code: int) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert caller.send("POST", path, REVIEW, {"User-Agent": agent}).code == code

"""A request is read as a verb on objects or on a path."""

from __future__ import annotations

import pytest

from stowplan.embedded.authorization.rules import Question, of_attributes, of_request
from stowplan.embedded.requests.incoming import Incoming


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        pytest.param("GET", "/api/v1/pods", {}, Question("list", resource="pods"), id="a list of all namespaces"),
        pytest.param(
            "GET",
            "/api/v1/namespaces/shop/pods/web",
            {},
            Question("get", resource="pods", namespace="shop", name="web"),
            id="an object",
        ),
        pytest.param(
            "GET", "/api/v1/nodes", {"watch": "true"}, Question("watch", resource="nodes"), id="a watch of a collection"
        ),
        pytest.param(
            "GET",
            "/api/v1/nodes",
            {"watch": "false"},
            Question("list", resource="nodes"),
            id="a list that says that it is no watch",
        ),
        pytest.param(
            "GET",
            "/api/v1/namespaces/kube-system/configmaps",
            {"watch": "1", "fieldSelector": "metadata.name=one"},
            Question("watch", resource="configmaps", namespace="kube-system", name="one"),
            id="a watch of one name",
        ),
        pytest.param(
            "GET",
            "/api/v1/pods",
            {"fieldSelector": "metadata.name!=one,spec.nodeName=n"},
            Question("list", resource="pods"),
            id="a list of all names but one",
        ),
        pytest.param(
            "POST",
            "/apis/apps/v1/namespaces/shop/deployments",
            {},
            Question("create", "apps", "deployments", namespace="shop"),
            id="a creation",
        ),
        pytest.param(
            "PUT",
            "/apis/apps/v1/namespaces/shop/deployments/web/scale",
            {},
            Question("update", "apps", "deployments", "scale", "shop", "web"),
            id="an update of a part",
        ),
        pytest.param("PATCH", "/api/v1/nodes/n1", {}, Question("patch", resource="nodes", name="n1"), id="a patch"),
        pytest.param(
            "DELETE",
            "/api/v1/namespaces/shop/pods",
            {},
            Question("deletecollection", resource="pods", namespace="shop"),
            id="a deletion of many",
        ),
        pytest.param(
            "GET",
            "/api/v1/namespaces/shop",
            {},
            Question("get", resource="namespaces", namespace="shop", name="shop"),
            id="a namespace is within itself",
        ),
        pytest.param(
            "PUT",
            "/api/v1/namespaces/shop/finalize",
            {},
            Question("update", resource="namespaces", subresource="finalize", namespace="shop", name="shop"),
            id="a part of a namespace",
        ),
        pytest.param(
            "GET",
            "/apis/foo.io/v1/namespaces/n/bars/b/c",
            {},
            Question("get", "foo.io", "bars", "c", "n", "b"),
            id="a resource that is not served",
        ),
        pytest.param("GET", "/apis/apps/v1", {}, Question("get", path="/apis/apps/v1"), id="discovery is a path"),
        pytest.param("HEAD", "/healthz", {}, Question("head", path="/healthz"), id="a path has the verb of its method"),
        pytest.param("GET", "/", {}, Question("get", path="/"), id="the root"),
    ],
)
def test_a_request_is_a_verb_on_something(method: str, path: str, query: dict[str, str], expected: Question) -> None:
    assert of_request(Incoming(method, path, query)) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"resourceAttributes": {"verb": "get", "group": "apps", "resource": "deployments", "subresource": "scale"}},
            Question("get", "apps", "deployments", "scale"),
            id="about objects",
        ),
        pytest.param(
            {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "shop", "name": "web"}},
            Question("get", resource="pods", namespace="shop", name="web"),
            id="about one object",
        ),
        pytest.param(
            {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}},
            Question("get", path="/metrics"),
            id="about a path",
        ),
    ],
)
def test_a_review_asks_about_something(spec: dict[str, object], expected: Question) -> None:
    assert of_attributes(spec) == expected

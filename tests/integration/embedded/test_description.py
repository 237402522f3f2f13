"""What the server says of itself over HTTP, and how that changes when custom resources come and go."""

from __future__ import annotations

from typing import Any

from tests.integration.embedded.talking import Caller, pod

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def definition(**version: Any) -> dict[str, Any]:
    """A definition of widgets, which have a size of at most 9."""
    size = {"type": "integer", "maximum": 9, "default": 1}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "default": {}, "properties": {"size": size}}},
    }
    column = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
    served = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [column],
        "subresources": {"status": {}},
        **version,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [served],
        },
    }


def widget(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def test_clients_are_given_the_form_of_discovery_that_they_ask_for(caller: Caller) -> None:
    assert caller.get("/api").content["kind"] == "APIVersions"
    assert caller.get("/apis").content["kind"] == "APIGroupList"
    assert caller.get("/apis/apps").content["kind"] == "APIGroup"
    assert caller.get("/apis/apps/v1").content["kind"] == "APIResourceList"
    reply = caller.get("/apis", accept=f"{AGGREGATED},application/json")
    assert reply.content["kind"] == "APIGroupDiscoveryList"
    assert reply.content_type == AGGREGATED


def test_groups_that_are_not_there_are_not_found(caller: Caller) -> None:
    for path in ("/apis/toast.io", "/apis/apps/v9", "/api/v2", "/openapi/v3/apis/toast.io/v1", "/openapi/v4"):
        assert caller.get(path).code == 404, path


def test_the_documents_that_the_index_names_are_there(caller: Caller) -> None:
    paths = caller.get("/openapi/v3").content["paths"]
    assert {"api/v1", "apis/apps/v1"} <= paths.keys()
    for root in ("api/v1", "apis/batch/v1"):
        content = caller.get(paths[root]["serverRelativeURL"]).content
        assert content["openapi"] == "3.0.0"
        assert f"/{root}" in next(iter(content["paths"]))
    assert caller.get("/openapi/v2").content["swagger"] == "2.0"


def test_a_definition_is_served_as_soon_as_it_is_created(caller: Caller) -> None:
    assert caller.get(WIDGETS).code == 404
    made = caller.post(DEFINITIONS, definition())
    assert made.code == 201
    names = made.content["status"]["acceptedNames"]
    assert (names["singular"], names["listKind"]) == ("widget", "WidgetList")
    conditions = {each["type"]: each["status"] for each in made.content["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert caller.get(WIDGETS).content["kind"] == "WidgetList"
    assert caller.get("/apis/example.com").content["preferredVersion"]["version"] == "v1"
    assert "apis/example.com/v1" in caller.get("/openapi/v3").content["paths"]


def test_the_schema_of_a_definition_shapes_and_checks_objects(caller: Caller) -> None:
    caller.post(DEFINITIONS, definition())
    made = caller.post(WIDGETS, widget("a", unknown=5))
    assert (made.code, made.content["spec"]) == (201, {"size": 1})
    refused = caller.post(WIDGETS, widget("b", size=10))
    assert refused.code == 422
    assert refused.content["message"] == (
        'Widget.example.com "b" is invalid: spec.size: Invalid value: 10: '
        "spec.size in body should be less than or equal to 9"
    )
    strict = caller.post(WIDGETS, widget("c", unknown=5), fieldValidation="Strict")
    assert (strict.code, strict.content["reason"]) == (400, "BadRequest")
    assert strict.content["message"] == (
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.unknown"'
    )
    patched = caller.patch(f"{WIDGETS}/a", {"spec": {"size": "large"}})
    assert patched.code == 422


def test_a_table_has_the_columns_of_the_definition_as_it_is_now(caller: Caller) -> None:
    caller.post(DEFINITIONS, definition())
    caller.post(WIDGETS, widget("a", size=4))
    assert caller.get(f"{WIDGETS}/a", accept=TABLE).content["rows"][0]["cells"] == ["a", 4]
    column = {"name": "Twice", "type": "string", "jsonPath": ".metadata.name"}
    patch = {"spec": {"versions": definition(additionalPrinterColumns=[column])["spec"]["versions"]}}
    assert caller.patch(f"{DEFINITIONS}/widgets.example.com", patch).code == 200
    assert caller.get(WIDGETS, accept=TABLE).content["rows"][0]["cells"] == ["a", "a"]


def test_objects_go_with_their_definition(caller: Caller) -> None:
    caller.post(DEFINITIONS, definition())
    caller.post(WIDGETS, widget("a"))
    assert caller.delete(f"{DEFINITIONS}/widgets.example.com").code == 200
    assert caller.get(WIDGETS).code == 404
    assert caller.get("/apis/example.com").code == 404
    caller.post(DEFINITIONS, definition())
    assert caller.get(WIDGETS).content["items"] == []


def test_a_definition_with_a_fault_is_refused(caller: Caller) -> None:
    refused = caller.post(DEFINITIONS, definition(schema={}))
    assert refused.code == 422
    assert refused.content["details"]["causes"][0]["field"] == "spec.versions[0].schema.openAPIV3Schema"
    assert caller.get(WIDGETS).code == 404


def test_a_definition_cannot_take_the_place_of_a_built_in_resource(caller: Caller) -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod("web")["spec"]},
        },
    }
    assert caller.post("/apis/apps/v1/namespaces/default/deployments", deployment).code == 201
    taken = definition()
    taken["metadata"]["name"] = "deployments.apps"
    taken["spec"] |= {"group": "apps", "names": {"plural": "deployments", "kind": "Deployment"}}
    made = caller.post(DEFINITIONS, taken)
    conditions = {each["type"]: each["status"] for each in made.content["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "False", "Established": "False"}
    assert caller.delete(f"{DEFINITIONS}/deployments.apps").code == 200
    (kept,) = caller.get("/apis/apps/v1/deployments").content["items"]
    assert kept["metadata"]["name"] == "web"

"""What OpenAPI version 3 says of the API."""

from __future__ import annotations

import json
from typing import Any

from stowplan.embedded.custom.definitions import resources_of
from stowplan.embedded.openapi import documents
from stowplan.embedded.storage.catalogue import Catalogue
from tests.unit.embedded.openapi.widgets import WIDGET_DEFINITION


def document(catalogue: Catalogue, group: str, version: str) -> dict[str, Any]:
    content = documents.document(catalogue, group, version)
    assert content is not None
    decoded: dict[str, Any] = json.loads(content)
    return decoded


def test_patches_declare_field_validation_so_that_kubectl_leaves_it_to_the_server() -> None:
    paths = document(Catalogue(), "apps", "v1")["paths"]
    patch = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert {"dryRun", "fieldValidation"} <= {parameter["name"] for parameter in patch["parameters"]}
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]


def test_the_schema_says_what_lists_are_merged_by_so_that_kubectl_need_not_know() -> None:
    schemas = document(Catalogue(), "", "v1")["components"]["schemas"]
    ports = schemas["io.k8s.api.core.v1.Container"]["properties"]["ports"]
    assert (ports["x-kubernetes-patch-strategy"], ports["x-kubernetes-patch-merge-key"]) == ("merge", "containerPort")
    assert ports["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]


def test_every_reference_of_a_document_leads_somewhere() -> None:
    catalogue = Catalogue()
    for root in documents.index(catalogue)["paths"]:
        _, *group, version = root.split("/")
        text = documents.document(catalogue, "".join(group), version)
        assert text is not None
        mentioned = {part.split(b'"')[0].decode() for part in text.split(b'"#/components/schemas/')[1:]}
        assert mentioned <= json.loads(text)["components"]["schemas"].keys()


def test_the_schema_of_a_kind_is_found_by_the_kind() -> None:
    schemas = document(Catalogue(), "", "v1")["components"]["schemas"]
    kinds = {"group": "", "version": "v1", "kind": "Pod"}
    (pod,) = [each for each in schemas.values() if each.get("x-kubernetes-group-version-kind") == [kinds]]
    assert pod["properties"]["spec"]["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}]
    spec = schemas["io.k8s.api.core.v1.PodSpec"]
    assert spec["required"] == ["containers"]
    assert spec["properties"]["nodeSelector"]["additionalProperties"]["type"] == "string"
    assert spec["properties"]["activeDeadlineSeconds"]["type"] == "integer"
    assert spec["properties"]["containers"]["items"] == {"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"}
    assert spec["properties"]["nodeName"]["description"].startswith("NodeName indicates in which node")


def test_an_older_release_is_described_as_it_is() -> None:
    specs = {
        release: document(Catalogue(release), "", "v1")["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]
        for release in ("1.36", "1.37")
    }
    assert "evictionResponders" in specs["1.37"]["properties"]
    assert "evictionResponders" not in specs["1.36"]["properties"]
    container = {"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"}
    assert specs["1.36"]["properties"]["containers"]["items"] == {"allOf": [container], "default": {}}


def test_a_custom_resource_is_described_by_its_definition_and_changes_the_hash() -> None:
    catalogue = Catalogue()
    assert documents.document(catalogue, "example.com", "v1") is None
    (widget,) = resources_of(WIDGET_DEFINITION)
    catalogue.add(widget)
    schema = document(catalogue, "example.com", "v1")["components"]["schemas"]["com.example.v1.Widget"]
    assert schema["properties"]["spec"]["properties"] == {"size": {"type": "integer"}}
    assert schema["properties"]["metadata"] == {
        "allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]
    }
    patch = document(catalogue, "example.com", "v1")["paths"][
        "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"
    ]
    assert "application/strategic-merge-patch+json" not in patch["patch"]["requestBody"]["content"]
    before = documents.index(catalogue)["paths"]["apis/example.com/v1"]
    changed = json.loads(json.dumps(WIDGET_DEFINITION).replace('"integer"}}', '"string"}}'))
    catalogue.add(resources_of(changed)[0])
    assert documents.index(catalogue)["paths"]["apis/example.com/v1"] != before


def test_the_index_names_where_each_document_is() -> None:
    paths = documents.index(Catalogue())["paths"]
    assert paths["api/v1"]["serverRelativeURL"].startswith("/openapi/v3/api/v1?hash=")
    assert paths["apis/apps/v1"]["serverRelativeURL"].startswith("/openapi/v3/apis/apps/v1?hash=")

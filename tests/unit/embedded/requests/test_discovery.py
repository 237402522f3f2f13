"""What the API says of itself, in both forms that clients ask for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stowplan.embedded.custom.definitions import resources_of
from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.openapi import documents, legacy
from stowplan.embedded.requests import discovery
from stowplan.embedded.storage.catalogue import Catalogue

BOTH = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)
WIDGET_DEFINITION: dict[str, Any] = {
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
                    }
                },
            }
        ],
    },
}


def named(entries: list[dict[str, Any]], name: str, key: str = "name") -> dict[str, Any]:
    """Find the one entry of a name."""
    (found,) = [entry for entry in entries if entry[key] == name]
    return found


def test_the_version_is_one_that_clients_of_that_release_accept() -> None:
    version = discovery.version()
    assert (version["major"], version["minor"], version["gitVersion"]) == ("1", "36", "v1.36.4+stowplan")


def test_the_core_group_has_one_version() -> None:
    assert discovery.core_versions("127.0.0.1:80") == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:80"}],
    }


def test_a_group_lists_its_preferred_version_first() -> None:
    assert discovery.group(Catalogue(), "autoscaling") == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "autoscaling",
        "versions": [
            {"groupVersion": "autoscaling/v2", "version": "v2"},
            {"groupVersion": "autoscaling/v1", "version": "v1"},
        ],
        "preferredVersion": {"groupVersion": "autoscaling/v2", "version": "v2"},
    }


def test_versions_are_ordered_by_how_stable_they_are() -> None:
    catalogue = Catalogue()
    for version in ("v1alpha1", "oddity", "v2beta1", "v10", "v2", "v1beta10", "v1beta2"):
        catalogue.add(Resource("example.com", version, "Widget", "widgets", "widget", is_custom=True))
    group = discovery.group(catalogue, "example.com")
    assert group is not None
    listed = [entry["version"] for entry in group["versions"]]
    assert listed == ["v10", "v2", "v2beta1", "v1beta10", "v1beta2", "v1alpha1", "oddity"]


@pytest.mark.parametrize("name", [pytest.param("", id="the core group"), pytest.param("toast.io", id="an unknown one")])
def test_what_is_no_group_is_not_described(name: str) -> None:
    assert discovery.group(Catalogue(), name) is None


def test_the_groups_are_listed_without_the_core_group() -> None:
    names = [group["name"] for group in discovery.group_list(Catalogue())["groups"]]
    assert names[:2] == ["apps", "events.k8s.io"]
    assert "" not in names


def test_a_version_lists_resources_and_their_parts() -> None:
    listing = discovery.resource_list(Catalogue(), "", "v1")
    assert listing is not None
    assert (listing["kind"], listing["groupVersion"]) == ("APIResourceList", "v1")
    assert named(listing["resources"], "pods") == {
        "name": "pods",
        "singularName": "pod",
        "namespaced": True,
        "kind": "Pod",
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        "shortNames": ["po"],
        "categories": ["all"],
    }
    assert named(listing["resources"], "pods/eviction") == {
        "name": "pods/eviction",
        "singularName": "",
        "namespaced": True,
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
        "verbs": ["create"],
    }
    assert named(listing["resources"], "nodes/status")["verbs"] == ["get", "patch", "update"]
    assert named(listing["resources"], "namespaces/finalize")["verbs"] == ["update"]


def test_a_version_that_is_not_served_is_not_described() -> None:
    assert discovery.resource_list(Catalogue(), "apps", "v1beta1") is None
    assert discovery.resource_list(Catalogue(), "", "v2") is None


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        pytest.param(BOTH, "v2", id="the first that is known"),
        pytest.param("application/json;v=v2beta1;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList", "v2beta1", id="beta"),
        pytest.param("application/json, */*", "", id="the plain form"),
        pytest.param("application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList,*/*", "", id="unknown"),
        pytest.param("application/json," + BOTH, "", id="the plain form if it is wanted more"),
        pytest.param("", "", id="nothing asked for"),
        pytest.param(";;=,=;", "", id="nonsense"),
    ],
)
def test_the_accept_header_says_which_form_is_wanted(accept: str, expected: str) -> None:
    assert discovery.aggregated_version(accept) == expected


def test_everything_at_once_names_the_kinds_of_parts() -> None:
    content = discovery.aggregated(Catalogue(), "v2", is_core=False)
    assert (content["kind"], content["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    (apps,) = [item for item in content["items"] if item["metadata"] == {"name": "apps"}]
    (version,) = apps["versions"]
    assert (version["version"], version["freshness"]) == ("v1", "Current")
    assert named(version["resources"], "deployments", "resource") == {
        "resource": "deployments",
        "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
        "scope": "Namespaced",
        "singularResource": "deployment",
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        "shortNames": ["deploy"],
        "categories": ["all"],
        "subresources": [
            {
                "subresource": "scale",
                "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
                "verbs": ["get", "patch", "update"],
            },
            {
                "subresource": "status",
                "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
                "verbs": ["get", "patch", "update"],
            },
        ],
    }


def test_the_core_group_at_once_is_apart_from_the_others() -> None:
    (core,) = discovery.aggregated(Catalogue(), "v2beta1", is_core=True)["items"]
    assert core["metadata"] == {}
    assert named(core["versions"][0]["resources"], "nodes", "resource")["scope"] == "Cluster"


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
    # Declared, kubectl would look for merge keys in the schema.
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]


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
    assert pod["properties"]["spec"]["allOf"] == [{"$ref": "#/components/schemas/v1.PodSpec"}]
    spec = schemas["v1.PodSpec"]
    assert spec["required"] == ["containers"]
    assert spec["properties"]["nodeSelector"]["additionalProperties"] == {"type": "string"}
    assert spec["properties"]["activeDeadlineSeconds"]["type"] == "integer"
    assert spec["properties"]["containers"]["items"] == {"allOf": [{"$ref": "#/components/schemas/v1.Container"}]}
    assert spec["properties"]["nodeName"]["description"].startswith("NodeName indicates in which node")


def test_a_custom_resource_is_described_by_its_definition_and_changes_the_hash() -> None:
    catalogue = Catalogue()
    assert documents.document(catalogue, "example.com", "v1") is None
    (widget,) = resources_of(WIDGET_DEFINITION)
    catalogue.add(widget)
    schema = document(catalogue, "example.com", "v1")["components"]["schemas"]["com.example.v1.Widget"]
    assert schema["properties"]["spec"]["properties"] == {"size": {"type": "integer"}}
    assert schema["properties"]["metadata"] == {"allOf": [{"$ref": "#/components/schemas/v1.ObjectMeta"}]}
    before = documents.index(catalogue)["paths"]["apis/example.com/v1"]
    changed = json.loads(json.dumps(WIDGET_DEFINITION).replace('"integer"}}', '"string"}}'))
    catalogue.add(resources_of(changed)[0])
    assert documents.index(catalogue)["paths"]["apis/example.com/v1"] != before


def test_the_index_names_where_each_document_is() -> None:
    paths = documents.index(Catalogue())["paths"]
    assert paths["api/v1"]["serverRelativeURL"].startswith("/openapi/v3/api/v1?hash=")
    assert paths["apis/apps/v1"]["serverRelativeURL"].startswith("/openapi/v3/apis/apps/v1?hash=")


def test_the_old_description_can_be_read_as_the_message_that_kubectl_asks_for() -> None:
    assert legacy.wants_protobuf("application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
    assert not legacy.wants_protobuf("application/json")
    # Field 1: "2.0"; field 2: the title and the version; fields 8 and 9, paths and definitions: empty.
    assert legacy.protobuf() == (
        b"\x0a\x032.0" + b"\x12\x1e" + b"\x0a\x0aKubernetes" + b"\x12\x10v1.36.4+stowplan" + b"\x42\x00" + b"\x4a\x00"
    )
    assert legacy.document()["swagger"] == "2.0"

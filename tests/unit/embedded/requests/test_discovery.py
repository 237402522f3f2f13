"""What the API says of itself, in both forms that clients ask for."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.requests import discovery
from stowplan.embedded.storage.catalogue import Catalogue

BOTH = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)


def named(entries: list[dict[str, Any]], name: str, key: str = "name") -> dict[str, Any]:
    """Find the one entry of a name."""
    (found,) = [entry for entry in entries if entry[key] == name]
    return found


@pytest.mark.parametrize(
    ("release", "minor", "before", "version"),
    [
        pytest.param("1.36", "36", "35", "v1.36.4+stowplan", id="the older"),
        pytest.param("1.37", "37", "36", "v1.37.1+stowplan", id="the newer"),
    ],
)
def test_the_version_is_one_that_clients_of_that_release_accept(
    release: str, minor: str, before: str, version: str
) -> None:
    told = discovery.version(Catalogue(release))
    assert (told["major"], told["minor"], told["gitVersion"]) == ("1", minor, version)
    assert (told["emulationMajor"], told["emulationMinor"]) == ("1", minor)
    assert (told["minCompatibilityMajor"], told["minCompatibilityMinor"]) == ("1", before)


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

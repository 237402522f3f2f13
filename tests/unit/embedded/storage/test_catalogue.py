"""The catalogue: what is served, how it is found, and what is not served for a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.storage.catalogue import BUILT_IN, Catalogue, unserved_subresource

WIDGET = Resource("example.com", "v1", "Widget", "widgets", "widget", is_custom=True)


@pytest.mark.parametrize(
    ("group", "version", "plural", "kind"),
    [
        pytest.param("", "v1", "pods", "Pod", id="core"),
        pytest.param("apps", "v1", "deployments", "Deployment", id="in a group"),
        pytest.param("autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", id="older version"),
        pytest.param("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup", id="alpha"),
        pytest.param("resource.k8s.io", "v1beta2", "devicetaintrules", "DeviceTaintRule", id="beta beside stable"),
    ],
)
def test_a_resource_is_found_by_its_path_and_by_its_kind(group: str, version: str, plural: str, kind: str) -> None:
    catalogue = Catalogue()
    found = catalogue.find(group, version, plural)
    assert found is not None
    assert found.kind == kind
    assert catalogue.of_kind(f"{group}/{version}" if group else version, kind) is found


def test_what_is_not_served_is_not_found() -> None:
    catalogue = Catalogue()
    assert catalogue.find("", "v1", "toasters") is None
    assert catalogue.find("apps", "v1beta1", "deployments") is None
    assert catalogue.of_kind("v1", "Deployment") is None


def test_a_custom_resource_comes_and_goes() -> None:
    catalogue = Catalogue()
    catalogue.add(WIDGET)
    assert catalogue.find("example.com", "v1", "widgets") is WIDGET
    assert catalogue.custom() == (WIDGET,)
    catalogue.remove(WIDGET)
    assert catalogue.find("example.com", "v1", "widgets") is None
    assert catalogue.of_kind("example.com/v1", "Widget") is None
    assert catalogue.all() == BUILT_IN


def test_a_resource_that_changes_its_kind_loses_the_old_one() -> None:
    catalogue = Catalogue()
    catalogue.add(WIDGET)
    renamed = replace(WIDGET, kind="Gadget")
    catalogue.add(renamed)
    assert catalogue.of_kind("example.com/v1", "Gadget") is renamed
    assert catalogue.of_kind("example.com/v1", "Widget") is None


def test_removing_what_is_not_served_changes_nothing() -> None:
    catalogue = Catalogue()
    catalogue.remove(WIDGET)
    assert catalogue.all() == BUILT_IN


def test_both_forms_of_an_event_are_one_object() -> None:
    catalogue = Catalogue()
    core, grouped = catalogue.find("", "v1", "events"), catalogue.find("events.k8s.io", "v1", "events")
    assert core is not None
    assert grouped is not None
    assert core.storage == grouped.storage == "events"
    # What one form calls involvedObject.name, the other calls regarding.name, at the same place.
    assert core.fields.index("involvedObject.name") == grouped.fields.index("regarding.name")
    assert core.fields.index("reportingComponent") == grouped.fields.index("reportingController")
    assert core.fields[: len(grouped.fields)][-1] == grouped.fields[-1] == "type"


def test_versions_of_one_resource_share_their_objects_and_others_do_not() -> None:
    keys = {resource.api_version: resource.storage for resource in BUILT_IN if resource.group == "autoscaling"}
    assert keys == {
        "autoscaling/v1": "horizontalpodautoscalers.autoscaling",
        "autoscaling/v2": "horizontalpodautoscalers.autoscaling",
    }
    assert len({resource.storage for resource in BUILT_IN}) == len(BUILT_IN) - 2


def test_no_two_resources_have_a_path_or_a_short_name_in_common() -> None:
    paths = [(resource.group, resource.version, resource.plural) for resource in BUILT_IN]
    assert len(set(paths)) == len(paths)
    short = [name for resource in BUILT_IN if resource.version == "v1" for name in resource.short_names]
    # Events are served twice, autoscalers are of version 2 as well.
    assert sorted(name for name in set(short) if short.count(name) > 1) == ["ev"]


@pytest.mark.parametrize(
    ("plural", "name", "words"),
    [
        pytest.param("pods", "log", "there are no logs", id="logs"),
        pytest.param("pods", "exec", "pods do not run containers", id="commands"),
        pytest.param("nodes", "proxy", "no network", id="proxies"),
    ],
)
def test_what_a_real_cluster_has_is_refused_with_a_reason(plural: str, name: str, words: str) -> None:
    resource = Catalogue().find("", "v1", plural)
    assert resource is not None
    assert words in (unserved_subresource(resource, name) or "")


def test_what_no_cluster_has_is_not_given_a_reason() -> None:
    pods = Catalogue().find("", "v1", "pods")
    assert pods is not None
    assert unserved_subresource(pods, "toast") is None
    assert unserved_subresource(WIDGET, "log") is None

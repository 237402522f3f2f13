"""The catalogue: what is served, how it is found, and what is not served for a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.storage.catalogue import BUILT_IN, Catalogue, all_of, unserved_subresource

WIDGET = Resource("example.com", "v1", "Widget", "widgets", "widget", is_custom=True)


@pytest.mark.parametrize(
    ("group", "version", "plural", "kind"),
    [
        pytest.param("", "v1", "pods", "Pod", id="core"),
        pytest.param("apps", "v1", "deployments", "Deployment", id="in a group"),
        pytest.param("autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", id="older version"),
    ],
)
def test_a_resource_is_found_by_its_path_and_by_its_kind(group: str, version: str, plural: str, kind: str) -> None:
    catalogue = Catalogue()
    found = catalogue.find(group, version, plural)
    assert found is not None
    assert found.kind == kind
    assert catalogue.of_kind(f"{group}/{version}" if group else version, kind) is found


ALL_GATES = frozenset(("GenericWorkload", "CompositePodGroup", "DRADeviceTaintRules"))


@pytest.mark.parametrize(
    ("release", "gates", "group", "served"),
    [
        pytest.param("1.37", frozenset(), "scheduling.k8s.io", ["v1/priorityclasses"], id="1.37 without gates"),
        pytest.param(
            "1.37",
            frozenset({"GenericWorkload"}),
            "scheduling.k8s.io",
            [
                "v1/priorityclasses",
                "v1alpha3/podgroups",
                "v1alpha3/workloads",
                "v1beta1/podgroups",
                "v1beta1/workloads",
            ],
            id="groups of 1.37",
        ),
        pytest.param(
            "1.37",
            ALL_GATES,
            "scheduling.k8s.io",
            [
                "v1/priorityclasses",
                "v1alpha3/compositepodgroups",
                "v1alpha3/podgroups",
                "v1alpha3/workloads",
                "v1beta1/podgroups",
                "v1beta1/workloads",
            ],
            id="groups of groups",
        ),
        pytest.param(
            "1.36",
            ALL_GATES,
            "scheduling.k8s.io",
            ["v1/priorityclasses", "v1alpha2/podgroups", "v1alpha2/workloads"],
            id="groups of 1.36",
        ),
        pytest.param(
            "1.37",
            frozenset(),
            "resource.k8s.io",
            [
                "v1/deviceclasses",
                "v1/devicetaintrules",
                "v1/resourceclaims",
                "v1/resourceclaimtemplates",
                "v1/resourceslices",
            ],
            id="taint rules of 1.37",
        ),
        pytest.param(
            "1.36",
            ALL_GATES,
            "resource.k8s.io",
            [
                "v1/deviceclasses",
                "v1/resourceclaims",
                "v1/resourceclaimtemplates",
                "v1/resourceslices",
                "v1beta2/devicetaintrules",
            ],
            id="taint rules of 1.36",
        ),
    ],
)
def test_a_release_serves_what_its_gates_are_on_for(
    release: str, gates: frozenset[str], group: str, served: list[str]
) -> None:
    found = [each for each in Catalogue(release, gates).all() if each.group == group]
    assert sorted(f"{each.version}/{each.plural}" for each in found) == served
    assert {each.release for each in found} == {release}


def test_it_is_told_which_gate_a_kind_is_not_served_without() -> None:
    catalogue = Catalogue("1.37", frozenset({"GenericWorkload"}))
    assert catalogue.gate_of("scheduling.k8s.io/v1alpha3", "CompositePodGroup") == "CompositePodGroup"
    assert catalogue.gate_of("scheduling.k8s.io/v1beta1", "PodGroup") == ""
    assert catalogue.gate_of("scheduling.k8s.io/v1alpha2", "PodGroup") == ""


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
    assert catalogue.all() == Catalogue().all()


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
    assert catalogue.all() == Catalogue().all()


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
    # Events, autoscalers, groups of pods and workloads are served twice.
    assert len({resource.storage for resource in BUILT_IN}) == len(BUILT_IN) - 4


def test_the_newest_release_is_the_usual_one() -> None:
    assert all_of("1.37") == BUILT_IN


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

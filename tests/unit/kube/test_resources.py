"""Where resources are served."""

from __future__ import annotations

import pytest

from stowplan.kube.resources import ALPHA_POD_GROUPS, PODS, RESOURCES, ApiResource, dynamic
from stowplan.model.json_values import MalformedObject
from stowplan.model.kinds import KINDS


@pytest.mark.parametrize(
    ("kind", "path", "name"),
    [
        pytest.param("Pod", "/api/v1/pods", "pods", id="core"),
        pytest.param("StatefulSet", "/apis/apps/v1/statefulsets", "statefulsets.apps", id="group"),
        pytest.param(
            "CSIStorageCapacity",
            "/apis/storage.k8s.io/v1/csistoragecapacities",
            "csistoragecapacities.storage.k8s.io",
            id="group with dots",
        ),
        pytest.param("PodGroup", "/apis/scheduling.k8s.io/v1beta1/podgroups", "podgroups.scheduling.k8s.io", id="beta"),
        pytest.param(
            "CommunityPodGroup",
            "/apis/scheduling.x-k8s.io/v1alpha1/podgroups",
            "podgroups.scheduling.x-k8s.io",
            id="the community's",
        ),
    ],
)
def test_a_kind_has_its_path(kind: str, path: str, name: str) -> None:
    assert (RESOURCES[kind].path, RESOURCES[kind].name) == (path, name)


def test_everything_upstream_watches_is_there() -> None:
    assert {resource.plural for resource in RESOURCES.values()} == {
        "pods",
        "nodes",
        "namespaces",
        "services",
        "replicationcontrollers",
        "replicasets",
        "statefulsets",
        "poddisruptionbudgets",
        "persistentvolumes",
        "persistentvolumeclaims",
        "storageclasses",
        "csinodes",
        "csidrivers",
        "csistoragecapacities",
        "volumeattachments",
        "resourceclaims",
        "resourceslices",
        "deviceclasses",
        "devicetaintrules",
        "podgroups",
        "compositepodgroups",
    }


def test_paths_agree_with_the_versions_that_the_structs_are_of() -> None:
    for resource in RESOURCES.values():
        if resource.model is not None:
            version = resource.prefix.removeprefix("/apis/").removeprefix("/api/")
            assert KINDS[version, resource.kind] is resource.model


def test_one_object_has_a_path() -> None:
    assert PODS.path_of("prod", "web") == "/api/v1/namespaces/prod/pods/web"
    assert PODS.path_in("prod") == "/api/v1/namespaces/prod/pods"
    assert RESOURCES["Node"].path_of("", "n1") == "/api/v1/nodes/n1"


def test_a_name_cannot_lead_elsewhere() -> None:
    assert PODS.path_of("a/b", "../x?y") == "/api/v1/namespaces/a%2Fb/pods/..%2Fx%3Fy"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "foos.v1.example.com", ApiResource("foos.v1.example.com", "/apis/example.com/v1", "foos"), id="any"
        ),
        pytest.param("configmaps.v1.", ApiResource("configmaps.v1.", "/api/v1", "configmaps"), id="core group"),
        pytest.param("pods.v1.", PODS, id="one that we have a struct for"),
        pytest.param("replicasets.v1.apps", RESOURCES["ReplicaSet"], id="one of a group that we have a struct for"),
    ],
)
def test_any_resource_can_be_named(text: str, expected: ApiResource) -> None:
    assert dynamic(text) == expected


@pytest.mark.parametrize("text", ["", "pods", "foos.v1", ".v1.example.com", "foos..example.com"])
def test_a_name_that_says_too_little_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected resource\.version\.group, such as foos\.v1\.example\.com"):
        dynamic(text)


def test_an_object_that_is_no_object_is_malformed() -> None:
    with pytest.raises(MalformedObject, match=r"^foos\.v1\.example\.com: "):
        dynamic("foos.v1.example.com").decode(b"[1]")


_ELSEWHERE = "; if it is of another release, start the scheduler without --emulated-version"


@pytest.mark.parametrize(
    ("resource", "remedy"),
    [
        pytest.param(
            ALPHA_POD_GROUPS,
            "start the API server with --feature-gates=GenericWorkload=true"
            " --runtime-config=scheduling.k8s.io/v1alpha2=true, and it will be picked up" + _ELSEWHERE,
            id="groups of 1.36",
        ),
        pytest.param(
            RESOURCES["DeviceTaintRule"],
            "start the API server with --runtime-config=resource.k8s.io/v1=true, and it will be picked up" + _ELSEWHERE,
            id="what a release serves by itself",
        ),
        pytest.param(
            RESOURCES["CommunityPodGroup"],
            "install what serves it, and it will be picked up",
            id="the community's groups",
        ),
        pytest.param(
            dynamic("foos.v1.example.com"), "install what serves it, and it will be picked up", id="a custom resource"
        ),
    ],
)
def test_what_to_do_where_it_is_not_served(resource: ApiResource, remedy: str) -> None:
    assert resource.remedy == remedy

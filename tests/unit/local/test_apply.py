"""Objects put into an embedded cluster in process: created, changed, or taken over from another one."""

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from stowplan.embedded.controllers import bootstrap
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.store import Store
from stowplan.local.apply import Applier
from stowplan.local.manifests import Manifest, ManifestError

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def make_api() -> Api:
    api = Api(Store(), Catalogue(), lambda: NOON, random.Random(1).getrandbits)
    bootstrap.ensure(api)
    return api


def config_map(name: str, **data: str) -> Manifest:
    metadata = {"name": name, "namespace": "default"}
    return Manifest("f.yaml", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def node(name: str, **metadata: Any) -> Manifest:
    content = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, **metadata}, "status": {"phase": "old"}}
    return Manifest("dump.yaml", content)


def found(api: Api, kind: str, namespace: str, name: str) -> dict[str, Any]:
    resource = api.catalogue.of_kind("v1", kind)
    assert resource is not None
    return api.get(resource, namespace, name)


def test_an_object_is_created_first_and_then_changed() -> None:
    api = make_api()
    applier = Applier(api)
    applier.apply(config_map("a", one="1"))
    before = found(api, "ConfigMap", "default", "a")
    applier.apply(config_map("a", one="2", two="2"))
    after = found(api, "ConfigMap", "default", "a")
    assert (before["data"], after["data"]) == ({"one": "1"}, {"one": "2", "two": "2"})
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_a_new_object_never_gets_the_uid_of_one_that_was_taken_over_from_a_server_with_the_same_seed() -> None:
    first, second = make_api(), make_api()
    Applier(first).apply(config_map("a"))
    copied = found(first, "ConfigMap", "default", "a")
    Applier(second).take_over(Manifest("dump.yaml", copied))
    Applier(second).apply(config_map("b"))
    assert found(second, "ConfigMap", "default", "a")["metadata"]["uid"] == copied["metadata"]["uid"]
    assert found(second, "ConfigMap", "default", "b")["metadata"]["uid"] != copied["metadata"]["uid"]


def test_an_object_of_a_server_keeps_uid_age_and_status() -> None:
    api = make_api()
    seen = node("n", uid="u-1", creationTimestamp="2025-01-01T00:00:00Z", resourceVersion="99", managedFields=[{}])
    applier = Applier(api)
    assert applier.is_from_a_server(seen)
    applier.take_over(seen)
    kept = found(api, "Node", "", "n")
    assert kept["metadata"] == {
        "name": "n",
        "uid": "u-1",
        "creationTimestamp": "2025-01-01T00:00:00Z",
        "resourceVersion": str(api.store.version),
    }
    assert kept["status"] == {"phase": "old"}


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(node("n"), id="no uid"),
        pytest.param(node("n", uid="u"), id="no age"),
        pytest.param(
            Manifest(
                "f",
                {
                    "apiVersion": "apiextensions.k8s.io/v1",
                    "kind": "CustomResourceDefinition",
                    "metadata": {"name": "n", "uid": "u", "creationTimestamp": "2025-01-01T00:00:00Z"},
                },
            ),
            id="a definition, which has to be applied to be served",
        ),
    ],
)
def test_what_no_server_has_completed_is_applied(manifest: Manifest) -> None:
    assert not Applier(make_api()).is_from_a_server(manifest)


def test_a_namespace_that_was_not_given_is_made_once() -> None:
    api = make_api()
    applier = Applier(api)
    other = Manifest("f", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}})
    with pytest.raises(ManifestError, match='f: ConfigMap shop/a: namespaces "shop" not found'):
        applier.apply(other)
    applier.ensure_namespace(other)
    uid = found(api, "Namespace", "", "shop")["metadata"]["uid"]
    applier.ensure_namespace(other)
    assert found(api, "Namespace", "", "shop")["metadata"]["uid"] == uid
    applier.apply(other)


def test_a_kind_that_is_not_served_is_refused_with_what_to_do() -> None:
    unknown = Manifest("f.yaml", {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}})
    problem = (
        r"f\.yaml: Foo a: this cluster does not serve Foo of example\.com/v1; give its CustomResourceDefinition first"
    )
    with pytest.raises(ManifestError, match=problem):
        Applier(make_api()).apply(unknown)


@pytest.mark.parametrize(
    ("version", "kind", "remedy"),
    [
        pytest.param("apps/v1", "Deploymnet", "did you mean Deployment?", id="a kind that is misspelled"),
        pytest.param("v1", "Deployment", "it is of apps/v1", id="a kind of another version"),
        pytest.param(
            "scheduling.x-k8s.io/v1alpha1",
            "PriorityClass",
            "give its CustomResourceDefinition first, or write scheduling.k8s.io/v1 if that is meant",
            id="a kind of the same name",
        ),
        pytest.param(
            "scheduling.k8s.io/v1beta1",
            "PodGroup",
            "switch it on with --feature-gates=GenericWorkload=true",
            id="a kind that a feature gate is off for",
        ),
        pytest.param(
            "scheduling.k8s.io/v1alpha2",
            "PodGroup",
            "it is of scheduling.k8s.io/v1beta1; switch it on with --feature-gates=GenericWorkload=true",
            id="a kind of another release that a feature gate is off for",
        ),
        pytest.param("v1", "Foo", "give its CustomResourceDefinition first", id="a kind of nobody"),
    ],
)
def test_what_was_meant_by_a_kind_that_is_not_served_is_guessed(version: str, kind: str, remedy: str) -> None:
    unknown = Manifest("f.yaml", {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}})
    with pytest.raises(ManifestError) as refused:
        Applier(make_api()).apply(unknown)
    assert str(refused.value) == f"f.yaml: {kind} a: this cluster does not serve {kind} of {version}; {remedy}"


def test_in_136_a_group_needs_the_gate_that_schedules_it_too() -> None:
    content = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "a"}}
    api = Api(Store(), Catalogue("1.36"), lambda: NOON, random.Random(1).getrandbits)
    with pytest.raises(ManifestError, match=r"--feature-gates=GenericWorkload=true,GangScheduling=true$"):
        Applier(api).apply(Manifest("f.yaml", content))


def test_an_object_of_a_server_that_is_none_is_refused() -> None:
    api = make_api()
    wrong = node("n", uid="u-1", creationTimestamp="then")
    with pytest.raises(ManifestError, match=r'dump\.yaml: Node n: .* cannot parse "then"'):
        Applier(api).take_over(wrong)


TYPELESS = {"conditions": [{"status": "True"}]}


def test_a_dump_with_a_condition_without_a_type_is_refused() -> None:
    content = {**node("n", uid="u", creationTimestamp="2020-01-01T00:00:00Z").content, "status": TYPELESS}
    with pytest.raises(ManifestError, match=r'Node "n" is invalid: status.conditions\[0\].type: Required value'):
        Applier(make_api()).take_over(Manifest("dump.yaml", content))


def test_a_status_that_counts_has_no_condition_without_a_type() -> None:
    metadata = {"name": "a", "namespace": "default"}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": TYPELESS}
    with pytest.raises(ManifestError, match=r'Pod "a" is invalid: status.conditions\[0\].type: Required value'):
        Applier(make_api(), keeps_status=True).apply(Manifest("f.yaml", pod))

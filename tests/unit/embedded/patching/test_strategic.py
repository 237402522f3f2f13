"""Strategic merge patch: lists by their keys, directives, order, and patches that make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching.strategic import merged
from stowplan.embedded.types import release
from tests.unit.embedded.patching.resources import BUDGET, DEPLOYMENT, POD

WEB = {"name": "web", "image": "web:1"}
LOG = {"name": "log", "image": "log:1"}


def spec_after(spec: Object, patch: Object, resource: Resource = POD) -> Object:
    """The spec after a patch of the spec alone."""
    schema = release.of_kind(resource)
    assert schema is not None
    result: Object = merged({"spec": spec}, {"spec": patch}, schema)["spec"]
    return result


@pytest.mark.parametrize(
    ("spec", "patch", "expected"),
    [
        pytest.param(
            {"containers": [WEB, LOG]},
            {"containers": [{"name": "log", "image": "log:2"}]},
            {"containers": [WEB, {"name": "log", "image": "log:2"}]},
            id="a container is merged by name and keeps its place",
        ),
        pytest.param(
            {"containers": [WEB]},
            {"containers": [{"name": "new", "image": "new:1"}]},
            {"containers": [{"name": "new", "image": "new:1"}, WEB]},
            id="a new container comes before those that the patch does not name",
        ),
        pytest.param(
            {"containers": [{**WEB, "ports": [{"containerPort": 80, "protocol": "TCP"}]}]},
            {"containers": [{"name": "web", "ports": [{"containerPort": 80, "protocol": "UDP"}]}]},
            {"containers": [{**WEB, "ports": [{"containerPort": 80, "protocol": "UDP"}]}]},
            id="ports are told apart by containerPort alone",
        ),
        pytest.param(
            {"tolerations": [{"key": "a"}]},
            {"tolerations": [{"key": "b"}]},
            {"tolerations": [{"key": "b"}]},
            id="tolerations are replaced",
        ),
        pytest.param(
            {"containers": [WEB, LOG]},
            {"containers": [{"name": "web", "$patch": "delete"}]},
            {"containers": [LOG]},
            id="a directive deletes an item",
        ),
        pytest.param(
            {"containers": [WEB, LOG]},
            {"containers": [{"name": "new", "image": "new:1"}, {"$patch": "replace"}]},
            {"containers": [{"name": "new", "image": "new:1"}]},
            id="a directive replaces a list",
        ),
        pytest.param(
            {"nodeSelector": {"disk": "ssd"}},
            {"nodeSelector": {"zone": "a", "$patch": "replace"}},
            {"nodeSelector": {"zone": "a"}},
            id="a directive replaces a map",
        ),
        pytest.param(
            {"nodeSelector": {"disk": "ssd"}, "hostname": "h"},
            {"nodeSelector": {"$patch": "delete"}, "hostname": None},
            {"nodeSelector": {}},
            id="a directive empties a map and null removes a member",
        ),
        pytest.param(
            {"volumes": [{"name": "data", "emptyDir": {}}]},
            {"volumes": [{"name": "data", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/d"}}]},
            {"volumes": [{"name": "data", "hostPath": {"path": "/d"}}]},
            id="only the retained keys of a volume stay",
        ),
        pytest.param(
            {"containers": [WEB, LOG]},
            {"$setElementOrder/containers": [{"name": "log"}, {"name": "web"}]},
            {"containers": [LOG, WEB]},
            id="an order alone sorts what is there",
        ),
        pytest.param(
            {"containers": [{"name": "sidecar"}, WEB, LOG]},
            {
                "$setElementOrder/containers": [{"name": "log"}, {"name": "web"}],
                "containers": [{"name": "log", "image": "log:2"}],
            },
            {"containers": [{"name": "sidecar"}, {"name": "log", "image": "log:2"}, WEB]},
            id="what the order does not name stays where it was",
        ),
        pytest.param(
            {},
            {"containers": [{"name": "web", "image": None, "$patch": "delete"}, WEB], "nodeSelector": {"a": None}},
            {"containers": [WEB], "nodeSelector": {}},
            id="directives and nulls of new values are left out",
        ),
    ],
)
def test_a_pod_spec_is_merged(spec: Object, patch: Object, expected: Object) -> None:
    assert spec_after(spec, patch) == expected


def test_the_strategy_of_a_deployment_keeps_only_what_the_patch_retains() -> None:
    spec = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}
    patch = {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
    assert spec_after(spec, patch, DEPLOYMENT) == {"strategy": {"type": "Recreate"}}


def test_the_selector_of_a_disruption_budget_is_replaced() -> None:
    spec = {"selector": {"matchLabels": {"app": "a", "tier": "b"}}}
    patch = {"selector": {"matchLabels": {"app": "c"}}}
    assert spec_after(spec, patch, BUDGET) == {"selector": {"matchLabels": {"app": "c"}}}


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param({"finalizers": ["c", "a"]}, ["c", "a", "b"], id="members are added, in the order of the patch"),
        pytest.param({"$deleteFromPrimitiveList/finalizers": ["a"]}, ["b"], id="members are deleted"),
        pytest.param({"$setElementOrder/finalizers": ["b", "a"]}, ["b", "a"], id="members are put in order"),
        pytest.param(
            {"$setElementOrder/finalizers": ["c", "b"], "finalizers": ["c"]},
            ["c", "a", "b"],
            id="one that the order leaves out stays before what came after it",
        ),
    ],
)
def test_finalizers_are_a_set(patch: Object, expected: list[str]) -> None:
    result = merged(
        {"metadata": {"finalizers": ["a", "b"]}}, {"metadata": patch}, release.type_named("io.k8s.api.core.v1.Pod")
    )
    assert result["metadata"]["finalizers"] == expected


@pytest.mark.parametrize(
    ("patch", "code", "problem"),
    [
        pytest.param(
            {"containers": [{"image": "x"}]},
            422,
            'map: {"image":"x"} does not contain declared merge key: name',
            id="an item without its key",
        ),
        pytest.param({"containers": [3]}, 422, "list element types are not identical", id="a list of other things"),
        pytest.param({"containers": [[]]}, 422, "lists of lists are not supported", id="a list of lists"),
        pytest.param(
            {"containers": [{"name": "web", "$patch": "spam"}]},
            422,
            'unknown patch type: "spam" in map: {"$patch":"spam","name":"web"}',
            id="an unknown directive for an item",
        ),
        pytest.param(
            {"containers": [{"$patch": "merge"}]},
            422,
            "merging lists cannot yet be specified in the patch",
            id="a merge directive",
        ),
        pytest.param({"$patch": "spam"}, 422, 'unknown patch type: spam in map: {"$patch":"spam"}', id="for a map"),
        pytest.param({"$retainKeys": "a"}, 400, "invalid patch format of retainKeys", id="retainKeys not a list"),
        pytest.param(
            {"$retainKeys": ["containers"], "hostname": "h"},
            400,
            "invalid patch format of retainKeys",
            id="a member that is not retained",
        ),
        pytest.param(
            {"$deleteFromPrimitiveList": ["a"]},
            400,
            "invalid patch format of primitive list",
            id="a deletion that names no list",
        ),
        pytest.param(
            {"$setElementOrder/containers": 3},
            400,
            "invalid patch format of setElementOrder list",
            id="an order that is no list",
        ),
        pytest.param(
            {"$setElementOrder/containers": [{"name": "log"}], "containers": [{"name": "web"}]},
            422,
            'The order in patch list: [{"name":"web"}] doesn\'t match $setElementOrder list: [{"name":"log"}]',
            id="an item that the order does not name",
        ),
    ],
)
def test_a_patch_that_makes_no_sense_is_refused(patch: Any, code: int, problem: str) -> None:
    with pytest.raises(StatusError) as refusal:
        spec_after({"containers": [WEB]}, patch)
    causes = (refusal.value.details or {}).get("causes", [{"message": refusal.value.message}])
    assert refusal.value.code == code
    assert problem in causes[0]["message"]

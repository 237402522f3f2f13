"""Server-side apply: who owns what, what goes, and what is a conflict."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stowplan.embedded.custom.resource import CustomResource
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching import apply, is_tracked, note_creation, note_update
from stowplan.embedded.patching.patch import MERGE_PATCH, Author, Patch
from tests.unit.embedded.patching.resources import CONFIG_MAP, DEPLOYMENT, NOON, POD, WIDGET, applying, make, owners

BEFORE = "before-first-apply Update"


def deployment(replicas: int | None = None, **container: Any) -> Object:
    """What a manager wants of a deployment."""
    web = {"name": "web", "image": "web:1", **container}
    spec: Object = {"template": {"spec": {"containers": [web]}}}
    return make(DEPLOYMENT, spec=spec if replicas is None else {"replicas": replicas, **spec})


def patched(resource: Resource, obj: Object, changes: Object, manager: str) -> Object:
    """The object after a merge patch by a manager, as the API does it."""
    result = apply(resource, obj, Patch(MERGE_PATCH, json.dumps(changes).encode()))
    note_update(resource, obj, result, Author(manager, time=NOON))
    return result


def test_an_apply_without_an_object_creates_it() -> None:
    wanted = deployment(2, ports=[{"containerPort": 80}])
    created = apply(DEPLOYMENT, None, applying(wanted))
    ports: Object = {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}}
    container = {".": {}, "f:image": {}, "f:name": {}, "f:ports": ports}
    containers = {"f:containers": {'k:{"name":"web"}': container}}
    assert created["metadata"].pop("managedFields") == [
        {
            "manager": "kubectl",
            "operation": "Apply",
            "apiVersion": "apps/v1",
            "time": "2026-05-01T12:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:replicas": {}, "f:template": {"f:spec": containers}}},
        }
    ]
    assert created == wanted


def test_what_a_manager_no_longer_says_goes() -> None:
    first = apply(CONFIG_MAP, None, applying(make(CONFIG_MAP, data={"a": "1", "b": "2"})))
    second = apply(CONFIG_MAP, first, applying(make(CONFIG_MAP, data={"a": "1"})))
    assert second["data"] == {"a": "1"}
    assert owners(second) == {"kubectl Apply": {"f:data": {"f:a": {}}}}


def test_what_somebody_else_owns_too_stays() -> None:
    first = apply(CONFIG_MAP, None, applying(make(CONFIG_MAP, data={"a": "1", "b": "2"}), "one"))
    second = apply(CONFIG_MAP, first, applying(make(CONFIG_MAP, data={"b": "2"}), "two"))
    third = apply(CONFIG_MAP, second, applying(make(CONFIG_MAP, data={"a": "1"}), "one"))
    assert third["data"] == {"a": "1", "b": "2"}
    assert owners(third) == {"one Apply": {"f:data": {"f:a": {}}}, "two Apply": {"f:data": {"f:b": {}}}}


def test_items_of_a_list_have_owners_of_their_own() -> None:
    first = apply(DEPLOYMENT, None, applying(deployment(env=[{"name": "A", "value": "1"}]), "one"))
    sidecar = deployment()
    sidecar["spec"]["template"]["spec"]["containers"] = [{"name": "log", "image": "log:1"}]
    second = apply(DEPLOYMENT, first, applying(sidecar, "two"))
    third = apply(DEPLOYMENT, second, applying(deployment(), "one"))
    assert third["spec"]["template"]["spec"]["containers"] == [
        {"name": "web", "image": "web:1"},
        {"name": "log", "image": "log:1"},
    ]


def test_finalizers_have_an_owner_each() -> None:
    first = apply(CONFIG_MAP, None, applying(make(CONFIG_MAP, metadata={"finalizers": ["a/a", "a/b"]}), "one"))
    second = apply(CONFIG_MAP, first, applying(make(CONFIG_MAP, metadata={"finalizers": ["a/c"]}), "two"))
    third = apply(CONFIG_MAP, second, applying(make(CONFIG_MAP, metadata={"finalizers": ["a/b"]}), "one"))
    assert third["metadata"]["finalizers"] == ["a/b", "a/c"]
    assert owners(third)["two Apply"] == {"f:metadata": {"f:finalizers": {'v:"a/c"': {}}}}


def test_a_different_wish_for_what_somebody_else_owns_is_a_conflict() -> None:
    first = apply(DEPLOYMENT, None, applying(deployment(2), "one"))
    with pytest.raises(StatusError) as refusal:
        apply(DEPLOYMENT, first, applying(deployment(3), "two"))
    assert refusal.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Apply failed with 1 conflict: conflict with "one": .spec.replicas',
        "reason": "Conflict",
        "details": {
            "causes": [
                {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".spec.replicas"},
            ]
        },
        "code": 409,
    }


def test_several_conflicts_are_told_by_manager() -> None:
    with pytest.raises(StatusError) as refusal:
        apply(DEPLOYMENT, deployment(2), applying(deployment(3, image="web:2"), "two"))
    assert refusal.value.message == (
        'Apply failed with 2 conflicts: conflicts with "before-first-apply" using apps/v1:\n'
        "- .spec.replicas\n"
        '- .spec.template.spec.containers[name="web"].image'
    )


def test_the_same_wish_is_shared() -> None:
    first = apply(DEPLOYMENT, None, applying(deployment(2), "one"))
    second = apply(DEPLOYMENT, first, applying(deployment(2), "two"))
    assert owners(second)["one Apply"] == owners(second)["two Apply"]


def test_force_takes_fields_over() -> None:
    first = apply(DEPLOYMENT, None, applying(make(DEPLOYMENT, spec={"replicas": 2, "paused": True}), "one"))
    second = apply(DEPLOYMENT, first, applying(make(DEPLOYMENT, spec={"replicas": 3}), "two", force=True))
    assert second["spec"] == {"replicas": 3, "paused": True}
    assert owners(second) == {
        "one Apply": {"f:spec": {"f:paused": {}}},
        "two Apply": {"f:spec": {"f:replicas": {}}},
    }


def test_an_object_that_nobody_applied_belongs_to_before_first_apply() -> None:
    live = make(CONFIG_MAP, data={"a": "1"}, metadata={"uid": "u", "resourceVersion": "7"})
    result = apply(CONFIG_MAP, live, applying(make(CONFIG_MAP, data={"b": "2"})))
    assert result["data"] == {"a": "1", "b": "2"}
    assert owners(result) == {"kubectl Apply": {"f:data": {"f:b": {}}}, BEFORE: {"f:data": {".": {}, "f:a": {}}}}


def test_kubectl_takes_over_what_it_applied_on_the_client_side() -> None:
    last = make(CONFIG_MAP, data={"a": "1", "b": "1"})
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(last)}
    live = make(CONFIG_MAP, data={"a": "1", "b": "changed"}, metadata={"annotations": annotations})
    taken = apply(CONFIG_MAP, live, applying(make(CONFIG_MAP, data={"a": "2"})))
    assert taken["data"] == {"a": "2", "b": "changed"}
    kept = taken["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
    assert json.loads(kept) == make(CONFIG_MAP, data={"a": "2"})
    with pytest.raises(StatusError, match=r'conflict with "before-first-apply" using v1: \.data\.b'):
        apply(CONFIG_MAP, live, applying(make(CONFIG_MAP, data={"b": "2"})))
    with pytest.raises(StatusError, match=r'conflict with "kubectl-client-side-apply" using v1: \.data\.a'):
        apply(CONFIG_MAP, live, applying(make(CONFIG_MAP, data={"a": "2"}), "somebody-else"))


def test_what_kubectl_applied_on_the_client_side_is_told_apart_from_what_others_set() -> None:
    last = make(CONFIG_MAP, data={"a": "1", "b": "1"})
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(last)}
    live = make(CONFIG_MAP, data={"a": "1", "b": "changed", "c": "others"}, metadata={"annotations": annotations})
    result = apply(CONFIG_MAP, live, applying(make(CONFIG_MAP, data={"d": "1"})))
    assert owners(result) == {
        "kubectl Apply": {"f:data": {"f:d": {}}},
        "kubectl-client-side-apply Update": {
            "f:data": {"f:a": {}},
            "f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/last-applied-configuration": {}}},
        },
        BEFORE: {"f:data": {".": {}, "f:b": {}, "f:c": {}}, "f:metadata": {"f:annotations": {}}},
    }


def test_the_status_is_not_owned_through_the_object_itself() -> None:
    wanted = make(POD, spec={"nodeName": "n"}, status={"phase": "Running"})
    assert owners(apply(POD, None, applying(wanted))) == {"kubectl Apply": {"f:spec": {"f:nodeName": {}}}}
    through_status = applying(wanted, "kubelet", subresource="status")
    assert owners(apply(POD, make(POD, spec={"nodeName": "n"}), through_status)) == {
        "kubelet Apply": {"f:status": {"f:phase": {}}},
        BEFORE: {"f:spec": {".": {}, "f:nodeName": {}}},
    }


def test_nulls_count_as_absent() -> None:
    wanted = make(DEPLOYMENT, spec={"template": {"metadata": {"creationTimestamp": None}}})
    assert apply(DEPLOYMENT, None, applying(wanted))["spec"] == {"template": {"metadata": {}}}


@pytest.mark.parametrize(
    ("wanted", "code", "problem"),
    [
        pytest.param(None, 400, "invalid object type: /, Kind=", id="nothing"),
        pytest.param({"apiVersion": "v2", "kind": "Pod"}, 400, "invalid object type: /v2, Kind=Pod", id="a version"),
        pytest.param([], 400, "error decoding YAML: expected an object, got an array", id="a list"),
        pytest.param(
            make(POD, metadata={"managedFields": []}), 400, "metadata.managedFields must be nil", id="managed fields"
        ),
        pytest.param(
            make(POD, metadata={"finalizers": ["a/b", "a/b"]}),
            422,
            "failed to create typed patch object (default/x; /v1, Kind=Pod): "
            '.metadata.finalizers: duplicate entries for key [="a/b"]',
            id="a member of a set twice",
        ),
        pytest.param(
            make(POD, spec={"containers": [{"image": "x"}]}),
            422,
            ".spec.containers: element 0: associative list with keys has an element that omits all key fields",
            id="an item without its key",
        ),
        pytest.param(make(POD, spec=3), 422, ".spec: expected map, got 3", id="a number for a struct"),
        pytest.param(make(POD, spec={"containers": {}}), 422, "expected list, got a map", id="a map for a list"),
    ],
)
def test_a_wish_that_cannot_be_read_is_refused(wanted: Any, code: int, problem: str) -> None:
    with pytest.raises(StatusError) as refusal:
        apply(POD, None, applying(wanted))
    assert refusal.value.code == code
    assert problem in refusal.value.message


def test_a_patch_of_an_applied_object_is_recorded() -> None:
    first = apply(DEPLOYMENT, None, applying(deployment(2), "one"))
    scaled = patched(DEPLOYMENT, first, {"spec": {"replicas": 5}}, "scaler")
    assert owners(scaled)["scaler Update"] == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in owners(scaled)["one Apply"]["f:spec"]
    with pytest.raises(StatusError, match=r'conflict with "scaler" using apps/v1: \.spec\.replicas'):
        apply(DEPLOYMENT, scaled, applying(deployment(2), "one"))


def test_a_creator_owns_all_that_is_there() -> None:
    made = make(CONFIG_MAP, data={"a": "1"}, metadata={"uid": "u", "labels": {"x": "y"}, "managedFields": [{}]})
    note_creation(CONFIG_MAP, made, Author("kubectl-create", time=NOON))
    assert made["metadata"]["managedFields"] == [
        {
            "manager": "kubectl-create",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-05-01T12:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:a": {}}, "f:metadata": {"f:labels": {".": {}, "f:x": {}}}},
        }
    ]
    with pytest.raises(StatusError, match=r'conflict with "kubectl-create" using v1: \.data\.a'):
        apply(CONFIG_MAP, made, applying(make(CONFIG_MAP, data={"a": "2"})))


def test_an_update_of_an_object_without_owners_is_not_recorded() -> None:
    before, after = deployment(2), deployment(3)
    assert not is_tracked(before, after)
    note_update(DEPLOYMENT, before, after, Author("scaler"))
    assert after == deployment(3)


def test_an_update_keeps_owners_that_its_author_does_not_know() -> None:
    before = apply(DEPLOYMENT, None, applying(deployment(2), "one"))
    after = deployment(2)
    note_update(DEPLOYMENT, before, after, Author("controller"))
    assert owners(after) == owners(before)


def test_an_update_may_forget_all_owners() -> None:
    before = apply(DEPLOYMENT, None, applying(deployment(2), "one"))
    after = make(DEPLOYMENT, metadata={"managedFields": [{}]})
    note_update(DEPLOYMENT, before, after, Author("one"))
    assert "managedFields" not in after["metadata"]


def test_the_oldest_updates_are_taken_together() -> None:
    obj = apply(CONFIG_MAP, None, applying(make(CONFIG_MAP, data={"z": "1"})))
    for number in range(12):
        obj = patched(CONFIG_MAP, obj, {"data": {f"k{number:02}": "v"}}, f"manager-{number:02}")
    managers = [entry["manager"] for entry in obj["metadata"]["managedFields"]]
    assert len(managers) == 11
    assert owners(obj)["ancient-changes Update"] == {"f:data": {"f:k00": {}, "f:k01": {}, "f:k02": {}}}


def test_a_custom_resource_without_a_schema_has_atomic_lists() -> None:
    first = apply(WIDGET, None, applying(make(WIDGET, spec={"parts": [{"name": "a"}], "size": 1}), "one"))
    assert owners(first) == {"one Apply": {"f:spec": {".": {}, "f:parts": {}, "f:size": {}}}}
    with pytest.raises(StatusError, match=r'conflict with "one": \.spec\.parts'):
        apply(WIDGET, first, applying(make(WIDGET, spec={"parts": [{"name": "b"}]}), "two"))


def test_the_schema_of_a_custom_resource_says_what_its_lists_are_merged_by() -> None:
    part = {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}
    parts = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": part,
    }
    tags = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
    spec = {"type": "object", "properties": {"parts": parts, "tags": tags}}
    schema = {"type": "object", "properties": {"spec": spec}}
    widget = CustomResource("example.com", "v1", "Widget", "widgets", "widget", is_custom=True, schema=schema)
    one = make(widget, spec={"parts": [{"name": "a", "size": 1}], "tags": ["x"]})
    two = make(widget, spec={"parts": [{"name": "b"}], "tags": ["y"]})
    first = apply(widget, None, applying(one, "one"))
    second = apply(widget, first, applying(two, "two"))
    assert second["spec"] == {"parts": [{"name": "a", "size": 1}, {"name": "b"}], "tags": ["x", "y"]}
    assert owners(second)["two Apply"] == {
        "f:spec": {"f:parts": {'k:{"name":"b"}': {".": {}, "f:name": {}}}, "f:tags": {'v:"y"': {}}}
    }

"""Create, read, update, patch: what is kept, what is refused, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.embedded.talking import CONFIG_MAPS, NODES, PODS, Caller, config_map, pod

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}},
}


def test_a_new_object_gets_what_only_the_server_gives(caller: Caller) -> None:
    sent = config_map("a", uid="mine", creationTimestamp="2001-01-01T00:00:00Z", generation=7)
    reply = caller.post(CONFIG_MAPS, sent)
    metadata = reply.content["metadata"]
    assert reply.code == 201
    assert (metadata["name"], metadata["namespace"]) == ("a", "default")
    assert metadata["uid"] != "mine"
    assert not metadata["creationTimestamp"].startswith("2001")
    assert "generation" not in metadata
    assert caller.get(f"{CONFIG_MAPS}/a").content == reply.content


def test_a_name_is_made_up_where_only_its_beginning_is_given(caller: Caller) -> None:
    body = config_map("")
    body["metadata"] = {"generateName": "made-"}
    first, second = caller.post(CONFIG_MAPS, body).content, caller.post(CONFIG_MAPS, body).content
    names = [first["metadata"]["name"], second["metadata"]["name"]]
    assert all(name.startswith("made-") and len(name) == len("made-") + 5 for name in names)
    assert names[0] != names[1]


def test_a_dry_run_answers_as_if_and_keeps_nothing(caller: Caller) -> None:
    assert caller.post(CONFIG_MAPS, config_map("a"), dryRun="All").code == 201
    assert caller.get(f"{CONFIG_MAPS}/a").code == 404
    caller.post(CONFIG_MAPS, config_map("a", "old"))
    assert caller.put(f"{CONFIG_MAPS}/a", config_map("a", "new"), dryRun="All").content["data"] == {"value": "new"}
    assert caller.delete(f"{CONFIG_MAPS}/a", dryRun="All").code == 200
    assert caller.get(f"{CONFIG_MAPS}/a").content["data"] == {"value": "old"}


def test_yaml_is_taken_as_well(caller: Caller) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: from-yaml\ndata:\n  value: 'yes'\n"
    assert caller.post(CONFIG_MAPS, text, "application/yaml").code == 201
    assert caller.get(f"{CONFIG_MAPS}/from-yaml").content["data"] == {"value": "yes"}


@pytest.mark.parametrize(
    ("body", "code", "reason", "message"),
    [
        pytest.param(config_map("taken"), 409, "AlreadyExists", 'configmaps "taken" already exists', id="a taken name"),
        pytest.param(
            config_map("a", namespace="other"),
            400,
            "BadRequest",
            "the namespace of the provided object does not",
            id="another namespace",
        ),
        pytest.param(
            config_map("a", resourceVersion="1"),
            400,
            "BadRequest",
            "resourceVersion should not be set on objects to be created",
            id="a version",
        ),
        pytest.param({"metadata": {}}, 422, "Invalid", "name or generateName is required", id="no name"),
        pytest.param(
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}},
            400,
            "BadRequest",
            'Secret in version "v1" cannot be handled as a ConfigMap',
            id="another kind",
        ),
        pytest.param(
            {"apiVersion": "apps/v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
            400,
            "BadRequest",
            "the API version in the data (apps/v1) does not match the expected API version (v1)",
            id="another version",
        ),
        pytest.param("{", 400, "BadRequest", "the object provided is unrecognized", id="no JSON"),
        pytest.param([1], 400, "BadRequest", "the body of the request is not an object", id="a list"),
        pytest.param(
            {"metadata": {"name": "a", "labels": {"a": 1}}},
            400,
            "BadRequest",
            "cannot be handled as a ConfigMap",
            id="a label that is a number",
        ),
    ],
)
def test_what_cannot_be_created_is_refused(caller: Caller, body: Any, code: int, reason: str, message: str) -> None:
    caller.post(CONFIG_MAPS, config_map("taken"))
    reply = caller.post(CONFIG_MAPS, body)
    status = reply.content
    assert (reply.code, status["kind"], status["status"], status["reason"]) == (code, "Status", "Failure", reason)
    assert message in status["message"]


def test_an_unknown_field_is_refused_if_asked_to_and_dropped_otherwise(caller: Caller) -> None:
    body = {**config_map("a"), "dta": {}}
    refused = caller.post(CONFIG_MAPS, body, fieldValidation="Strict")
    assert (refused.code, 'unknown field "dta"' in refused.content["message"]) == (400, True)
    assert "dta" not in caller.post(CONFIG_MAPS, body, fieldValidation="Ignore").content


def test_the_warning_of_a_field_with_a_long_name_is_short(caller: Caller) -> None:
    made = caller.post(CONFIG_MAPS, {**config_map("a"), "x" * 100_000: 1, "y": 1})
    assert made.warnings == (f'299 - "unknown field \\"{"x" * 241}"', '299 - "unknown field \\"y\\""')


def test_a_field_that_is_given_twice_is_refused_if_asked_to_and_told_otherwise(caller: Caller) -> None:
    twice = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "1", "k": "2"}, "x": 1}'
    refused = caller.post(CONFIG_MAPS, twice, fieldValidation="Strict")
    assert (refused.code, refused.content["message"]) == (
        400,
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
        'duplicate field "data.k", unknown field "x"',
    )
    made = caller.post(CONFIG_MAPS, twice)
    assert made.content["data"] == {"k": "2"}
    assert made.warnings == (
        '299 - "duplicate field \\"data.k\\""',
        '299 - "unknown field \\"x\\""',
    )
    patched = caller.patch(f"{CONFIG_MAPS}/a", '{"data": {"k": "3", "k": "4"}}', fieldValidation="Strict")
    assert (patched.code, 'duplicate field "data.k"' in patched.content["message"]) == (400, True)
    assert caller.post(CONFIG_MAPS, twice.replace('"a"', '"b"'), fieldValidation="Ignore").warnings == ()


@pytest.mark.parametrize(
    ("manager", "words"),
    [
        ("x" * 129, "fieldManager: Too long: may not be more than 128 bytes"),
        ("a\u0001", 'fieldManager: Invalid value: "a\\x01": should only contain printable characters'),
    ],
)
def test_a_manager_of_fields_has_a_name_that_can_be_kept(caller: Caller, manager: str, words: str) -> None:
    reply = caller.post(CONFIG_MAPS, config_map("a"), fieldManager=manager)
    assert (reply.code, words in reply.content["message"]) == (422, True)
    assert caller.post(CONFIG_MAPS, config_map("a"), fieldManager=manager[:128].strip("\u0001")).code == 201


def test_an_update_of_an_old_version_is_a_conflict(caller: Caller) -> None:
    first = caller.post(CONFIG_MAPS, config_map("a", "1")).content
    second = {**first, "data": {"value": "2"}}
    assert caller.put(f"{CONFIG_MAPS}/a", second).code == 200
    reply = caller.put(f"{CONFIG_MAPS}/a", {**first, "data": {"value": "3"}})
    assert (reply.code, reply.content["reason"]) == (409, "Conflict")
    assert reply.content["message"] == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


def test_an_update_without_a_version_replaces_whatever_is_there(caller: Caller) -> None:
    before = caller.post(CONFIG_MAPS, config_map("a", "1")).content["metadata"]
    after = caller.put(f"{CONFIG_MAPS}/a", config_map("a", "2")).content
    assert after["data"] == {"value": "2"}
    assert after["metadata"]["uid"] == before["uid"]
    assert int(after["metadata"]["resourceVersion"]) > int(before["resourceVersion"])


def test_an_update_that_changes_nothing_makes_no_new_version(caller: Caller) -> None:
    first = caller.post(CONFIG_MAPS, config_map("a")).content
    assert caller.put(f"{CONFIG_MAPS}/a", first).content == first


def test_an_update_of_another_object_of_that_name_is_a_conflict(caller: Caller) -> None:
    first = caller.post(CONFIG_MAPS, config_map("a")).content
    body = config_map("a", uid="another")
    reply = caller.put(f"{CONFIG_MAPS}/a", body)
    assert reply.code == 409
    expected = f"Precondition failed: UID in precondition: another, UID in object meta: {first['metadata']['uid']}"
    assert expected in reply.content["message"]


def test_an_update_under_another_name_is_refused(caller: Caller) -> None:
    reply = caller.put(f"{CONFIG_MAPS}/a", config_map("b"))
    assert reply.code == 400
    assert reply.content["message"] == "the name of the object (b) does not match the name on the URL (a)"


def test_an_update_of_nothing_is_not_found(caller: Caller) -> None:
    reply = caller.put(f"{CONFIG_MAPS}/a", config_map("a"))
    assert (reply.code, reply.content["message"]) == (404, 'configmaps "a" not found')


def test_a_lease_is_created_by_an_update_and_updated_only_with_its_version(caller: Caller) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}}
    assert caller.put(path, body).code == 201
    reply = caller.put(path, body)
    assert reply.code == 422
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in reply.content["message"]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        pytest.param("merge-patch+json", {"data": {"value": "new"}}, id="merge patch"),
        pytest.param("strategic-merge-patch+json", {"data": {"value": "new"}}, id="strategic merge patch"),
        pytest.param("json-patch+json", [{"op": "replace", "path": "/data/value", "value": "new"}], id="JSON patch"),
    ],
)
def test_a_patch_changes_what_it_names(caller: Caller, kind: str, body: Any) -> None:
    caller.post(CONFIG_MAPS, config_map("a", "old", labels={"kept": "yes"}))
    reply = caller.patch(f"{CONFIG_MAPS}/a", body, kind)
    assert (reply.code, reply.content["data"]) == (200, {"value": "new"})
    assert reply.content["metadata"]["labels"] == {"kept": "yes"}


def test_a_patch_with_an_old_version_is_a_conflict(caller: Caller) -> None:
    first = caller.post(CONFIG_MAPS, config_map("a")).content["metadata"]["resourceVersion"]
    assert (
        caller.patch(f"{CONFIG_MAPS}/a", {"metadata": {"resourceVersion": first}, "data": {"value": "1"}}).code == 200
    )
    assert (
        caller.patch(f"{CONFIG_MAPS}/a", {"metadata": {"resourceVersion": first}, "data": {"value": "2"}}).code == 409
    )


def test_server_side_apply_creates_and_then_changes(caller: Caller) -> None:
    path, kind = f"{CONFIG_MAPS}/a", "apply-patch+yaml"
    made = caller.patch(path, config_map("a", "1"), kind, fieldManager="me")
    changed = caller.patch(path, config_map("a", "2"), kind, fieldManager="me")
    assert (made.code, changed.code) == (201, 200)
    assert changed.content["data"] == {"value": "2"}
    assert [entry["manager"] for entry in changed.content["metadata"]["managedFields"]] == ["me"]
    stolen = caller.patch(path, config_map("a", "3"), kind, fieldManager="you")
    assert (stolen.code, stolen.content["reason"]) == (409, "Conflict")


def test_a_patch_of_nothing_is_not_found(caller: Caller) -> None:
    assert caller.patch(f"{CONFIG_MAPS}/a", {}).code == 404


def test_a_patch_of_an_unknown_kind_is_refused(caller: Caller) -> None:
    caller.post(CONFIG_MAPS, config_map("a"))
    reply = caller.patch(f"{CONFIG_MAPS}/a", {}, "other-patch+json")
    assert (reply.code, reply.content["reason"]) == (415, "UnsupportedMediaType")


def test_the_status_is_changed_only_through_its_own_path(caller: Caller) -> None:
    caller.post(NODES, NODE)
    node = caller.get(f"{NODES}/n1").content
    node["status"]["phase"] = "Running"
    node["spec"] = {**node.get("spec", {}), "unschedulable": True}
    by_object = caller.put(f"{NODES}/n1", node).content
    assert by_object["spec"]["unschedulable"] is True
    assert "phase" not in by_object["status"]
    patch = {"status": {"phase": "Running"}, "spec": {"unschedulable": False}, "metadata": {"labels": {"a": "b"}}}
    by_status = caller.patch(f"{NODES}/n1/status", patch).content
    assert by_status["status"]["phase"] == "Running"
    assert by_status["spec"]["unschedulable"] is True
    assert by_status["metadata"]["labels"]["a"] == "b"


def test_a_new_pod_has_no_status_of_its_own(caller: Caller) -> None:
    body = {**pod("a"), "status": {"phase": "Running", "podIP": "10.0.0.1"}}
    status = caller.post(PODS, body).content.get("status", {})
    assert status.get("phase", "Pending") == "Pending"
    assert "podIP" not in status


def test_the_generation_counts_changes_of_what_is_wished_for(caller: Caller) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    generations = [
        caller.post(path, body).content["metadata"]["generation"],
        caller.patch(f"{path}/d", {"spec": {"replicas": 2}}).content["metadata"]["generation"],
        caller.patch(f"{path}/d", {"metadata": {"labels": {"x": "y"}}}).content["metadata"]["generation"],
        caller.patch(f"{path}/d/status", {"status": {"replicas": 2}}).content["metadata"]["generation"],
    ]
    assert generations == [1, 2, 2, 2]

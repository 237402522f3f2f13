"""Large objects: worked out beside the loop, in time that grows with their size and no faster, and none too large."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.integration.embedded.running import Cluster, running
from tests.integration.embedded.talking import CONFIG_MAPS, PODS, Caller, Reply, config_map, pod

SERVICES = "/api/v1/namespaces/default/services"
APPLY = "apply-patch+yaml"


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    with running() as cluster:
        yield cluster


@pytest.fixture
def caller(shared: Cluster) -> Iterator[Caller]:
    with closing(Caller(shared.port)) as caller:
        yield caller


def large_pod(name: str, containers: int) -> dict[str, Any]:
    return pod(name, containers=[{"name": f"c{i}", "image": "i"} for i in range(containers)])


def test_a_large_object_is_created_changed_and_applied_like_any_other(caller: Caller) -> None:
    wanted = config_map("large") | {"data": {f"k{i}": "v" for i in range(6000)}}
    created = caller.post(CONFIG_MAPS, wanted, fieldManager="maker")
    assert created.code == 201, created.text
    assert [each["manager"] for each in created.content["metadata"]["managedFields"]] == ["maker"]
    changed = caller.patch(f"{CONFIG_MAPS}/large", {"data": {"k0": "w"}}, fieldManager="changer")
    assert (changed.code, changed.content["data"]["k0"]) == (200, "w")
    refused = caller.patch(f"{CONFIG_MAPS}/large", wanted, APPLY, fieldManager="applier")
    assert (refused.code, refused.content["message"]) == (
        409,
        'Apply failed with 1 conflict: conflict with "changer" using v1: .data.k0',
    )
    put = caller.put(f"{CONFIG_MAPS}/large", created.content)
    assert (put.code, put.content["reason"]) == (409, "Conflict")
    applied = caller.patch(f"{CONFIG_MAPS}/large", wanted, APPLY, fieldManager="applier", force="true")
    assert (applied.code, applied.content["data"]["k0"]) == (200, "v")
    assert (
        caller.patch(f"{CONFIG_MAPS}/new", config_map("new") | {"data": wanted["data"]}, APPLY, fieldManager="a").code
        == 201
    )


def test_a_large_object_of_another_kind_is_refused(caller: Caller) -> None:
    reply = caller.post(CONFIG_MAPS, large_pod("p", 3000))
    assert (reply.code, reply.content["reason"]) == (400, "BadRequest")


def test_a_large_object_that_is_not_there_is_not_replaced(caller: Caller) -> None:
    assert caller.put(f"{PODS}/nowhere", large_pod("nowhere", 3000)).code == 404


def noting(name: str, data: dict[str, str]) -> dict[str, Any]:
    """What `kubectl apply` sends: the object, and in it the object again."""
    wanted = config_map(name) | {"data": data}
    noted = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(wanted)}
    return wanted | {"metadata": {**wanted["metadata"], "annotations": noted}}


TOO_MUCH_NOTED = "metadata.annotations: Too long: may not be more than 262144 bytes"


def test_of_a_large_object_that_is_noted_in_itself_the_note_is_refused(caller: Caller) -> None:
    reply = caller.post(CONFIG_MAPS, noting("noted", {"a": "x" * 900_000}))
    assert (reply.code, reply.content["message"]) == (422, f'ConfigMap "noted" is invalid: {TOO_MUCH_NOTED}')


def test_of_a_change_that_is_noted_in_the_object_the_note_is_refused(caller: Caller) -> None:
    assert caller.post(CONFIG_MAPS, noting("grown", {"a": "x"})).code == 201
    reply = caller.patch(f"{CONFIG_MAPS}/grown", noting("grown", {"a": "x" * 900_000}))
    assert (reply.code, reply.content["message"]) == (422, f'ConfigMap "grown" is invalid: {TOO_MUCH_NOTED}')


def test_what_a_real_server_could_not_keep_is_refused(caller: Caller) -> None:
    reply = caller.post(PODS, pod("huge") | {"spec": {**pod("x")["spec"], "nodeName": "x" * 1_600_000}})
    assert (reply.code, reply.content["reason"]) == (413, "RequestEntityTooLarge")
    assert reply.content["message"].startswith("Request entity too large: the object takes 16")
    assert reply.content["message"].endswith("bytes of storage: limit is 1572864")


def test_copies_of_copies_do_not_make_what_could_not_be_kept(caller: Caller) -> None:
    caller.post(CONFIG_MAPS, config_map("doubled", "x" * 10_000))
    doubling = [{"op": "copy", "from": "/data/value", "path": f"/data/k{i}"} for i in range(200)]
    reply = caller.patch(f"{CONFIG_MAPS}/doubled", doubling, "json-patch+json")
    assert (reply.code, reply.content["reason"]) == (413, "RequestEntityTooLarge")


def test_others_are_answered_while_a_large_object_is_applied(shared: Cluster, caller: Caller) -> None:
    replies: list[Reply] = []

    def apply() -> None:
        with closing(Caller(shared.port)) as applying:
            replies.append(applying.patch(f"{PODS}/applied", large_pod("applied", 3000), APPLY, fieldManager="a"))

    thread = threading.Thread(target=apply)
    thread.start()
    answered = 0
    while thread.is_alive():
        assert caller.get("/version").code == 200
        answered += 1
    assert [reply.code for reply in replies] == [201]
    # Whoever works on the loop lets one or two through.
    assert answered > 10


def test_a_change_in_the_meantime_is_not_lost(shared: Cluster, caller: Caller) -> None:
    wanted = config_map("contended") | {"data": {f"k{i}": "v" for i in range(20_000)}}
    assert caller.post(CONFIG_MAPS, wanted).code == 201

    def apply() -> None:
        with closing(Caller(shared.port)) as applying:
            applying.patch(f"{CONFIG_MAPS}/contended", {"data": {"mine": "1"}})

    thread = threading.Thread(target=apply)
    thread.start()
    codes = {caller.patch(f"{CONFIG_MAPS}/contended", {"data": {f"n{i}": "1"}}).code for i in range(3)}
    thread.join()
    assert codes == {200}
    data = caller.get(f"{CONFIG_MAPS}/contended").content["data"]
    assert [data.get(key) for key in ("mine", "n0", "n1", "n2")] == ["1"] * 4


def test_many_spread_constraints_take_time_in_proportion(caller: Caller) -> None:
    constraints = [{"maxSkew": 1, "topologyKey": f"z{i}", "whenUnsatisfiable": "DoNotSchedule"} for i in range(16_000)]
    assert caller.post(PODS, pod("spread", topologySpreadConstraints=constraints)).code == 201


def test_spread_constraints_that_are_alike_are_refused(caller: Caller) -> None:
    alike = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
    reply = caller.post(PODS, pod("alike", topologySpreadConstraints=[alike, alike]))
    assert [cause["field"] for cause in reply.content["details"]["causes"]] == [
        "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}"
    ]


def test_more_node_ports_than_there_are_are_refused(caller: Caller) -> None:
    ports = [{"name": f"p{i}", "port": i + 1} for i in range(20_000)]
    service = {"metadata": {"name": "wide"}, "spec": {"type": "NodePort", "ports": ports}}
    reply = caller.post(SERVICES, service)
    assert reply.code == 422
    assert reply.content["details"]["causes"] == [
        {
            "reason": "FieldValueInvalid",
            "message": "Internal error: failed to allocate a nodePort: range is full",
            "field": "spec.ports[2768].nodePort",
        }
    ]


def test_of_very_many_faults_the_first_thousand_are_told(caller: Caller) -> None:
    spoiled = pod("faulty", containers=[{"name": f"C_{i}", "image": "i"} for i in range(5000)])
    reply = caller.post(PODS, spoiled)
    assert (reply.code, len(reply.content["details"]["causes"])) == (422, 1000)


def test_of_very_many_unknown_fields_the_first_hundred_are_told(caller: Caller) -> None:
    reply = caller.post(PODS, pod("odd", **{f"unknown{i}": 1 for i in range(5000)}), fieldValidation="Strict")
    assert (reply.code, reply.content["message"].count("unknown field")) == (400, 100)


def test_not_more_warnings_are_sent_than_clients_read(caller: Caller) -> None:
    reply = caller.post(PODS, pod("warned", **{f"unknown{i}": 1 for i in range(5000)}))
    assert reply.code == 201, reply.text
    assert reply.warnings[:2] == (
        '299 - "unknown field \\"spec.unknown0\\""',
        '299 - "unknown field \\"spec.unknown1\\""',
    )
    assert len(reply.warnings) == 50


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("POST", f"{PODS}/p/eviction"),
        ("POST", f"{PODS}/p/binding"),
        ("DELETE", f"{PODS}/p"),
    ],
)
def test_what_is_not_kept_may_not_be_large(caller: Caller, method: str, path: str) -> None:
    body = {"metadata": {"annotations": {"a": "x" * 70_000}}}
    reply = caller.send(method, path, body, {"Content-Type": "application/json"})
    assert reply.code == 413
    assert reply.content["message"] == "Request entity too large: limit is 65536 for what is not kept"

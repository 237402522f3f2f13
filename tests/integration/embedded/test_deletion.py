"""Deleting: at once, with grace, with finalizers, only under conditions, and many at a time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.embedded.running import Cluster
from tests.integration.embedded.talking import CONFIG_MAPS, PODS, Caller, config_map, pod


def names(caller: Caller, path: str, **query: str) -> list[str]:
    return [item["metadata"]["name"] for item in caller.get(path, **query).content["items"]]


def put_on_node(cluster: Cluster, name: str) -> None:
    """Place a pod without asking anybody."""
    pods = cluster.api.catalogue.find("", "v1", "pods")
    assert pods is not None
    obj = cluster.api.get(pods, "default", name)
    obj["spec"]["nodeName"] = "n1"
    cluster.call(lambda: cluster.api.store.write(pods, obj))


def test_what_is_deleted_is_gone_and_the_answer_says_what_it_was(caller: Caller) -> None:
    uid = caller.post(CONFIG_MAPS, config_map("a")).content["metadata"]["uid"]
    reply = caller.delete(f"{CONFIG_MAPS}/a")
    assert (reply.code, reply.content["status"]) == (200, "Success")
    assert reply.content["details"] == {"name": "a", "kind": "configmaps", "uid": uid}
    assert caller.get(f"{CONFIG_MAPS}/a").code == 404
    assert caller.delete(f"{CONFIG_MAPS}/a").code == 404


def test_a_pod_may_not_be_given_longer_than_dates_reach(cluster: Cluster, caller: Caller) -> None:
    caller.post(PODS, pod("a", terminationGracePeriodSeconds=2**63 - 1))
    put_on_node(cluster, "a")
    reply = caller.delete(f"{PODS}/a")
    assert (reply.code, reply.content["metadata"]["deletionGracePeriodSeconds"]) == (200, 2**31)


def test_a_pod_that_is_on_no_node_goes_at_once(caller: Caller) -> None:
    caller.post(PODS, pod("a"))
    reply = caller.delete(f"{PODS}/a")
    assert (reply.code, reply.content["kind"]) == (200, "Pod")
    assert caller.get(f"{PODS}/a").code == 404


def test_a_pod_on_a_node_is_given_its_grace_period(cluster: Cluster, caller: Caller) -> None:
    caller.post(PODS, pod("a", terminationGracePeriodSeconds=20))
    put_on_node(cluster, "a")
    metadata = caller.delete(f"{PODS}/a").content["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == 20
    assert caller.get(f"{PODS}/a").content["metadata"]["deletionTimestamp"] == metadata["deletionTimestamp"]


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        pytest.param(30, 10, 10, id="it may be shortened"),
        pytest.param(10, 30, 10, id="it is never prolonged"),
        pytest.param(10, None, 10, id="asking again changes nothing"),
        pytest.param(30, -1, 1, id="less than nothing is a second"),
        pytest.param(30, 0, None, id="none left ends it"),
    ],
)
def test_a_grace_period_that_runs(
    cluster: Cluster, caller: Caller, first: int, second: int | None, left: int | None
) -> None:
    caller.post(PODS, pod("a"))
    put_on_node(cluster, "a")
    caller.delete(f"{PODS}/a", {"gracePeriodSeconds": first})
    caller.delete(f"{PODS}/a", {} if second is None else {"gracePeriodSeconds": second})
    reply = caller.get(f"{PODS}/a")
    found = reply.content["metadata"]["deletionGracePeriodSeconds"] if reply.code == 200 else None
    assert found == left


def test_the_options_may_be_in_the_query(cluster: Cluster, caller: Caller) -> None:
    caller.post(PODS, pod("a"))
    put_on_node(cluster, "a")
    caller.delete(f"{PODS}/a", gracePeriodSeconds=0)
    assert caller.get(f"{PODS}/a").code == 404


def test_an_object_with_finalizers_waits_for_them(caller: Caller) -> None:
    caller.post(CONFIG_MAPS, config_map("a", finalizers=["example.com/one"]))
    marked = caller.delete(f"{CONFIG_MAPS}/a").content
    assert "deletionTimestamp" in marked["metadata"]
    added = caller.patch(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": ["example.com/one", "example.com/two"]}})
    assert added.code == 422
    assert "no new finalizers can be added if the object is being deleted" in added.content["message"]
    assert caller.patch(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}}).code == 200
    assert caller.get(f"{CONFIG_MAPS}/a").code == 404


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        pytest.param({"propagationPolicy": "Foreground"}, ["foregroundDeletion"], id="dependents first"),
        pytest.param({"propagationPolicy": "Orphan"}, ["orphan"], id="dependents stay"),
        pytest.param({"orphanDependents": True}, ["orphan"], id="dependents stay, said the old way"),
    ],
)
def test_the_garbage_collector_is_told_what_becomes_of_dependents(
    caller: Caller, options: dict[str, Any], finalizers: list[str]
) -> None:
    caller.post(CONFIG_MAPS, config_map("a"))
    metadata = caller.delete(f"{CONFIG_MAPS}/a", options).content["metadata"]
    assert metadata["finalizers"] == finalizers
    assert "deletionTimestamp" in metadata


def test_in_the_background_an_object_goes_at_once(caller: Caller) -> None:
    caller.post(CONFIG_MAPS, config_map("a"))
    caller.delete(f"{CONFIG_MAPS}/a", {"propagationPolicy": "Background"})
    assert caller.get(f"{CONFIG_MAPS}/a").code == 404


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        pytest.param({"uid": "x"}, "the UID in the precondition (x) does not match", id="another uid"),
        pytest.param(
            {"resourceVersion": "1"}, "the ResourceVersion in the precondition (1) does not match", id="another version"
        ),
    ],
)
def test_a_deletion_under_a_condition_that_does_not_hold_is_a_conflict(
    caller: Caller, conditions: dict[str, str], message: str
) -> None:
    caller.post(CONFIG_MAPS, config_map("a"))
    reply = caller.delete(f"{CONFIG_MAPS}/a", {"preconditions": conditions})
    assert (reply.code, message in reply.content["message"]) == (409, True)
    assert caller.get(f"{CONFIG_MAPS}/a").code == 200


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param({"propagationPolicy": "Sideways"}, 422, id="an unknown policy"),
        pytest.param({"propagationPolicy": "Orphan", "orphanDependents": True}, 422, id="said twice"),
        pytest.param({"gracePeriodSeconds": "soon"}, 400, id="a grace period that is no number"),
        pytest.param({"dryRun": ["Some"]}, 400, id="half a dry run"),
    ],
)
def test_options_that_make_no_sense_are_refused(caller: Caller, options: dict[str, Any], code: int) -> None:
    caller.post(CONFIG_MAPS, config_map("a"))
    assert caller.delete(f"{CONFIG_MAPS}/a", options).code == code
    assert caller.get(f"{CONFIG_MAPS}/a").code == 200


def test_a_collection_is_deleted_as_far_as_it_is_selected(caller: Caller) -> None:
    for name, app in (("a", "x"), ("b", "x"), ("c", "y")):
        caller.post(CONFIG_MAPS, config_map(name, labels={"app": app}))
    reply = caller.delete(CONFIG_MAPS, labelSelector="app=x")
    assert [item["metadata"]["name"] for item in reply.content["items"]] == ["a", "b"]
    assert names(caller, CONFIG_MAPS) == ["c"]


def test_a_namespace_waits_until_it_is_finalized(caller: Caller) -> None:
    path = "/api/v1/namespaces"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}, "spec": {"finalizers": ["kubernetes"]}}
    caller.post(path, body)
    marked = caller.delete(f"{path}/n").content
    assert (marked["status"]["phase"], "deletionTimestamp" in marked["metadata"]) == ("Terminating", True)
    again = caller.delete(f"{path}/n")
    assert again.code == 409
    assert "The system is ensuring all content is removed from this namespace." in again.content["message"]
    assert caller.put(f"{path}/n/finalize", {**marked, "spec": {"finalizers": []}}).code == 200
    assert caller.get(f"{path}/n").code == 404

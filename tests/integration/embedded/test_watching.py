"""Watches: from where they begin, what they tell, when they end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.embedded.running import Cluster, make_api, make_namespace, running
from tests.integration.embedded.talking import CONFIG_MAPS, PODS, Caller, config_map

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def told(events: Iterator[Any]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


def version_of(caller: Caller) -> str:
    return str(caller.get(CONFIG_MAPS).content["metadata"]["resourceVersion"])


def test_a_watch_without_a_version_begins_with_what_is_there(caller: Caller) -> None:
    for name in ("b", "a"):
        caller.post(CONFIG_MAPS, config_map(name))
    assert told(caller.watch(CONFIG_MAPS, timeoutSeconds=1)) == [("ADDED", "a"), ("ADDED", "b")]


def test_a_watch_from_a_version_tells_what_happened_since(caller: Caller) -> None:
    caller.post(CONFIG_MAPS, config_map("before"))
    version = version_of(caller)
    caller.post(CONFIG_MAPS, config_map("a"))
    caller.put(f"{CONFIG_MAPS}/a", config_map("a", "new"))
    caller.delete(f"{CONFIG_MAPS}/a")
    events = list(caller.watch(CONFIG_MAPS, resourceVersion=version, timeoutSeconds=1))
    assert told(iter(events)) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == [int(version) + 1, int(version) + 2, int(version) + 3]


def test_a_watch_tells_what_happens_while_it_is_open(cluster: Cluster, caller: Caller) -> None:
    events = caller.watch(CONFIG_MAPS, resourceVersion=version_of(caller), timeoutSeconds=3600)
    other = Caller(cluster.port)
    writer = threading.Thread(target=lambda: other.post(CONFIG_MAPS, config_map("a")), daemon=True)
    writer.start()
    first = next(events)
    assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", "a")
    # The event may be here before the answer to whoever wrote.
    writer.join()
    other.close()


def test_what_comes_and_goes_by_a_selector_is_added_and_deleted(caller: Caller) -> None:
    version = version_of(caller)
    caller.post(CONFIG_MAPS, config_map("a", labels={"app": "x"}))
    caller.patch(f"{CONFIG_MAPS}/a", {"data": {"value": "1"}})
    caller.patch(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"app": "y"}}})
    caller.patch(f"{CONFIG_MAPS}/a", {"data": {"value": "2"}})
    caller.patch(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"app": "x"}}})
    caller.delete(f"{CONFIG_MAPS}/a")
    events = list(caller.watch(CONFIG_MAPS, resourceVersion=version, labelSelector="app=x", timeoutSeconds=1))
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED"]
    gone = events[2]["object"]
    assert gone["metadata"]["labels"] == {"app": "x"}
    assert int(gone["metadata"]["resourceVersion"]) == int(version) + 3


def test_a_watch_of_a_field_hears_when_a_pod_gets_there(cluster: Cluster, caller: Caller) -> None:
    caller.post(PODS, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    version = version_of(caller)
    pods = cluster.api.catalogue.find("", "v1", "pods")
    assert pods is not None
    placed = cluster.api.get(pods, "default", "p")
    placed["spec"]["nodeName"] = "n1"
    cluster.call(lambda: cluster.api.store.write(pods, placed))
    query = {"resourceVersion": version, "timeoutSeconds": "1"}
    assert told(caller.watch(PODS, fieldSelector="spec.nodeName=n1", **query)) == [("ADDED", "p")]
    assert told(caller.watch(PODS, fieldSelector="spec.nodeName=", **query)) == [("DELETED", "p")]


def test_a_watch_of_one_namespace_or_one_name(caller: Caller) -> None:
    caller.post("/api/v1/namespaces", {"metadata": {"name": "other"}})
    caller.post(CONFIG_MAPS, config_map("a"))
    caller.post(CONFIG_MAPS, config_map("b"))
    caller.post("/api/v1/namespaces/other/configmaps", config_map("c"))
    assert told(caller.watch("/api/v1/namespaces/other/configmaps", timeoutSeconds=1)) == [("ADDED", "c")]
    assert told(caller.watch(f"{CONFIG_MAPS}/b", timeoutSeconds=1)) == [("ADDED", "b")]
    assert [name for _, name in told(caller.watch("/api/v1/configmaps", timeoutSeconds=1))] == ["a", "b", "c"]


def test_a_watch_from_too_long_ago_is_told_to_begin_anew() -> None:
    api = make_api(kept_changes=3)
    make_namespace(api, "default")
    with running(api) as cluster:
        caller = Caller(cluster.port)
        version = version_of(caller)
        for number in range(10):
            caller.post(CONFIG_MAPS, config_map(f"c{number}"))
        (event,) = caller.watch(CONFIG_MAPS, resourceVersion=version, timeoutSeconds=5)
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert event["object"]["message"].startswith(f"too old resource version: {version} (")
        caller.close()


def test_a_watch_from_a_version_that_never_was_is_told_to_begin_anew(caller: Caller) -> None:
    (event,) = caller.watch(CONFIG_MAPS, resourceVersion=123456, timeoutSeconds=5)
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_a_bookmark_says_how_far_the_watch_is_before_it_ends(caller: Caller) -> None:
    caller.post("/api/v1/namespaces", {"metadata": {"name": "other"}})
    version = version_of(caller)
    query = {"resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": "1"}
    (bookmark,) = caller.watch(CONFIG_MAPS, **query)
    assert bookmark["type"] == "BOOKMARK"
    assert (bookmark["object"]["kind"], bookmark["object"]["apiVersion"]) == ("ConfigMap", "v1")
    assert bookmark["object"]["metadata"]["resourceVersion"] == version


def test_initial_events_end_with_a_bookmark(caller: Caller) -> None:
    caller.post(CONFIG_MAPS, config_map("a"))
    events = caller.watch(
        CONFIG_MAPS,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
        timeoutSeconds=3600,
    )
    first, second = next(events), next(events)
    assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", "a")
    assert second["type"] == "BOOKMARK"
    assert second["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert second["object"]["metadata"]["resourceVersion"] == first["object"]["metadata"]["resourceVersion"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param({"sendInitialEvents": "true"}, "sendInitialEvents requires setting", id="alone"),
        pytest.param(
            {"resourceVersion": "1", "resourceVersionMatch": "NotOlderThan"},
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            id="a match without initial events",
        ),
    ],
)
def test_a_watch_that_makes_no_sense_is_refused(caller: Caller, query: dict[str, str], message: str) -> None:
    reply = caller.get(CONFIG_MAPS, watch="true", **query)
    assert (reply.code, message in reply.content["message"]) == (422, True)


def test_a_watch_of_tables_names_the_columns_once(caller: Caller) -> None:
    for name in ("a", "b"):
        caller.post(CONFIG_MAPS, config_map(name))
    first, second = caller.watch(CONFIG_MAPS, TABLE, timeoutSeconds=1)
    assert [event["object"]["kind"] for event in (first, second)] == ["Table", "Table"]
    assert first["object"]["columnDefinitions"][0]["name"] == "Name"
    assert not second["object"]["columnDefinitions"]
    assert [event["object"]["rows"][0]["cells"][0] for event in (first, second)] == ["a", "b"]


def test_a_watch_of_tables_that_wants_an_unknown_part_of_objects_is_refused_before_it_begins(caller: Caller) -> None:
    caller.post(CONFIG_MAPS, config_map("a"))
    reply = caller.get(CONFIG_MAPS, TABLE, watch=1, includeObject="Half", timeoutSeconds=1)
    assert reply.code == 400
    assert reply.content["message"] == 'unrecognized includeObject value: "Half"; use None, Metadata or Object'

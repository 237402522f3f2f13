"""Lists: selected, in pages that show one moment, as of a version."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.integration.embedded.running import make_api, make_namespace, running
from tests.integration.embedded.talking import CONFIG_MAPS, PODS, Caller, config_map, pod


def names(content: dict[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in content["items"]]


def fill(caller: Caller, count: int) -> None:
    for number in range(count):
        caller.post(CONFIG_MAPS, config_map(f"c{number}", labels={"odd": str(number % 2)}))


def test_a_list_has_its_kind_and_the_version_of_the_whole(caller: Caller) -> None:
    fill(caller, 2)
    content = caller.get(CONFIG_MAPS).content
    assert (content["kind"], content["apiVersion"]) == ("ConfigMapList", "v1")
    assert content["metadata"] == {"resourceVersion": content["items"][-1]["metadata"]["resourceVersion"]}
    assert names(content) == ["c0", "c1"]


def test_a_list_is_selected_by_labels_and_fields(caller: Caller) -> None:
    fill(caller, 4)
    assert names(caller.get(CONFIG_MAPS, labelSelector="odd=1").content) == ["c1", "c3"]
    assert names(caller.get(CONFIG_MAPS, labelSelector="odd=1", fieldSelector="metadata.name!=c3").content) == ["c1"]
    assert names(caller.get("/api/v1/configmaps", fieldSelector="metadata.namespace=default").content) == [
        "c0",
        "c1",
        "c2",
        "c3",
    ]


def test_pods_without_a_node_are_found(caller: Caller) -> None:
    caller.post(PODS, pod("a"))
    assert names(caller.get(PODS, fieldSelector="spec.nodeName=").content) == ["a"]
    assert names(caller.get(PODS, fieldSelector="spec.nodeName=n1").content) == []


def test_pages_make_up_the_whole(caller: Caller) -> None:
    fill(caller, 5)
    first = caller.get(CONFIG_MAPS, limit=2).content
    second = caller.get(CONFIG_MAPS, limit=2, **{"continue": first["metadata"]["continue"]}).content
    third = caller.get(CONFIG_MAPS, limit=2, **{"continue": second["metadata"]["continue"]}).content
    assert [names(page) for page in (first, second, third)] == [["c0", "c1"], ["c2", "c3"], ["c4"]]
    assert [page["metadata"].get("remainingItemCount") for page in (first, second, third)] == [3, 1, None]
    assert "continue" not in third["metadata"]


def test_pages_show_one_moment_whatever_happens_meanwhile(caller: Caller) -> None:
    fill(caller, 4)
    first = caller.get(CONFIG_MAPS, limit=2).content
    caller.delete(f"{CONFIG_MAPS}/c2")
    caller.post(CONFIG_MAPS, config_map("c25"))
    caller.put(f"{CONFIG_MAPS}/c3", config_map("c3", "changed"))
    second = caller.get(CONFIG_MAPS, limit=5, **{"continue": first["metadata"]["continue"]}).content
    assert names(second) == ["c2", "c3"]
    assert second["items"][1]["data"] == {"value": ""}
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_of_a_parameter_that_is_given_again_the_first_counts(caller: Caller) -> None:
    fill(caller, 3)
    assert names(caller.get(f"{CONFIG_MAPS}?limit=1&limit=2").content) == ["c0"]


def test_a_page_of_selected_objects_does_not_count_the_rest(caller: Caller) -> None:
    fill(caller, 5)
    page = caller.get(CONFIG_MAPS, limit=1, labelSelector="odd=0").content
    assert (names(page), "remainingItemCount" in page["metadata"]) == (["c0"], False)


def test_pages_that_took_too_long_go_on_with_what_is_there_now() -> None:
    api = make_api(kept_changes=3)
    make_namespace(api, "default")
    with running(api) as cluster:
        caller = Caller(cluster.port)
        fill(caller, 3)
        token = caller.get(CONFIG_MAPS, limit=1).content["metadata"]["continue"]
        for number in range(10):
            caller.put(f"{CONFIG_MAPS}/c2", config_map("c2", str(number)))
        reply = caller.get(CONFIG_MAPS, **{"continue": token})
        assert (reply.code, reply.content["reason"]) == (410, "Expired")
        rest = caller.get(CONFIG_MAPS, **{"continue": reply.content["metadata"]["continue"]})
        assert names(rest.content) == ["c1", "c2"]
        caller.close()


def token_of(**content: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        pytest.param({"rv": 99_999}, 504, "Too large resource version: 99999, current: ", id="of the future"),
        pytest.param({"rv": 0}, 400, "incorrect encoded start resourceVersion (version meta.k8s.io/v1)", id="of none"),
        pytest.param({"rv": -2}, 400, "incorrect encoded start resourceVersion (version meta.k8s.io/v1)", id="below"),
        pytest.param({"of": "secrets"}, 400, "it is of a list of secrets", id="of another resource"),
        pytest.param({"after": ["x", "y"]}, 400, 'it is of a list of the namespace "x"', id="of another namespace"),
    ],
)
def test_a_token_that_leads_nowhere_is_refused(
    caller: Caller, content: dict[str, Any], code: int, message: str
) -> None:
    token = token_of(**{"rv": 2, "after": ["default", "a"], "of": "configmaps"} | content)
    reply = caller.get(CONFIG_MAPS, **{"continue": token})
    assert (reply.code, message in reply.content["message"]) == (code, True)


def test_a_token_of_the_future_says_when_to_ask_again(caller: Caller) -> None:
    token = token_of(rv=99_999, after=["default", "a"], of="configmaps")
    details = caller.get(CONFIG_MAPS, **{"continue": token}).content["details"]
    assert details == {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }


def test_a_list_of_a_version_is_as_it_was_then(caller: Caller) -> None:
    fill(caller, 2)
    version = caller.get(CONFIG_MAPS).content["metadata"]["resourceVersion"]
    caller.post(CONFIG_MAPS, config_map("later"))
    then = caller.get(CONFIG_MAPS, resourceVersion=version, resourceVersionMatch="Exact").content
    assert (names(then), then["metadata"]["resourceVersion"]) == (["c0", "c1"], version)
    since = caller.get(CONFIG_MAPS, resourceVersion=version, resourceVersionMatch="NotOlderThan").content
    assert names(since) == ["c0", "c1", "later"]
    assert names(caller.get(CONFIG_MAPS, resourceVersion="0").content) == ["c0", "c1", "later"]


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        pytest.param({"labelSelector": "a in b"}, 400, "unable to parse requirement", id="a bad label selector"),
        pytest.param({"fieldSelector": "data.x=1"}, 400, "field label not supported", id="a field nobody selects by"),
        pytest.param({"limit": "many"}, 400, 'parsing "many"', id="a limit that is no number"),
        pytest.param({"continue": "?"}, 400, "continue key is not valid", id="a made-up token"),
        pytest.param({"resourceVersion": "x"}, 400, "resourceVersion", id="a version that is no number"),
        pytest.param({"resourceVersion": "999999"}, 504, "Too large resource version: 999999", id="of the future"),
        pytest.param(
            {"resourceVersionMatch": "Exact"},
            422,
            "forbidden unless resourceVersion is provided",
            id="a match of nothing",
        ),
        pytest.param(
            {"resourceVersion": "1", "resourceVersionMatch": "Near"}, 422, 'Unsupported value: "Near"', id="a new match"
        ),
        pytest.param({"sendInitialEvents": "true"}, 422, "forbidden for list", id="initial events of a list"),
        pytest.param({"watch": "perhaps"}, 400, "strconv.ParseBool", id="half a watch"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused(caller: Caller, query: dict[str, str], code: int, message: str) -> None:
    reply = caller.get(CONFIG_MAPS, **query)
    assert (reply.code, reply.content["kind"]) == (code, "Status")
    assert message in reply.content["message"]


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def test_a_table_has_the_rows_and_the_version_of_the_list(caller: Caller) -> None:
    fill(caller, 3)
    table = caller.get(CONFIG_MAPS, TABLE, limit=2).content
    assert table["kind"] == "Table"
    assert [row["cells"][0] for row in table["rows"]] == ["c0", "c1"]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    assert {"resourceVersion", "continue", "remainingItemCount"} <= table["metadata"].keys()
    single = caller.get(f"{CONFIG_MAPS}/c0", TABLE).content
    assert [row["cells"][0] for row in single["rows"]] == ["c0"]


def test_only_the_metadata_is_sent_if_no_more_is_wanted(caller: Caller) -> None:
    fill(caller, 1)
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    content = caller.get(CONFIG_MAPS, accept).content
    assert (content["kind"], content["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert content["items"][0].keys() == {"kind", "apiVersion", "metadata"}


@pytest.mark.parametrize(
    ("accept", "code"),
    [
        pytest.param("application/vnd.kubernetes.protobuf,application/json", 200, id="protobuf or JSON is JSON"),
        pytest.param("application/vnd.kubernetes.protobuf", 406, id="only protobuf"),
        pytest.param("*/*", 200, id="anything"),
        pytest.param("text/html", 406, id="a page"),
    ],
)
def test_answers_are_json_or_there_are_none(caller: Caller, accept: str, code: int) -> None:
    reply = caller.get(CONFIG_MAPS, accept)
    assert (reply.code, reply.content_type) == (code, "application/json")

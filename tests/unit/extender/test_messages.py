"""What extenders are sent, and what they answer: written as the API server writes, read as Go would read it."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from stowplan.extender.messages import (
    FilterReply,
    MetaVictims,
    ReplyError,
    UndecodableError,
    binding_request,
    nodes_request,
    preemption_request,
    read_binding,
    read_filter,
    read_preemption,
    read_priorities,
)
from stowplan.framework.contract import Preemption
from stowplan.model.decode import decode_as
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.received import with_text
from stowplan.testing import make_node, make_pod

POD = make_pod("web").requests(cpu="500m").build()
WRITTEN_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default", "uid": "uid-default-web"},
    "spec": {
        "schedulerName": "default-scheduler",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "restartPolicy": "Always",
        "containers": [{"name": "main", "resources": {"requests": {"cpu": "500m"}}}],
    },
}
NODE = make_node("n1").capacity(cpu="4").build()
WRITTEN_NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "uid": "uid-n1", "labels": {"kubernetes.io/hostname": "n1"}},
    "status": {"allocatable": {"pods": "110", "cpu": "4"}, "capacity": {"pods": "110", "cpu": "4"}},
}
VICTIM = make_pod("old").priority(-5).on("n1").build()
WRITTEN_VICTIM = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "old", "namespace": "default", "uid": "uid-default-old"},
    "spec": {
        "schedulerName": "default-scheduler",
        "priority": -5,
        "preemptionPolicy": "PreemptLowerPriority",
        "restartPolicy": "Always",
        "containers": [{"name": "main"}],
        "nodeName": "n1",
    },
}


@pytest.mark.parametrize(
    ("only_names", "nodes", "node_names"),
    [
        pytest.param(False, {"metadata": {}, "items": [WRITTEN_NODE]}, None, id="whole nodes"),
        pytest.param(True, None, ["n1"], id="names, to an extender that knows the nodes"),
    ],
)
def test_nodes_are_sent_in_one_of_two_forms(only_names: bool, nodes: Any, node_names: Any) -> None:
    request = nodes_request(POD, {"n1": NODE}, only_names=only_names)
    assert msgspec.json.decode(request) == {"Pod": WRITTEN_POD, "Nodes": nodes, "NodeNames": node_names}


def test_names_are_sent_in_the_order_given() -> None:
    request = nodes_request(POD, dict.fromkeys(("c", "a", "b"), NODE), only_names=True)
    assert msgspec.json.decode(request)["NodeNames"] == ["c", "a", "b"]


def test_a_binding_names_the_pod_and_the_node() -> None:
    assert msgspec.json.decode(binding_request(POD, "n1")) == {
        "PodName": "web",
        "PodNamespace": "default",
        "PodUID": "uid-default-web",
        "Node": "n1",
    }


@pytest.mark.parametrize(
    ("only_names", "victims", "meta_victims"),
    [
        pytest.param(False, {"n1": {"Pods": [WRITTEN_VICTIM], "NumPDBViolations": 2}}, None, id="whole pods"),
        pytest.param(True, None, {"n1": {"Pods": [{"UID": "uid-default-old"}], "NumPDBViolations": 2}}, id="uids"),
    ],
)
def test_victims_are_sent_in_one_of_two_forms(only_names: bool, victims: Any, meta_victims: Any) -> None:
    request = preemption_request(POD, [Preemption("n1", (VICTIM,), 2)], only_names=only_names)
    assert msgspec.json.decode(request) == {
        "Pod": WRITTEN_POD,
        "NodeNameToVictims": victims,
        "NodeNameToMetaVictims": meta_victims,
    }


NOTHING = FilterReply(nodes=None, node_names=None, failed={}, unresolvable={}, error="")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param(
            b'{"NodeNames": ["a"], "FailedNodes": {"b": "full"}, "FailedAndUnresolvableNodes": {"c": "never"}}',
            FilterReply(None, ("a",), {"b": "full"}, {"c": "never"}, ""),
            id="capitalised keys",
        ),
        pytest.param(
            b'{"nodenames": ["a"], "failedNodes": {"b": "full"}, "failedAndUnresolvableNodes": {"c": "never"}}',
            FilterReply(None, ("a",), {"b": "full"}, {"c": "never"}, ""),
            id="keys in lower and camel case",
        ),
        pytest.param(
            b'{"Nodes": {"items": [{"metadata": {"name": "a"}, "spec": {"name": "x"}}, {"metadata": {"name": "b"}}]}}',
            FilterReply(("a", "b"), None, {}, {}, ""),
            id="whole nodes",
        ),
        pytest.param(
            b'{"nodes": {"Items": [{"Metadata": {"Name": "a"}}]}}',
            FilterReply(("a",), None, {}, {}, ""),
            id="whole nodes in the other case",
        ),
        pytest.param(b'{"NodeNames": []}', FilterReply(None, (), {}, {}, ""), id="an empty list is a list"),
        pytest.param(b'{"Nodes": {}}', FilterReply((), None, {}, {}, ""), id="a list without items is a list"),
        pytest.param(b'{"NodeNames": null, "Nodes": null, "Error": null}', NOTHING, id="null is absent"),
        pytest.param(b"null", NOTHING, id="null as a whole"),
        pytest.param(b"{}", NOTHING, id="nothing"),
        pytest.param(b'{"error": "no"}', FilterReply(None, None, {}, {}, "no"), id="an error"),
        pytest.param(
            b'{"FailedNodes": {"Node-A": null}}',
            FilterReply(None, None, {"Node-A": ""}, {}, ""),
            id="names keep their case",
        ),
        pytest.param(b' {"NodeNames": ["a"]} {"more": 1}', FilterReply(None, ("a",), {}, {}, ""), id="more after it"),
        pytest.param(b'{"Other": {"Error": 1}}', NOTHING, id="other fields do not matter"),
    ],
)
def test_a_filter_reply_is_read(reply: bytes, expected: FilterReply) -> None:
    assert read_filter(reply) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param(b'[{"Host": "a", "Score": 3}]', [("a", 3)], id="capitalised keys"),
        pytest.param(b'[{"host": "a", "score": 3}]', [("a", 3)], id="lower-case keys"),
        pytest.param(b'[{"host": "a"}]', [("a", 0)], id="no score is 0"),
        pytest.param(b"null", [], id="null"),
    ],
)
def test_priorities_are_read(reply: bytes, expected: list[tuple[str, int]]) -> None:
    assert read_priorities(reply) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param(b'{"Error": "taken"}', "taken", id="capitalised key"),
        pytest.param(b'{"error": "taken"}', "taken", id="lower-case key"),
        pytest.param(b"{}", "", id="no error"),
    ],
)
def test_the_error_of_a_binding_is_read(reply: bytes, expected: str) -> None:
    assert read_binding(reply) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param(
            b'{"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "1"}, {"UID": "2"}], "NumPDBViolations": 1}}}',
            {"a": MetaVictims(("1", "2"), 1)},
            id="capitalised keys",
        ),
        pytest.param(
            b'{"nodeNameToMetaVictims": {"a": {"pods": [{"uid": "1"}], "numPDBViolations": 1}}}',
            {"a": MetaVictims(("1",), 1)},
            id="camel-case keys",
        ),
        pytest.param(b'{"NodeNameToMetaVictims": {"a": null}}', {"a": MetaVictims((), 0)}, id="no victims"),
        pytest.param(b"{}", {}, id="no nodes"),
    ],
)
def test_victims_are_read(reply: bytes, expected: dict[str, MetaVictims]) -> None:
    assert read_preemption(reply) == expected


@pytest.mark.parametrize(
    ("read", "reply", "problem"),
    [
        pytest.param(read_filter, b"[]", "expected an object, got []", id="an array for an object"),
        pytest.param(
            read_filter, b'{"NodeNames": "a"}', 'NodeNames: expected an array, got "a"', id="a text for a list"
        ),
        pytest.param(
            read_filter, b'{"nodeNames": ["a", 7]}', "NodeNames[1]: expected a string, got 7", id="a number for a name"
        ),
        pytest.param(
            read_filter, b'{"Nodes": {"items": [[]]}}', "Nodes.items[0]: expected an object, got []", id="no node"
        ),
        pytest.param(
            read_filter,
            b'{"Nodes": {"items": [{"metadata": {"name": 1}}]}}',
            "Nodes.items[0].metadata.name: expected a string, got 1",
            id="a number for the name of a node",
        ),
        pytest.param(
            read_filter,
            b'{"FailedNodes": {"a": {"why": "x"}}}',
            'FailedNodes["a"]: expected a string, got {"why": "x"}',
            id="an object for a message",
        ),
        pytest.param(read_filter, b'{"Error": true}', "Error: expected a string, got true", id="a flag for an error"),
        pytest.param(
            read_filter,
            b'{"Error": ["' + b"x" * 100 + b'"]}',
            'Error: expected a string, got ["' + "x" * 58 + "...",
            id="a long value is cut short",
        ),
        pytest.param(read_priorities, b'{"a": 1}', 'expected an array, got {"a": 1}', id="a map of scores"),
        pytest.param(
            read_priorities,
            b'[{"Host": "a", "Score": 1}, {"Host": "b", "Score": 1.5}]',
            "[1].Score: expected a whole number of 64 bits, got 1.5",
            id="half a point",
        ),
        pytest.param(
            read_priorities,
            b'[{"Host": "a", "Score": 9223372036854775808}]',
            "[0].Score: expected a whole number of 64 bits, got 9223372036854775808",
            id="a number too large",
        ),
        pytest.param(
            read_priorities,
            b'[{"Host": "a", "Score": true}]',
            "[0].Score: expected a whole number of 64 bits, got true",
            id="a flag for a score",
        ),
        pytest.param(read_binding, b'"bound"', 'expected an object, got "bound"', id="a text for a result"),
        pytest.param(
            read_preemption,
            b'{"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": 5}]}}}',
            'NodeNameToMetaVictims["a"].Pods[0].UID: expected a string, got 5',
            id="a number for a uid",
        ),
    ],
)
def test_a_reply_of_another_shape_names_the_field(read: Callable[[bytes], Any], reply: bytes, problem: str) -> None:
    with pytest.raises(ReplyError) as caught:
        read(reply)
    assert str(caught.value) == f"{problem}; correct what the extender replies"


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(b"[" * 100_000, id="nested too deeply"),
        pytest.param(b'[{"Host": "a", "Score": ' + b"9" * 10_000 + b"}]", id="a number without end"),
        pytest.param(b"\xff\xfe", id="not text"),
    ],
)
@pytest.mark.parametrize("read", [read_filter, read_priorities, read_binding, read_preemption])
def test_a_reply_that_is_no_json_says_so(read: Callable[[bytes], Any], reply: bytes) -> None:
    with pytest.raises(ReplyError, match=r"^not a JSON document .*; reply with JSON and nothing else$"):
        read(reply)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        pytest.param(b"", "EOF", id="empty"),
        pytest.param(b'{"NodeNames": ["a"', "unexpected EOF", id="cut off"),
        pytest.param(b'{"NodeNames": ["a', "unexpected EOF", id="cut off in a text"),
        pytest.param(b"<html>busy</html>", "invalid character '<' looking for beginning of value", id="a page"),
    ],
)
@pytest.mark.parametrize("read", [read_filter, read_priorities, read_binding, read_preemption])
def test_what_cannot_be_read_is_told_in_upstreams_words(read: Callable[[bytes], Any], reply: bytes, words: str) -> None:
    with pytest.raises(UndecodableError) as caught:
        read(reply)
    assert str(caught.value) == words


def test_a_pod_is_written_as_it_came_but_for_who_manages_its_fields() -> None:
    metadata = {"name": "web", "namespace": "default", "managedFields": [{"manager": "kubectl"}], "labels": {"a": "b"}}
    spec = {"containers": [{"name": "main", "env": [{"name": "A", "value": "1"}]}], "enableServiceLinks": True}
    text = msgspec.json.encode({"metadata": metadata, "spec": spec, "status": {"qosClass": "BestEffort"}})
    received = with_text(decode_as(Pod, text), text)
    written = msgspec.json.decode(nodes_request(received, {}, only_names=True))["Pod"]
    assert written == {
        "metadata": {"name": "web", "namespace": "default", "labels": {"a": "b"}},
        "spec": spec,
        "status": {"qosClass": "BestEffort"},
    }


def test_a_pod_that_came_with_a_node_and_is_taken_to_have_none_is_written_without() -> None:
    text = msgspec.json.encode({"metadata": {"name": "web"}, "spec": {"nodeName": "n1", "hostname": "h"}})
    received = with_text(decode_as(Pod, text), text)
    pending = replace(received, spec=replace(received.spec, node_name=""))
    sent = [msgspec.json.decode(nodes_request(pod, {}, only_names=True))["Pod"]["spec"] for pod in (received, pending)]
    assert sent == [{"nodeName": "n1", "hostname": "h"}, {"hostname": "h"}]


def test_a_node_is_written_as_it_came_but_for_who_manages_its_fields() -> None:
    info = {"nodeInfo": {"kernelVersion": "6.1"}}
    text = msgspec.json.encode({"metadata": {"name": "n1", "managedFields": [{}]}, "status": info})
    received = with_text(decode_as(Node, text), text)
    written = msgspec.json.decode(nodes_request(POD, {"n1": received}, only_names=False))["Nodes"]["items"]
    assert written == [{"metadata": {"name": "n1"}, "status": info}]

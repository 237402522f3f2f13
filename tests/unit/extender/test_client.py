"""One extender: which verbs it has, whom it is asked about, and what its replies mean."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from stowplan.config.types import ExtenderConfig, ExtenderManagedResource
from stowplan.extender.client import HttpExtender, connect
from stowplan.framework.contract import Preemption
from stowplan.framework.extender import Filtered
from stowplan.framework.handle import ExtenderError
from stowplan.model.meta import ResourceList
from stowplan.model.pod import Container, Pod
from stowplan.model.quantity import Quantity
from stowplan.model.volumes import ResourceRequirements
from stowplan.testing import make_pod
from tests.unit.extender.fakes import FakeTransport, nodes

POD = make_pod("web").build()
SETTINGS = ExtenderConfig(
    url_prefix="http://ext",
    filter_verb="filter",
    prioritize_verb="prioritize",
    bind_verb="bind",
    preempt_verb="preempt",
    weight=3,
)


def extender(reply: str = "{}", **settings: Any) -> HttpExtender:
    return HttpExtender(msgspec.structs.replace(SETTINGS, **settings), FakeTransport(reply))


def test_an_extender_has_the_verbs_it_is_configured_with() -> None:
    full, bare = extender(), HttpExtender(ExtenderConfig(), FakeTransport("{}"))
    assert (full.is_filter, full.is_prioritizer, full.is_binder, full.is_preemptor) == (True, True, True, True)
    assert (bare.is_filter, bare.is_prioritizer, bare.is_binder, bare.is_preemptor) == (False, False, False, False)


def test_extenders_that_may_fail_come_after_all_others() -> None:
    described = [
        ExtenderConfig(url_prefix="http://one", ignorable=True),
        ExtenderConfig(url_prefix="http://two"),
        ExtenderConfig(url_prefix="http://three", ignorable=True),
        ExtenderConfig(url_prefix="http://four"),
    ]
    assert [made.name for made in connect(described)] == ["http://two", "http://four", "http://one", "http://three"]


# Interest


def pod_with(*, init: bool = False, requests: ResourceList | None = None, limits: ResourceList | None = None) -> Pod:
    resources = ResourceRequirements(requests=requests or {}, limits=limits or {})
    plain, asking = Container(name="plain"), Container(name="asking", resources=resources)
    spec = make_pod().build().spec
    if init:
        spec = msgspec.structs.replace(spec, containers=(plain,), init_containers=(plain, asking))
    else:
        spec = msgspec.structs.replace(spec, containers=(plain, asking))
    return msgspec.structs.replace(POD, spec=spec)


FOO = {"example.com/foo": Quantity.parse("1")}
BAR = {"example.com/bar": Quantity.parse("1")}


@pytest.mark.parametrize(
    ("pod", "managed", "is_interested"),
    [
        pytest.param(pod_with(), (), True, id="one that manages nothing hears of every pod"),
        pytest.param(pod_with(), ("example.com/foo",), False, id="a pod that asks for nothing is none of its business"),
        pytest.param(pod_with(requests=FOO), ("example.com/foo",), True, id="a request"),
        pytest.param(pod_with(limits=FOO), ("example.com/foo",), True, id="a limit"),
        pytest.param(
            pod_with(init=True, requests=FOO), ("example.com/foo",), True, id="a request of an init container"
        ),
        pytest.param(pod_with(init=True, limits=FOO), ("example.com/foo",), True, id="a limit of an init container"),
        pytest.param(pod_with(requests=BAR), ("example.com/foo",), False, id="another resource"),
        pytest.param(pod_with(requests=BAR), ("example.com/foo", "example.com/bar"), True, id="one of several"),
    ],
)
def test_an_extender_is_asked_about_pods_that_want_what_it_manages(
    pod: Pod, managed: tuple[str, ...], is_interested: bool
) -> None:
    resources = tuple(ExtenderManagedResource(name) for name in managed)
    assert extender(managed_resources=resources).is_interested(pod) is is_interested


# Filter


@pytest.mark.parametrize(
    ("knows_nodes", "reply", "expected"),
    [
        pytest.param(
            True,
            '{"NodeNames": ["b", "a"], "FailedNodes": {"c": "hot"}, "FailedAndUnresolvableNodes": {"d": "gone"}}',
            Filtered(("b", "a"), {"c": "hot"}, {"d": "gone"}),
            id="names, in the order of the reply",
        ),
        pytest.param(
            False,
            '{"Nodes": {"items": [{"metadata": {"name": "c"}}]}}',
            Filtered(("c",)),
            id="whole nodes",
        ),
        pytest.param(
            True,
            '{"Nodes": {"items": [{"metadata": {"name": "c"}}]}}',
            Filtered(("c",)),
            id="whole nodes, although names were sent",
        ),
        pytest.param(
            True,
            '{"NodeNames": ["a"], "Nodes": {"items": [{"metadata": {"name": "c"}}]}}',
            Filtered(("a",)),
            id="names win over nodes where names were sent",
        ),
        pytest.param(
            True,
            '{"NodeNames": [], "Nodes": {"items": [{"metadata": {"name": "c"}}]}}',
            Filtered(()),
            id="so does an empty list of names",
        ),
        pytest.param(False, '{"NodeNames": ["a"]}', Filtered(()), id="names are not heard where nodes were sent"),
        pytest.param(True, "{}", Filtered(()), id="no list lets nothing through"),
        pytest.param(True, '{"NodeNames": ["a", "b", "a"]}', Filtered(("a", "b")), id="a node counts once"),
        pytest.param(
            True,
            '{"NodeNames": ["a"], "FailedNodes": {"z": "hot"}}',
            Filtered(("a",), {"z": "hot"}),
            id="a word about any node",
        ),
    ],
)
def test_a_filter_reply_says_who_gets_through(knows_nodes: bool, reply: str, expected: Filtered) -> None:
    asked = extender(reply, node_cache_capable=knows_nodes)
    assert asyncio.run(asked.filter(POD, nodes("a", "b", "c", "d"))) == expected


@pytest.mark.parametrize(
    ("knows_nodes", "reply", "message"),
    [
        pytest.param(
            True,
            '{"NodeNames": ["a", "x"]}',
            'extender "http://ext" claims a filtered node "x" which is not found in the input node list',
            id="a name that was not sent",
        ),
        pytest.param(
            False,
            '{"Nodes": {"items": [{"metadata": {"name": "x"}}]}}',
            'extender "http://ext" claims a filtered node "x" which is not found in the input node list',
            id="a node that was not sent",
        ),
        pytest.param(True, '{"NodeNames": ["a"], "Error": "on strike"}', "on strike", id="an error of its own"),
        pytest.param(
            True,
            '{"NodeNames": 5}',
            'extender "http://ext": reply to filter: NodeNames: expected an array, got 5;'
            " correct what the extender replies",
            id="a malformed reply",
        ),
    ],
)
def test_a_filter_reply_may_be_no_good(knows_nodes: bool, reply: str, message: str) -> None:
    with pytest.raises(ExtenderError) as caught:
        asyncio.run(extender(reply, node_cache_capable=knows_nodes).filter(POD, nodes("a")))
    assert str(caught.value) == message


def test_the_form_of_the_request_follows_what_the_extender_knows() -> None:
    for knows_nodes, is_empty in ((True, "Nodes"), (False, "NodeNames")):
        transport = FakeTransport('{"NodeNames": [], "Nodes": {}}')
        asked = HttpExtender(msgspec.structs.replace(SETTINGS, node_cache_capable=knows_nodes), transport)
        asyncio.run(asked.filter(POD, nodes("a")))
        [(verb, request)] = transport.asked
        assert verb == "filter"
        assert [key for key, value in request.items() if value is None] == [is_empty]


# Prioritize


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param(
            '[{"Host": "a", "Score": 10}, {"Host": "b", "Score": 1}]', {"a": 300, "b": 30}, id="weight 3, times 10"
        ),
        pytest.param('[{"Host": "a", "Score": 0}]', {"a": 0}, id="zero, and nothing for the other"),
        pytest.param('[{"Host": "x", "Score": 10}]', {}, id="another node does not matter"),
        pytest.param('[{"Host": "a", "Score": 1}, {"Host": "a", "Score": 2}]', {"a": 90}, id="twice adds up"),
        pytest.param(
            '[{"Host": "a", "Score": 100}, {"Host": "b", "Score": -1}]', {"a": 3000, "b": -30}, id="out of range"
        ),
    ],
)
def test_scores_are_weighted(reply: str, expected: dict[str, int]) -> None:
    assert asyncio.run(extender(reply).prioritize(POD, nodes("a", "b"))) == expected


@pytest.mark.parametrize("score", [2**62, -(2**62), 2**53])
def test_a_score_beyond_all_measure_is_an_error(score: int) -> None:
    with pytest.raises(ExtenderError) as caught:
        asyncio.run(extender(f'[{{"Host": "a", "Score": {score}}}]').prioritize(POD, nodes("a")))
    assert str(caught.value) == (
        f'extender "http://ext": reply to prioritize: the score of node "a" adds {score * 30} to its total;'
        " reply with scores from 0 to 10"
    )


# Bind


def test_a_binding_is_sent_to_its_verb() -> None:
    transport = FakeTransport("{}")
    asyncio.run(HttpExtender(SETTINGS, transport).bind(POD, "a"))
    request = {"PodName": "web", "PodNamespace": "default", "PodUID": "uid-default-web", "Node": "a"}
    assert transport.asked == [("bind", request)]


def test_a_binding_that_failed_says_why() -> None:
    with pytest.raises(ExtenderError, match=r"^node is full$"):
        asyncio.run(extender('{"Error": "node is full"}').bind(POD, "a"))


# Preempt

OLD, OLDER, YOUNG = (make_pod(name).on("a").build() for name in ("old", "older", "young"))


def pods_on(node_name: str) -> list[Pod] | None:
    return {"a": [OLD, OLDER, YOUNG], "b": []}.get(node_name)


def test_an_extender_may_take_other_victims_of_a_node() -> None:
    reply = '{"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "uid-default-young"}], "NumPDBViolations": 1}}}'
    candidates = [Preemption("a", (OLD, OLDER)), Preemption("b", (OLD,))]
    agreed = asyncio.run(extender(reply).preempt(POD, candidates, pods_on))
    assert agreed == [Preemption("a", (YOUNG,), 1)]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        pytest.param(
            '{"NodeNameToMetaVictims": {"b": {"Pods": [{"UID": "uid-default-old"}]}}}',
            "extender: http://ext claims to preempt pod (UID: &{uid-default-old}) on node: b,"
            " but the pod is not found on that node",
            id="a pod of another node",
        ),
        pytest.param(
            '{"NodeNameToMetaVictims": {"x": {"Pods": [{"UID": "uid-default-old"}]}}}',
            'nodeinfo not found for node name "x"',
            id="a node that is not there",
        ),
    ],
)
def test_victims_must_be_where_the_reply_puts_them(reply: str, message: str) -> None:
    with pytest.raises(ExtenderError) as caught:
        asyncio.run(extender(reply).preempt(POD, [Preemption("a", (OLD,))], pods_on))
    assert str(caught.value) == message


def test_closing_an_extender_closes_the_way_to_it() -> None:
    transport = FakeTransport("{}")
    asyncio.run(HttpExtender(SETTINGS, transport).close())
    assert transport.is_closed

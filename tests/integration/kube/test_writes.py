"""Writes: a pod is bound once or it is known why not, statuses are patched as upstream patches them, victims go."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from aiohttp import web
from msgspec.structs import replace

from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.errors import ApiError, RequestError, TransportError
from stowplan.kube.writes import AlreadyBoundError, NotLeadingError, PodGoneError, Writes
from stowplan.model import decode
from stowplan.model.kinds import Binding
from stowplan.model.meta import Condition, NamespacedMeta, ObjectReference
from stowplan.model.pod import Pod
from tests.integration.kube import hurry
from tests.integration.kube.fake_api import FakeApi, Intercept, refusal, serving

PODS_PATH = "/api/v1/pods"
BINDING = "POST /api/v1/namespaces/default/pods/web/binding"
LOOK = "GET /api/v1/namespaces/default/pods/web"
STATUS = "PATCH /api/v1/namespaces/default/pods/web/status"
DELETE = "DELETE /api/v1/namespaces/default/pods/web"
NOW = datetime(2026, 5, 4, 3, 2, 1, 999_999, tzinfo=UTC)
REFUSED = Condition(
    type="PodScheduled", status="False", reason="Unschedulable", message="0/1 nodes", observed_generation=3
)
DOOMED = Condition(
    type="DisruptionTarget", status="True", reason="PreemptionByScheduler", message="default: preempting"
)


def writing(work: Callable[[FakeApi, Writes], Awaitable[Any]], may_write: Callable[[], bool] = lambda: True) -> FakeApi:
    """Run against a server with one pod; return the server as it was left."""

    async def write(api: FakeApi, client: Client) -> None:
        await work(api, Writes(client, lambda: NOW, lambda: 0.0, may_write))

    return serving_one_pod(write, ClientSettings("t", qps=-1, timeout_seconds=10))


def serving_one_pod(work: Callable[[FakeApi, Client], Awaitable[Any]], settings: ClientSettings) -> FakeApi:
    api = FakeApi()

    async def inside() -> None:
        async with serving(api):
            api.put(PODS_PATH, "web", metadata={"uid": "u1"})
            client = Client(api.credentials, settings)
            try:
                await work(api, client)
            finally:
                await client.close()

    hurry.run(inside())
    return api


def binding(node: str = "n1", uid: str = "u1") -> Binding:
    metadata = NamespacedMeta(name="web", namespace="default", uid=uid)
    return Binding(metadata=metadata, target=ObjectReference(kind="Node", name=node))


def node_of(api: FakeApi) -> str:
    return str(api.collections[PODS_PATH].objects["default/web"].get("spec", {}).get("nodeName", ""))


def pod_of(api: FakeApi) -> Pod:
    return decode.convert(Pod, api.collections[PODS_PATH].objects["default/web"])


async def cut(request: web.Request) -> web.StreamResponse:
    """Break the connection off."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def on_binding(
    api: FakeApi, fault: Callable[[web.Request], Awaitable[web.StreamResponse]], *, is_carried_out: bool, times: int = 1
) -> Intercept:
    """Let bindings come to grief, before or after they are carried out."""

    async def intercept(request: web.Request) -> web.StreamResponse | None:
        nonlocal times
        if not request.path.endswith("/binding") or not times:
            return None
        times -= 1
        if is_carried_out:
            await api.answer(request)
        return await fault(request)

    return intercept


# Binding


def test_a_pod_is_bound() -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        await writes.bind(binding())

    api = writing(work)
    assert node_of(api) == "n1"
    assert api.requests == [BINDING]
    assert api.bodies[0] == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web", "namespace": "default", "uid": "u1"},
        "target": {"kind": "Node", "name": "n1"},
    }


@pytest.mark.parametrize(
    ("is_carried_out", "requests"),
    [
        pytest.param(True, [BINDING, LOOK], id="that landed is not sent again"),
        pytest.param(False, [BINDING, LOOK, BINDING], id="that did not land is sent again, after a look"),
    ],
)
def test_a_binding_whose_answer_was_cut_off(is_carried_out: bool, requests: list[str]) -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        api.intercept = on_binding(api, cut, is_carried_out=is_carried_out)
        await writes.bind(binding())

    api = writing(work)
    assert node_of(api) == "n1"
    assert api.requests == requests


def test_a_binding_that_timed_out_is_looked_up() -> None:
    async def hang(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(1000)
        return web.Response()

    async def work(api: FakeApi, writes: Writes) -> None:
        api.intercept = on_binding(api, hang, is_carried_out=True)
        await writes.bind(binding())

    assert writing(work).requests == [BINDING, LOOK]


def test_a_fault_of_the_server_is_none_if_the_pod_is_bound() -> None:
    async def fault(request: web.Request) -> web.StreamResponse:
        return refusal(500, "InternalError", "etcd is gone")

    async def work(api: FakeApi, writes: Writes) -> None:
        api.intercept = on_binding(api, fault, is_carried_out=True)
        await writes.bind(binding())

    assert writing(work).requests == [BINDING, LOOK]


@pytest.mark.parametrize(
    ("code", "reason", "is_retried", "posts"),
    [
        pytest.param(500, "InternalError", True, 4, id="an internal error: four times"),
        pytest.param(503, "ServiceUnavailable", True, 4, id="nobody there: four times"),
        pytest.param(504, "Timeout", True, 1, id="another fault: once"),
        pytest.param(500, "InternalError", False, 1, id="in 1.36: once"),
    ],
)
def test_a_binding_is_posted_again_after_a_fault_that_may_pass(
    code: int, reason: str, is_retried: bool, posts: int
) -> None:
    async def fault(request: web.Request) -> web.StreamResponse:
        return refusal(code, reason, "etcd is gone")

    async def work(api: FakeApi, writes: Writes) -> None:
        writes.retries_binding = is_retried
        api.intercept = on_binding(api, fault, is_carried_out=False, times=9)
        with pytest.raises(ApiError, match=r"^etcd is gone$"):
            await writes.bind(binding())

    assert writing(work).requests == [BINDING, LOOK] * posts


def test_a_binding_that_is_taken_the_second_time_is_done() -> None:
    async def fault(request: web.Request) -> web.StreamResponse:
        return refusal(503, "ServiceUnavailable", "starting")

    async def work(api: FakeApi, writes: Writes) -> None:
        api.intercept = on_binding(api, fault, is_carried_out=False)
        await writes.bind(binding())

    api = writing(work)
    assert (api.requests, node_of(api)) == ([BINDING, LOOK, BINDING], "n1")


def test_a_server_that_reads_only_json_is_sent_json_from_then_on() -> None:
    sent: list[str] = []

    async def only_json(request: web.Request) -> web.StreamResponse | None:
        sent.append(request.content_type)
        is_json = request.content_type == "application/json"
        return None if is_json else refusal(415, "UnsupportedMediaType", "the body was in an unknown format")

    async def work(api: FakeApi, writes: Writes) -> None:
        api.intercept = only_json
        await writes.bind(binding())
        api.put(PODS_PATH, "web", metadata={"uid": "u1"}, spec={})
        await writes.bind(binding("n2"))

    assert node_of(writing(work)) == "n2"
    assert sent == ["application/vnd.kubernetes.protobuf", "application/json", "application/json"]


def test_a_pod_that_another_scheduler_bound_is_left_to_it() -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        api.put(PODS_PATH, "web", spec={"nodeName": "n9"})
        with pytest.raises(AlreadyBoundError, match='pod "default/web" is already bound to node "n9"'):
            await writes.bind(binding())

    assert node_of(writing(work)) == "n9"


def test_a_conflict_over_our_own_binding_is_success() -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        api.put(PODS_PATH, "web", metadata={"uid": "u1"}, spec={"nodeName": "n1"})
        await writes.bind(binding())

    assert writing(work).requests == [BINDING, LOOK]


@pytest.mark.parametrize(
    "vanish",
    [
        pytest.param(lambda api: api.delete(PODS_PATH, "web"), id="deleted"),
        pytest.param(lambda api: api.put(PODS_PATH, "web", metadata={"uid": "u2"}), id="another of its name"),
    ],
)
def test_a_pod_that_vanished_meanwhile_is_not_bound(vanish: Callable[[FakeApi], Any]) -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        async def lose(request: web.Request) -> web.StreamResponse:
            vanish(api)
            return await cut(request)

        api.intercept = on_binding(api, lose, is_carried_out=False)
        with pytest.raises(PodGoneError, match='pod "default/web" is gone'):
            await writes.bind(binding())

    writing(work)


@pytest.mark.parametrize(
    ("code", "reason", "message"),
    [
        pytest.param(403, "Forbidden", 'pods "web" is forbidden: exceeded quota: q', id="quota"),
        pytest.param(400, "BadRequest", 'admission webhook "w" denied the request', id="webhook"),
        pytest.param(404, "NotFound", 'nodes "n1" not found', id="missing node"),
    ],
)
def test_what_the_server_refuses_is_raised_in_its_words(code: int, reason: str, message: str) -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        async def refuse(request: web.Request) -> web.Response:
            return refusal(code, reason, message)

        api.intercept = refuse
        with pytest.raises(ApiError) as caught:
            await writes.bind(binding())
        assert str(caught.value) == message

    assert writing(work).requests == [BINDING]


def test_a_binding_in_doubt_is_looked_up_until_the_server_is_back() -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        looks = 0

        async def trouble(request: web.Request) -> web.StreamResponse | None:
            nonlocal looks
            if request.method == "POST":
                await api.answer(request)
                return await cut(request)
            looks += 1
            return refusal(503, "ServiceUnavailable", "starting") if looks < 5 else None

        api.intercept = trouble
        await writes.bind(binding())
        assert looks == 5

    assert writing(work).requests.count(BINDING) == 1


def test_a_binding_that_stays_in_doubt_is_an_error_after_a_minute() -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        async def trouble(request: web.Request) -> web.StreamResponse:
            return await cut(request) if request.method == "POST" else refusal(503, "ServiceUnavailable", "starting")

        api.intercept = trouble
        started = asyncio.get_running_loop().time()
        with pytest.raises(TransportError):
            await writes.bind(binding())
        assert 60 <= asyncio.get_running_loop().time() - started < 90

    assert writing(work).requests.count(BINDING) == 1


def test_a_server_that_is_away_gets_the_binding_when_it_is_back() -> None:
    async def work() -> FakeApi:
        api = FakeApi()
        async with serving(api):
            port = int(api.address.rpartition(":")[2])
            api.put(PODS_PATH, "web", metadata={"uid": "u1"})
        client = Client(api.credentials, ClientSettings("t"))
        task = asyncio.create_task(Writes(client, lambda: NOW, lambda: 0.0).bind(binding()))
        await asyncio.sleep(5)
        async with serving(api, port):
            await task
            await client.close()
        return api

    api = hurry.run(work())
    assert node_of(api) == "n1"
    assert api.requests == [BINDING]


def test_every_third_binding_cut_or_refused_binds_every_pod_once() -> None:
    async def work() -> FakeApi:
        api = FakeApi()
        count = 0

        async def third(request: web.Request) -> web.StreamResponse | None:
            nonlocal count
            if request.method != "POST":
                return None
            count += 1
            if count % 6 == 0:
                await api.answer(request)
            return await cut(request) if count % 3 == 0 else None

        async with serving(api):
            for number in range(100):
                api.put(PODS_PATH, f"pod-{number}", metadata={"uid": f"u{number}"})
            api.intercept = third
            client = Client(api.credentials, ClientSettings("t", qps=-1))
            writes = Writes(client, lambda: NOW, lambda: 0.0)
            await asyncio.gather(
                *(
                    writes.bind(
                        Binding(
                            metadata=NamespacedMeta(name=f"pod-{number}", uid=f"u{number}"),
                            target=ObjectReference(kind="Node", name=f"n{number}"),
                        )
                    )
                    for number in range(100)
                )
            )
            await client.close()
        return api

    api = hurry.run(work())
    bound = {key: pod["spec"]["nodeName"] for key, pod in api.collections[PODS_PATH].objects.items()}
    assert bound == {f"default/pod-{number}": f"n{number}" for number in range(100)}
    changes = [found["metadata"]["name"] for _, kind, found in api.collections[PODS_PATH].history if kind == "MODIFIED"]
    assert sorted(changes) == sorted(f"pod-{number}" for number in range(100))


# Status


def test_a_condition_and_the_nominated_node_are_patched_together() -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        await writes.update_status(pod_of(api), REFUSED, "n1")

    api = writing(work)
    assert api.requests == [STATUS]
    assert api.headers[0]["Content-Type"] == "application/strategic-merge-patch+json"
    assert api.bodies[0] == {
        "metadata": {"uid": "u1"},
        "status": {
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/1 nodes",
                    "lastProbeTime": None,
                    "observedGeneration": 3,
                    "lastTransitionTime": "2026-05-04T03:02:01Z",
                }
            ],
            "nominatedNodeName": "n1",
        },
    }


def test_only_what_differs_is_written() -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        await writes.update_status(pod_of(api), REFUSED, "n1")
        await writes.update_status(pod_of(api), REFUSED, "n1")
        await writes.update_status(pod_of(api), None, None)
        await writes.update_status(pod_of(api), REFUSED, "")
        await writes.update_status(pod_of(api), None, "")
        again = Condition(type="PodScheduled", status="False", reason="SchedulerError", message="oh")
        await writes.update_status(pod_of(api), again, None)

    api = writing(work)
    first, second, third = api.bodies
    assert second == {"metadata": {"uid": "u1"}, "status": {"nominatedNodeName": None}}
    # The condition said False before, so the time it began to stays.
    assert third["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulerError",
            "message": "oh",
            "lastProbeTime": None,
        }
    ]
    assert "lastTransitionTime" in first["status"]["conditions"][0]


def test_a_new_condition_comes_after_those_that_are_there() -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        ready = Condition(type="Ready", status="True")
        pod = pod_of(api)
        await writes.update_status(replace(pod, status=replace(pod.status, conditions=(ready,))), REFUSED, None)

    order = writing(work).bodies[0]["status"]["$setElementOrder/conditions"]
    assert order == [{"type": "Ready"}, {"type": "PodScheduled"}]


FAULTS: list[Any] = [
    pytest.param(lambda request: answer(409, "Conflict"), id="conflict"),
    pytest.param(lambda request: answer(500, "InternalError"), id="internal error"),
    pytest.param(lambda request: answer(503, "ServiceUnavailable"), id="unavailable"),
]


async def answer(code: int, reason: str) -> web.Response:
    return refusal(code, reason, "not now")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("failures", [3, 4])
def test_a_patch_is_tried_four_times(fault: Callable[[web.Request], Awaitable[web.Response]], failures: int) -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        left = failures

        async def fail(request: web.Request) -> web.StreamResponse | None:
            nonlocal left
            left -= 1
            return await fault(request) if left >= 0 else None

        api.intercept = fail
        if failures == 3:
            await writes.update_status(pod_of(api), REFUSED, None)
            return
        with pytest.raises(RequestError):
            await writes.update_status(pod_of(api), REFUSED, None)

    assert writing(work).requests == [STATUS] * 4


def test_a_patch_waits_for_a_server_that_is_away_and_then_for_its_rights() -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        faults = [cut] * 6 + [lambda request: answer(403, "Forbidden")]

        async def fail(request: web.Request) -> web.StreamResponse | None:
            return await faults.pop(0)(request) if faults else None

        api.intercept = fail
        await writes.update_status(pod_of(api), REFUSED, None)

    api = writing(work)
    assert api.requests == [STATUS] * 8
    assert pod_of(api).status.condition("PodScheduled") is not None


def test_a_patch_is_given_up_when_the_server_stays_away() -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        api.intercept = cut
        started = asyncio.get_running_loop().time()
        with pytest.raises(TransportError, match="the connection broke off"):
            await writes.update_status(pod_of(api), REFUSED, None)
        assert asyncio.get_running_loop().time() - started >= 60

    writing(work)


def test_a_patch_that_is_refused_is_not_repeated() -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        async def refuse(request: web.Request) -> web.Response:
            return refusal(403, "Forbidden", "no")

        api.intercept = refuse
        with pytest.raises(ApiError, match=r"^no$"):
            await writes.update_status(pod_of(api), REFUSED, None)

    assert writing(work).requests == [STATUS]


def test_the_status_of_another_pod_of_the_name_is_left_alone() -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        pod = pod_of(api)
        api.put(PODS_PATH, "web", metadata={"uid": "u2"})
        with pytest.raises(PodGoneError, match='pod "default/web" is gone'):
            await writes.update_status(pod, REFUSED, None)

    assert writing(work).requests == [STATUS]


# Victims


def test_a_victim_is_told_why_and_deleted() -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        assert await writes.evict(pod_of(api), DOOMED)

    api = writing(work)
    assert api.requests == [STATUS, DELETE]
    assert api.bodies[0]["status"]["conditions"][0]["type"] == "DisruptionTarget"
    assert api.bodies[1] == {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "u1"}}
    assert api.names(PODS_PATH) == {}


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(lambda api: api.delete(PODS_PATH, "web"), id="gone already"),
        pytest.param(lambda api: api.put(PODS_PATH, "web", metadata={"uid": "u2"}), id="another of its name is there"),
    ],
)
def test_a_victim_that_is_not_there_any_more_is_what_was_wanted(happens: Callable[[FakeApi], Any]) -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        victim = pod_of(api)
        happens(api)
        assert not await writes.evict(victim, DOOMED)

    assert not any(line.startswith("DELETE") for line in writing(work).requests)


def test_a_victim_that_went_between_patch_and_deletion_is_fine() -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        async def race(request: web.Request) -> None:
            if request.method == "DELETE":
                api.delete(PODS_PATH, "web")
                api.put(PODS_PATH, "web", metadata={"uid": "u2"})

        api.intercept = race
        assert not await writes.evict(pod_of(api), DOOMED)

    assert list(writing(work).names(PODS_PATH)) == ["default/web"]


def test_a_victim_that_cannot_be_deleted_is_an_error() -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        async def refuse(request: web.Request) -> web.Response | None:
            return refusal(403, "Forbidden", "no") if request.method == "DELETE" else None

        api.intercept = refuse
        with pytest.raises(ApiError, match=r"^no$"):
            await writes.evict(pod_of(api), DOOMED)

    writing(work)


# Leading


def test_a_former_leader_writes_nothing() -> None:
    async def work(api: FakeApi, writes: Writes) -> None:
        for write in (
            writes.bind(binding()),
            writes.update_status(pod_of(api), REFUSED, None),
            writes.evict(pod_of(api), DOOMED),
        ):
            with pytest.raises(NotLeadingError):
                await write

    assert writing(work, may_write=lambda: False).requests == []


def test_a_leader_that_loses_its_lease_does_not_post_again() -> None:
    is_leading = True

    async def work(api: FakeApi, writes: Writes) -> None:
        async def lose(request: web.Request) -> web.StreamResponse:
            nonlocal is_leading
            is_leading = False
            return await cut(request)

        api.intercept = on_binding(api, lose, is_carried_out=False)
        with pytest.raises(NotLeadingError):
            await writes.bind(binding())

    assert writing(work, may_write=lambda: is_leading).requests == [BINDING, LOOK]


def test_a_leader_that_loses_its_lease_while_a_write_waits_for_its_turn_does_not_send_it() -> None:
    is_leading = True

    async def work(api: FakeApi, client: Client) -> None:
        nonlocal is_leading
        writes = Writes(client, lambda: NOW, lambda: 0.0, lambda: is_leading)
        await writes.bind(binding())
        late = [
            asyncio.ensure_future(writes.bind(binding())),
            asyncio.ensure_future(writes.update_status(pod_of(api), REFUSED, None)),
        ]
        await asyncio.sleep(0)
        is_leading = False
        faults = await asyncio.gather(*late, return_exceptions=True)
        assert [type(fault) for fault in faults] == [NotLeadingError, NotLeadingError]

    settings = ClientSettings("t", qps=1, burst=1, timeout_seconds=10)
    assert serving_one_pod(work, settings).requests == [BINDING]

"""What steps ask of a real API server is sent in an order that it can take, and taken away again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stowplan.bench import remote_cleanup
from stowplan.bench.objects import make_namespace
from stowplan.bench.operations import AllocResourceClaims, Sleep
from stowplan.bench.originals import Originals
from stowplan.bench.parameters import WorkloadError
from stowplan.bench.process_cost import MeasuredProcess
from stowplan.bench.remote_api import RemoteApi
from stowplan.bench.remote_requests import RemoteRequests, difference, with_priority_class
from stowplan.bench.remote_running import check_steps
from stowplan.bench.remote_scheduler import RemoteScheduler
from stowplan.bench.virtual_api import AlreadyExistsError
from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.connections import ApiAnswer
from stowplan.kube.identity import Credentials, Fixed
from stowplan.kube.informer import ServerContact
from stowplan.kube.transport import ApiRequest, IncomingAnswer
from stowplan.model.pod import Pod
from stowplan.testing import make_node, make_pod

replace = msgspec.structs.replace
TAINT = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class Server:
    """A `kube.transport.Transport` that keeps what is asked; every answer takes a turn of the loop."""

    def __init__(self, answers: Mapping[tuple[str, str], tuple[int, Any]]) -> None:
        self._answers = answers
        self.asked: list[tuple[str, str]] = []
        self.sent: dict[tuple[str, str], Any] = {}

    async def exchange(self, request: ApiRequest) -> ApiAnswer:
        asked = (request.verb, request.path)
        self.asked.append(asked)
        self.sent[asked] = json.loads(request.body) if request.body else None
        await asyncio.sleep(0)
        code, body = self._answers.get(asked, (200, {}))
        return ApiAnswer(code, "", {}, json.dumps(body).encode())

    async def close(self) -> None: ...

    async def renew(self, request: ApiRequest) -> None: ...

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[IncomingAnswer]:
        raise NotImplementedError
        yield


def run(
    work: Callable[[RemoteApi], Coroutine[Any, Any, None]],
    answers: Mapping[tuple[str, str], tuple[int, Any]] | None = None,
    draws: Iterable[int] = range(10_000),
) -> Server:
    """Have something asked of an API server that gives these answers."""
    server = Server(answers or {})

    async def all_of_it() -> None:
        client = Client(Credentials("http://server", Fixed("")), ClientSettings("test", qps=-1), transport=server)
        drawn = iter(draws)
        requests = RemoteRequests(client, Originals())
        await work(RemoteApi(requests, lambda below: next(drawn) % below, ServerContact(lambda text: None)))

    asyncio.run(all_of_it())
    return server


def pod_in(namespace: str, name: str, **spec: Any) -> Pod:
    pod = make_pod(name).build()
    metadata = replace(pod.metadata, namespace=namespace, uid="")
    return replace(pod, metadata=metadata, spec=replace(pod.spec, **spec))


def test_a_pod_waits_for_its_namespace_with_its_account_and_for_the_class_of_its_priority() -> None:
    async def work(api: RemoteApi) -> None:
        api.create(make_namespace("here"))
        api.create(pod_in("here", "p", priority=7))
        await api.written()

    server = run(work)
    assert server.asked.index(("POST", "/api/v1/namespaces/here/pods")) == 3
    assert set(server.asked[:3]) == {
        ("POST", "/api/v1/namespaces"),
        ("POST", "/api/v1/namespaces/here/serviceaccounts"),
        ("POST", "/apis/scheduling.k8s.io/v1/priorityclasses"),
    }
    spec = server.sent["POST", "/api/v1/namespaces/here/pods"]["spec"]
    assert spec["priorityClassName"] == "stowplan-bench-7"
    assert "priority" not in spec
    assert server.sent["POST", "/apis/scheduling.k8s.io/v1/priorityclasses"]["value"] == 7


def test_what_is_about_one_object_goes_one_after_another() -> None:
    async def work(api: RemoteApi) -> None:
        node = api.create(make_node("n").build())
        api.update(replace(node, metadata=replace(node.metadata, labels={"a": "b"})))
        api.delete(node)
        await api.written()

    asked = run(work).asked
    assert [verb for verb, _ in asked] == ["POST", "PATCH", "DELETE"]


def test_containers_are_resized_and_the_rest_of_a_pod_is_changed_beside_that() -> None:
    async def work(api: RemoteApi) -> None:
        known = make_pod("p").requests(cpu="1").build()
        wanted = make_pod("p").requests(cpu="2").build()
        metadata = replace(wanted.metadata, labels={"a": "b"})
        await api.requests.change(known, replace(wanted, metadata=metadata))

    server = run(work)
    path = "/api/v1/namespaces/default/pods/p"
    assert server.asked == [("PATCH", f"{path}/resize"), ("PATCH", path)]
    assert server.sent["PATCH", f"{path}/resize"] == {
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}
    }
    assert server.sent["PATCH", path]["metadata"] == {"labels": {"a": "b"}}


def test_taints_that_admission_puts_on_a_new_node_are_lifted() -> None:
    async def work(api: RemoteApi) -> None:
        api.create(make_node("n").build())
        await api.written()

    server = run(work, {("POST", "/api/v1/nodes"): (201, {"spec": {"taints": [TAINT]}})})
    assert server.sent["PATCH", "/api/v1/nodes/n"] == {"spec": {"taints": []}}


def test_what_the_server_refuses_is_the_fault_of_the_run() -> None:
    async def work(api: RemoteApi) -> None:
        api.create(make_node("n").build())
        await api.written()
        assert api.fault is not None
        assert "POST /api/v1/nodes: 409" in str(api.fault)

    run(work, {("POST", "/api/v1/nodes"): (409, {"kind": "Status", "message": "there", "reason": "AlreadyExists"})})


def test_names_are_made_up_for_many_before_any_of_them_is_made() -> None:
    async def work(api: RemoteApi) -> None:
        pod = pod_in("default", "")
        nameless = replace(pod, metadata=replace(pod.metadata, name="", generate_name="p-"))
        first, second = (api.registered(nameless).metadata.name for _ in range(2))
        assert first != second

    run(work, draws=[0] * 10 + [1] * 5)


def test_a_name_is_not_given_twice() -> None:
    async def work(api: RemoteApi) -> None:
        api.create(make_node("n").build())
        with pytest.raises(AlreadyExistsError):
            api.create(make_node("n").build())
        await api.written()

    run(work)


def test_nothing_is_deleted_that_was_not_made() -> None:
    async def work(api: RemoteApi) -> None:
        api.create(make_namespace("here"))
        api.create(pod_in("here", "p"))
        api.create(pod_in("default", "q"))
        api.create(make_node("n").build())
        await api.written()
        assert await remote_cleanup.clear(api) == []

    deleted = [path for verb, path in run(work).asked if verb == "DELETE"]
    assert deleted == [
        "/api/v1/namespaces/here/pods",
        "/apis/resource.k8s.io/v1/namespaces/here/resourceclaims",
        "/api/v1/namespaces/here/persistentvolumeclaims",
        "/api/v1/namespaces/default/pods/q",
        "/api/v1/nodes/n",
        "/api/v1/namespaces/here",
    ]


def test_what_was_made_since_is_deleted_and_may_be_made_again_in_its_namespace() -> None:
    async def work(api: RemoteApi) -> None:
        api.create(make_namespace("here"))
        api.create(make_node("n").build())
        await api.written()
        before = frozenset(api.made)
        api.create(pod_in("here", "p"))
        api.create(make_namespace("more"))
        api.create(make_node("m").build())
        await api.written()
        await remote_cleanup.clear_since(api, before)
        assert set(api.made) == {("Namespace", "here"), ("Node", "n"), ("Namespace", "more")}
        api.create(pod_in("here", "p"))
        api.create(make_node("m").build())
        await api.written()

    deleted = [path for verb, path in run(work).asked if verb == "DELETE"]
    assert deleted == [
        "/api/v1/namespaces/here/pods",
        "/apis/resource.k8s.io/v1/namespaces/here/resourceclaims",
        "/api/v1/namespaces/here/persistentvolumeclaims",
        "/api/v1/nodes/m",
    ]


def test_what_was_there_before_is_not_deleted_and_nothing_is_put_into_it() -> None:
    async def work(api: RemoteApi) -> None:
        api.create(make_namespace("theirs"))
        api.create(pod_in("theirs", "p"))
        await api.written()
        assert api.fault is not None
        await remote_cleanup.clear(api)

    there = (409, {"kind": "Status", "message": "there", "reason": "AlreadyExists"})
    asked = run(work, {("POST", "/api/v1/namespaces"): there}).asked
    assert [one for one in asked if one[0] != "GET"] == [("POST", "/api/v1/namespaces")]


def test_after_a_stop_only_what_is_under_way_is_done() -> None:
    async def work(api: RemoteApi) -> None:
        api.create(make_namespace("here"))
        api.create(pod_in("here", "p"))
        await asyncio.sleep(0)
        await api.stop()
        assert list(api.made) == [("Namespace", "here")]

    assert ("POST", "/api/v1/namespaces/here/pods") not in run(work).asked


def test_what_a_finalizer_keeps_is_released() -> None:
    async def work(api: RemoteApi) -> None:
        api.create(make_namespace("here"))
        await api.written()
        await remote_cleanup.clear(api)

    left = {"items": [{"metadata": {"name": "p", "finalizers": ["x"]}}, {"metadata": {"name": "q"}}]}
    server = run(work, {("GET", "/api/v1/namespaces/here/pods"): (200, left)})
    patches = [path for verb, path in server.asked if verb == "PATCH"]
    assert patches == ["/api/v1/namespaces/here/pods/p"]
    assert server.sent["PATCH", patches[0]] == {"metadata": {"finalizers": None}}


def test_a_patch_says_what_is_new_and_what_is_gone() -> None:
    known = {"a": {"b": 1, "c": 2}, "d": [1], "e": 3}
    assert difference(known, {"a": {"b": 1, "f": 4}, "d": [1, 2], "e": 3}) == {"a": {"c": None, "f": 4}, "d": [1, 2]}


def test_a_pod_that_names_a_class_keeps_it() -> None:
    content = {"spec": {"priority": 5, "priorityClassName": "mine"}}
    assert with_priority_class(content) == {"spec": {"priorityClassName": "mine"}}


def test_claims_that_are_allocated_by_hand_are_refused_before_anything_is_done() -> None:
    with pytest.raises(WorkloadError, match=r"operation 1 \(allocResourceClaims\): .*only in process"):
        check_steps([Sleep(duration="1s"), AllocResourceClaims()])


def test_nobody_waits_for_a_scheduler_that_has_ended(tmp_path: Path) -> None:
    process = MeasuredProcess(77, tmp_path)

    async def work(api: RemoteApi) -> None:
        scheduler = RemoteScheduler(api, process)
        (tmp_path / "77").mkdir()
        assert scheduler.fault is None
        (tmp_path / "77").rmdir()
        assert "no process" in str(scheduler.fault)
        with pytest.raises(WorkloadError, match="no process"):
            await scheduler.settle()

    run(work)

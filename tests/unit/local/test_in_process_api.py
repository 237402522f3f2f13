"""A scheduler reaches the API of its own process by requests without a wire, and by writes beside them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

import pytest

from stowplan.embedded.controllers import bootstrap
from stowplan.embedded.http.answers import Admission
from stowplan.embedded.http.requests import Request as Asked
from stowplan.embedded.identity.users import Certificate
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.requests.incoming import Answer, Later
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.store import Store
from stowplan.engine.ports import Note
from stowplan.framework.handle import ObjectWriter
from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.errors import ApiError
from stowplan.kube.identity import Credentials, Fixed
from stowplan.kube.transport import ApiRequest
from stowplan.local.in_process_api import InProcessTransport, InProcessWriter
from stowplan.model import decode
from stowplan.model.kinds import Binding
from stowplan.model.meta import Condition, NamespacedMeta, ObjectReference
from stowplan.model.pod import Pod
from stowplan.model.pod_group import PodGroup


class Server:
    """Remembers what it was asked, and answers what it was told to."""

    def __init__(self, answer: Answer | Later | Exception) -> None:
        self.asked: list[Asked] = []
        self._answer = answer

    def respond(self, request: Asked, certificate: Certificate, admission: Admission | None = None) -> Answer | Later:
        self.asked.append(request)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def client(self) -> Client:
        identity = Fixed("Bearer secret")
        line = InProcessTransport(self.respond, identity, "a-scheduler")
        return Client(Credentials("http://127.0.0.1", identity), ClientSettings("a-scheduler", qps=-1), transport=line)


def test_the_server_sees_the_request_and_who_sends_it() -> None:
    server = Server(Answer(201, b"{}"))
    request = ApiRequest(
        "PATCH", "/api/v1/nodes/a", {"fieldManager": "me & you"}, b'{"x": 1}', "application/merge-patch"
    )
    assert asyncio.run(server.client().send(request)) == b"{}"
    (asked,) = server.asked
    assert (asked.method, asked.target, asked.body) == (
        "PATCH",
        "/api/v1/nodes/a?fieldManager=me+%26+you",
        b'{"x": 1}',
    )
    assert asked.headers == {
        "accept": "application/json",
        "authorization": "Bearer secret",
        "content-type": "application/merge-patch",
        "host": "localhost",
        "user-agent": "a-scheduler",
    }


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param(StatusError(409, "Conflict", "it is bound"), 409, id="a refusal"),
        pytest.param(KeyError("name"), 500, id="a fault of the server"),
    ],
)
def test_what_goes_wrong_is_raised_as_over_the_wire(answer: Exception, code: int) -> None:
    with pytest.raises(ApiError) as caught:
        asyncio.run(Server(answer).client().send(ApiRequest("POST", "/api/v1/nodes", body=b"{}")))
    assert caught.value.code == code


def test_a_stream_that_is_refused_is_raised_too() -> None:
    async def story() -> None:
        client = Server(StatusError(403, "Forbidden", "not for you")).client()
        async with client.stream(ApiRequest("GET", "/api/v1/nodes", {"watch": "true"})):
            pass

    with pytest.raises(ApiError, match="not for you"):
        asyncio.run(story())


def test_an_answer_that_comes_later_is_waited_for() -> None:
    async def work() -> Answer:
        await asyncio.sleep(0)
        return Answer(200, b'{"later": true}')

    assert asyncio.run(Server(Later(work)).client().send(ApiRequest("GET", "/api/v1/nodes"))) == b'{"later": true}'


NOW = datetime(2026, 5, 4, 3, 2, 1, 654321, UTC)


class Others:
    """Remembers what it was asked to write."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def bind(self, binding: Binding) -> None:
        self.asked.append(f"bind {binding.metadata.name} to {binding.target.name}")

    async def update_status(self, pod: Pod, condition: Condition | None, nominated_node_name: str | None) -> None:
        self.asked.append(f"update {pod.name}")

    async def evict(self, victim: Pod, condition: Condition) -> bool:
        self.asked.append(f"evict {victim.name}")
        return True

    async def update_group_status(self, group: PodGroup, condition: Condition) -> None:
        self.asked.append(f"update group {group.name}")

    def record(self, note: Note) -> None:
        self.asked.append(f"record {note.reason}")

    @property
    def object_writer(self) -> ObjectWriter:
        raise AssertionError("nobody writes anything but pods here")


class Stage:
    """An API with one pod, and a writer to it."""

    def __init__(self) -> None:
        self.api = Api(Store(), Catalogue(), lambda: NOW, random.Random(1).getrandbits)
        bootstrap.ensure(self.api)
        pod: Object = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        self.pod = decode.convert(Pod, self.api.create(self.resource("v1", "Pod"), "default", pod))
        self.others = Others()
        self.writer = InProcessWriter(self.api)
        self.writer.before(self.others)

    def resource(self, version: str, kind: str) -> Resource:
        found = self.api.catalogue.of_kind(version, kind)
        assert found is not None
        return found

    async def bind(self, uid: str, node: str) -> None:
        meta = NamespacedMeta(namespace="default", name="web", uid=uid)
        await self.writer.bind(Binding(metadata=meta, target=ObjectReference(kind="Node", name=node)))

    def node_name(self) -> str:
        spec: Object = self.api.get(self.resource("v1", "Pod"), "default", "web")["spec"]
        return str(spec.get("nodeName", ""))


def on_stage(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


def test_a_pod_is_bound_at_once() -> None:
    async def story() -> None:
        stage = Stage()
        await stage.bind(stage.pod.uid, "a")
        assert (stage.node_name(), stage.others.asked) == ("a", [])

    on_stage(story())


def test_a_binding_that_is_refused_goes_the_usual_way() -> None:
    async def story() -> None:
        stage = Stage()
        await stage.bind("another", "a")
        await stage.bind(stage.pod.uid, "a")
        await stage.bind(stage.pod.uid, "b")
        assert stage.node_name() == "a"
        assert stage.others.asked == ["bind web to a", "bind web to b"]

    on_stage(story())


def test_what_happens_once_is_written_as_an_event() -> None:
    async def story() -> None:
        stage = Stage()
        running = asyncio.create_task(stage.writer.run())
        stage.writer.record(Note(stage.pod, "Normal", "Scheduled", "Binding", "Successfully assigned default/web to a"))
        await stage.writer.drain()
        running.cancel()
        (event,) = stage.api.list(stage.resource("events.k8s.io/v1", "Event"), "default")
        assert event["metadata"]["name"].startswith("web.")
        assert event["regarding"]["uid"] == stage.pod.uid
        told = [event[field] for field in ("type", "reason", "action", "note", "eventTime", "reportingController")]
        text = "Successfully assigned default/web to a"
        time = "2026-05-04T03:02:01.654321Z"
        assert told == ["Normal", "Scheduled", "Binding", text, time, "default-scheduler"]

    on_stage(story())


def test_what_may_repeat_and_what_is_rare_goes_the_usual_way() -> None:
    async def story() -> None:
        stage = Stage()
        stage.writer.record(Note(stage.pod, "Warning", "FailedScheduling", "Scheduling", "0/0 nodes are available"))
        await stage.writer.update_status(stage.pod, None, "a")
        await stage.writer.evict(stage.pod, Condition(type="DisruptionTarget", status="True"))
        assert stage.others.asked == ["record FailedScheduling", "update web", "evict web"]

    on_stage(story())

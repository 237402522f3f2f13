"""Writes of volumes and claims: on the version they were made for or not at all, and sent again if that is safe."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from aiohttp import web

from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.errors import ApiError
from stowplan.kube.writes import NotLeadingError, ObjectWrites
from stowplan.model import decode
from stowplan.model.meta import NamespacedMeta
from stowplan.model.storage import PersistentVolume, PersistentVolumeClaim
from tests.integration.kube import hurry
from tests.integration.kube.fake_api import FakeApi, refusal, serving

VOLUME = "/api/v1/persistentvolumes/disk"
DISK: dict[str, Any] = {"metadata": {"name": "disk", "uid": "u1", "resourceVersion": "7"}}
CLAIMED = {"spec": {"claimRef": {"name": "data"}}, "metadata": {"annotations": {"a": "b"}}}


class Server:
    """Answers as it is told, one answer for each request, and keeps what it was sent."""

    def __init__(self, *answers: tuple[int, Any]) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, str, Any]] = []

    async def intercept(self, request: web.Request) -> web.StreamResponse | None:
        body = await request.read()
        asked = f"{request.method} {request.path}"
        self.asked.append((asked, request.content_type, msgspec.json.decode(body) if body else None))
        code, answer = self._answers.pop(0)
        if code == 0:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        return refusal(code, "Refused", answer) if code >= 400 else web.json_response(answer, status=code)


def writing(server: Server, work: Callable[[ObjectWrites], Awaitable[Any]], *, leads: bool = True) -> Any:
    def check() -> None:
        if not leads:
            raise NotLeadingError("the lease is lost")

    async def inside() -> Any:
        api = FakeApi()
        api.intercept = server.intercept
        async with serving(api):
            client = Client(api.credentials, ClientSettings("t", qps=-1, timeout_seconds=10))
            try:
                return await work(ObjectWrites(client, lambda: 0.0, check))
            finally:
                await client.close()

    return hurry.run(inside())


def disk() -> PersistentVolume:
    return decode.convert(PersistentVolume, DISK)


def test_a_patch_names_the_version_and_the_object_it_was_made_for() -> None:
    changed = {"metadata": {"name": "disk", "resourceVersion": "8"}, "spec": {"claimRef": {"name": "data"}}}
    server = Server((200, changed))
    found = writing(server, lambda writes: writes.patch(disk(), CLAIMED))
    assert found.metadata.resource_version == "8"
    assert found.spec.claim_ref.name == "data"
    body = {
        "spec": {"claimRef": {"name": "data"}},
        "metadata": {"annotations": {"a": "b"}, "resourceVersion": "7", "uid": "u1"},
    }
    assert server.asked == [(f"PATCH {VOLUME}", "application/merge-patch+json", body)]


def test_a_subresource_is_patched_where_it_is() -> None:
    claim = PersistentVolumeClaim(metadata=NamespacedMeta(name="data", namespace="shop"))
    server = Server((200, {"metadata": {"name": "data"}}))
    writing(server, lambda writes: writes.patch(claim, {"status": {"phase": "Bound"}}, "status"))
    path = "PATCH /api/v1/namespaces/shop/persistentvolumeclaims/data/status"
    assert server.asked == [(path, "application/merge-patch+json", {"status": {"phase": "Bound"}, "metadata": {}})]


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        pytest.param([(500, "etcd is slow"), (200, DISK)], 2, id="a fault of the server passes"),
        pytest.param([(0, ""), (0, ""), (200, DISK)], 3, id="a lost answer leaves nothing in doubt"),
    ],
)
def test_a_patch_is_sent_again(answers: list[tuple[int, Any]], asked: int) -> None:
    server = Server(*answers)
    writing(server, lambda writes: writes.patch(disk(), CLAIMED))
    assert len(server.asked) == asked


@pytest.mark.parametrize(
    ("code", "text"),
    [
        pytest.param(409, "the object has been modified", id="another version"),
        pytest.param(404, "not found", id="gone"),
        pytest.param(403, "forbidden", id="not allowed"),
    ],
)
def test_a_refusal_is_raised_at_once(code: int, text: str) -> None:
    server = Server((code, text))
    with pytest.raises(ApiError, match=text) as caught:
        writing(server, lambda writes: writes.patch(disk(), CLAIMED))
    assert caught.value.code == code
    assert len(server.asked) == 1


def test_nothing_is_written_once_another_leads() -> None:
    server = Server()
    with pytest.raises(NotLeadingError):
        writing(server, lambda writes: writes.patch(disk(), CLAIMED), leads=False)
    assert server.asked == []


def test_an_object_is_created_once() -> None:
    claim = PersistentVolumeClaim(metadata=NamespacedMeta(name="data", namespace="shop"))
    server = Server((201, {"metadata": {"name": "data", "namespace": "shop", "uid": "new"}}))
    found = writing(server, lambda writes: writes.create(claim))
    assert found.metadata.uid == "new"
    ((asked, _, body),) = server.asked
    assert asked == "POST /api/v1/namespaces/shop/persistentvolumeclaims"
    assert (body["kind"], body["metadata"]) == ("PersistentVolumeClaim", {"name": "data", "namespace": "shop"})


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param((200, DISK), id="it was there"),
        pytest.param((404, "not found"), id="it was gone"),
        pytest.param((409, "the UID in the precondition does not match"), id="another took its name"),
    ],
)
def test_an_object_is_deleted_if_it_is_still_that_one(answer: tuple[int, Any]) -> None:
    server = Server(answer)
    writing(server, lambda writes: writes.delete(disk()))
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "u1"}}
    assert [(asked, sent) for asked, _, sent in server.asked] == [(f"DELETE {VOLUME}", body)]

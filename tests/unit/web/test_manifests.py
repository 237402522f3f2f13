"""The manifest of a pod is what the API server says, or else what the scheduler reads."""

import asyncio
import json
from typing import Any

import pytest

from stowplan.kube.client import Client
from stowplan.kube.errors import TransportError
from stowplan.kube.transport import ApiRequest
from stowplan.testing import make_pod
from stowplan.web import manifests
from stowplan.web.manifests import manifest_of

POD = make_pod("a", namespace="ns").requests(cpu="1").build()
METADATA = {"name": "a", "namespace": "ns", "uid": POD.metadata.uid}


class Server:
    """An API server of one answer: text, a fault, or none for ever."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def send(self, request: ApiRequest) -> bytes:
        assert (request.verb, request.path) == ("GET", "/api/v1/namespaces/ns/pods/a")
        if self._answer is None:
            await asyncio.Event().wait()
        if isinstance(self._answer, Exception):
            raise self._answer
        return json.dumps(self._answer).encode()


def manifest(answer: Any) -> tuple[dict[str, Any], bool]:
    client: Client = Server(answer)  # type: ignore[assignment]  # nothing else is asked of it
    return asyncio.run(manifest_of(client, POD))


def test_the_whole_object_is_shown_but_for_who_wrote_which_field() -> None:
    spec = {"terminationGracePeriodSeconds": 7}
    found, is_whole = manifest({"metadata": {**METADATA, "managedFields": [{"manager": "kubectl"}]}, "spec": spec})
    assert (found, is_whole) == ({"metadata": METADATA, "spec": spec}, True)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"metadata": {**METADATA, "uid": "other"}}, id="another pod of this name"),
        pytest.param({}, id="no object"),
        pytest.param([], id="no JSON object"),
        pytest.param(TransportError(("GET", "/"), "broken", may_have_arrived=True, is_timeout=False), id="no answer"),
    ],
)
def test_without_an_answer_it_is_what_the_scheduler_reads(answer: Any) -> None:
    found, is_whole = manifest(answer)
    assert not is_whole
    assert found["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}


def test_who_asks_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "MOST_SECONDS", 0.01)
    assert not manifest(None)[1]

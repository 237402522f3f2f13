"""A client with the server at hand asks and hears what it would over the wire."""

from __future__ import annotations

import asyncio

import pytest

from stowplan.embedded.http.answers import Admission
from stowplan.embedded.http.requests import Request as Asked
from stowplan.embedded.identity.users import Certificate
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.requests.incoming import Answer, Later
from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.errors import ApiError
from stowplan.kube.identity import Credentials, Fixed
from stowplan.kube.transport import ApiRequest
from stowplan.local.direct_line import DirectLine


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
        line = DirectLine(self.respond, identity, "a-scheduler")
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

"""Requests: what is sent, what comes back, what is sent again, and how failures are named."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from stowplan.kube.client import Client, ClientSettings, Exchange
from stowplan.kube.errors import ApiError, RequestError, TransportError
from stowplan.kube.identity import Credentials, Fixed, TokenFile
from stowplan.kube.transport import ApiRequest
from stowplan.model.pod import Pod
from tests.integration.kube import hurry
from tests.integration.kube.fake_api import SECRET, FakeApi, Intercept, refusal, serving

WEB = "/api/v1/namespaces/default/pods/web"
GET = ApiRequest("GET", WEB)
SETTINGS = ClientSettings("stowplan/test", timeout_seconds=10)


def asking(work: Callable[[FakeApi, Client], Awaitable[Any]]) -> Any:
    """Run against a server with one pod."""

    async def inside() -> Any:
        async with serving() as api:
            api.put("/api/v1/pods", "web", spec={"nodeName": "n1"})
            client = Client(api.credentials, SETTINGS)
            try:
                return await work(api, client)
            finally:
                await client.close()

    return hurry.run(inside())


def failure_of(request: ApiRequest, intercept: Intercept) -> tuple[RequestError, list[str]]:
    """Send a request that fails; return how, and everything that was sent."""

    async def work(api: FakeApi, client: Client) -> tuple[RequestError, list[str]]:
        api.intercept = intercept
        with pytest.raises(RequestError) as caught:
            await client.send(request)
        return caught.value, api.requests

    failure: tuple[RequestError, list[str]] = asking(work)
    return failure


def test_an_object_is_read_into_the_model() -> None:
    async def work(api: FakeApi, client: Client) -> None:
        pod = await client.get(Pod, WEB)
        assert (pod.key, pod.node_name, pod.metadata.resource_version) == ("default/web", "n1", "101")
        [headers] = api.headers
        assert headers["User-Agent"] == "stowplan/test"
        assert headers["Accept"] == "application/json"
        assert headers["Authorization"] == SECRET

    asking(work)


def test_a_connection_is_kept_for_the_next_request() -> None:
    peers: set[object] = set()

    async def note(request: web.Request) -> None:
        peers.add(request.transport.get_extra_info("peername") if request.transport else None)

    async def work(api: FakeApi, client: Client) -> None:
        api.intercept = note
        for _ in range(5):
            await client.get(Pod, WEB)

    asking(work)
    assert len(peers) == 1


def test_what_the_server_refuses_is_named_with_code_reason_and_request() -> None:
    async def refuse(request: web.Request) -> web.Response:
        return refusal(403, "Forbidden", 'pods "web" is forbidden: exceeded quota')

    error, sent = failure_of(ApiRequest("POST", f"{WEB}/binding", body=b"{}"), refuse)
    assert isinstance(error, ApiError)
    assert (error.code, error.reason, error.retry_after) == (403, "Forbidden", None)
    # Users read this in the events of their pod, so it is the server's text and nothing else.
    assert str(error) == 'pods "web" is forbidden: exceeded quota'
    assert error.describe() == (
        'POST /api/v1/namespaces/default/pods/web/binding: 403 Forbidden: pods "web" is forbidden: exceeded quota'
    )
    assert len(sent) == 1


def test_a_page_of_a_proxy_is_an_error_in_its_own_words() -> None:
    async def page(request: web.Request) -> web.Response:
        return web.Response(status=502, text="<html>\n  bad gateway\n</html>")

    error, _ = failure_of(GET, page)
    assert isinstance(error, ApiError)
    assert error.code == 502
    assert str(error) == (
        "the server answered 502 Bad Gateway without saying why (<html> bad gateway </html>);"
        " see its log, or a proxy's between"
    )


@pytest.mark.parametrize("verb", ["GET", "POST", "PATCH", "DELETE", "PUT"])
def test_a_request_comes_back_when_a_busy_server_says(verb: str) -> None:
    left = 3

    async def busy(request: web.Request) -> web.Response:
        nonlocal left
        left -= 1
        if left:
            return refusal(429, "TooManyRequests", "busy", **{"Retry-After": "1"})
        return web.json_response({})

    async def work(api: FakeApi, client: Client) -> tuple[bytes, float]:
        api.intercept = busy
        started = asyncio.get_running_loop().time()
        return await client.send(ApiRequest(verb, WEB)), asyncio.get_running_loop().time() - started

    body, seconds = asking(work)
    assert body == b"{}"
    assert seconds >= 2
    assert left == 0


def test_a_server_that_stays_busy_is_given_up_after_ten_repeats() -> None:
    async def busy(request: web.Request) -> web.Response:
        return refusal(429, "TooManyRequests", "busy", **{"Retry-After": "1"})

    error, sent = failure_of(ApiRequest("POST", WEB), busy)
    assert isinstance(error, ApiError)
    assert error.retry_after == 1
    assert len(sent) == 11


@pytest.mark.parametrize(
    ("verb", "headers", "count"),
    [
        pytest.param("GET", {}, 1, id="a fault that does not say when is not repeated"),
        pytest.param("GET", {"Retry-After": "1"}, 11, id="a read is repeated when the server says when"),
        pytest.param("POST", {"Retry-After": "1"}, 1, id="a write is not: it may have been carried out"),
    ],
)
def test_faults_of_the_server(verb: str, headers: dict[str, str], count: int) -> None:
    async def fault(request: web.Request) -> web.Response:
        return refusal(503, "ServiceUnavailable", "down", **headers)

    _, sent = failure_of(ApiRequest(verb, WEB), fault)
    assert len(sent) == count


@pytest.mark.parametrize(
    ("verb", "count"),
    [pytest.param("GET", 2, id="reads are sent again"), pytest.param("POST", 1, id="writes are not")],
)
def test_a_connection_that_breaks(verb: str, count: int) -> None:
    async def work(api: FakeApi, client: Client) -> None:
        async def cut(request: web.Request) -> None:
            api.intercept = None
            assert request.transport is not None
            request.transport.abort()

        await client.get(Pod, WEB)
        api.requests.clear()
        api.intercept = cut
        if verb == "GET":
            assert (await client.get(Pod, WEB)).name == "web"
        else:
            with pytest.raises(TransportError) as caught:
                await client.send(ApiRequest("POST", "/api/v1/namespaces/default/pods"))
            assert caught.value.may_have_arrived
        assert len(api.requests) == count

    asking(work)


def test_half_an_answer_is_no_answer() -> None:
    async def halve(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"metadata": {')
        assert request.transport is not None
        request.transport.close()
        return response

    error, sent = failure_of(GET, halve)
    assert isinstance(error, TransportError)
    assert str(error) == f"GET {WEB}: the connection broke off before the end of the answer"
    assert len(sent) == 3


def test_a_slow_server_is_not_waited_for_and_not_asked_twice() -> None:
    async def hang(request: web.Request) -> None:
        await asyncio.sleep(1000)

    error, sent = failure_of(GET, hang)
    assert isinstance(error, TransportError)
    assert (error.is_timeout, error.may_have_arrived) == (True, True)
    assert len(sent) == 1


def test_nobody_listening_means_that_nothing_arrived() -> None:
    async def work() -> TransportError:
        async with serving() as api:
            client = Client(api.credentials, SETTINGS)
        with pytest.raises(TransportError) as caught:
            await client.send(ApiRequest("POST", WEB))
        await client.close()
        return caught.value

    fault = hurry.run(work())
    assert (fault.may_have_arrived, fault.is_timeout) == (False, False)
    assert str(fault).startswith(f"POST {WEB}: cannot connect: ")


def test_an_answer_that_is_no_object_is_as_good_as_none() -> None:
    async def odd(request: web.Request) -> web.Response:
        return web.Response(text="<html>login</html>")

    async def work(api: FakeApi, client: Client) -> None:
        api.intercept = odd
        with pytest.raises(TransportError, match="GET /api/v1/namespaces/default/pods/web: Pod: ") as caught:
            await client.get(Pod, WEB)
        assert caught.value.may_have_arrived

    asking(work)


# Credentials


def test_a_token_that_is_not_accepted_any_more_is_read_anew(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")

    async def work() -> None:
        async with serving() as api:
            api.put("/api/v1/pods", "web")
            api.secret = "Bearer old"
            client = Client(Credentials(api.address, TokenFile(token)), SETTINGS)
            await client.get(Pod, WEB)
            token.write_text("new\n")
            api.secret = "Bearer new"
            await client.get(Pod, WEB)
            assert [headers["Authorization"] for headers in api.headers] == ["Bearer old", "Bearer old", "Bearer new"]
            await client.close()

    hurry.run(work())


def test_a_wrong_token_ends_in_an_error_after_one_more_try() -> None:
    async def work(api: FakeApi, client: Client) -> None:
        api.secret = "Bearer another"
        with pytest.raises(ApiError) as caught:
            await client.get(Pod, WEB)
        assert caught.value.code == 401
        assert len(api.requests) == 2

    asking(work)


def test_somebody_else_is_acted_for() -> None:
    async def work() -> None:
        async with serving() as api:
            api.put("/api/v1/pods", "web")
            whom = (("Impersonate-User", "ann"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
            groups: list[str] = []

            async def note(request: web.Request) -> None:
                groups.extend(request.headers.getall("Impersonate-Group"))

            api.intercept = note
            client = Client(Credentials(api.address, Fixed(SECRET), impersonation=whom), SETTINGS)
            await client.get(Pod, WEB)
            await client.close()
            assert api.headers[0]["Impersonate-User"] == "ann"
            assert groups == ["a", "b"]

    hurry.run(work())


# Rate


def test_requests_keep_to_the_rate_and_are_told_of() -> None:
    heard: list[Exchange] = []

    async def work() -> float:
        async with serving() as api:
            api.put("/api/v1/pods", "web")
            client = Client(api.credentials, ClientSettings("t", qps=2, burst=3), heard.append)
            started = asyncio.get_running_loop().time()
            await asyncio.gather(*(client.get(Pod, WEB) for _ in range(7)))
            seconds = asyncio.get_running_loop().time() - started
            await client.close()
            return seconds

    # Three at once, the other four at two a second.
    assert hurry.run(work()) >= 2.0
    assert [(one.verb, one.path, one.code) for one in heard] == [("GET", WEB, 200)] * 7
    assert sum(one.throttled_seconds > 0.4 for one in heard) == 4


def test_no_more_requests_than_allowed_are_under_way() -> None:
    underway = most = 0

    async def count(request: web.Request) -> None:
        nonlocal underway, most
        underway += 1
        most = max(most, underway)
        await asyncio.sleep(0.5)
        underway -= 1

    async def work() -> None:
        async with serving() as api:
            api.put("/api/v1/pods", "web")
            api.intercept = count
            client = Client(api.credentials, ClientSettings("t", qps=-1, max_requests=4))
            await asyncio.gather(*(client.get(Pod, WEB) for _ in range(20)))
            await client.close()

    hurry.run(work())
    assert most == 4


def test_a_request_that_is_sent_again_says_how_it_went_before() -> None:
    heard: list[Exchange] = []
    answers = [refusal(429, "TooManyRequests", "busy", **{"Retry-After": "1"}), web.json_response({"kind": "Pod"})]

    async def busy(request: web.Request) -> web.Response:
        return answers.pop(0)

    async def work() -> None:
        async with serving() as api:
            api.intercept = busy
            client = Client(api.credentials, SETTINGS, heard.append)
            await client.send(ApiRequest("POST", WEB, body=b"{}"))
            await client.close()

    hurry.run(work())
    assert [(one.code, one.code_before, one.sent_bytes) for one in heard] == [(429, None, 2), (200, 429, 2)]
    assert heard[1].received_bytes == len('{"kind": "Pod"}')

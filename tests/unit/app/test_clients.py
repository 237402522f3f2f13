"""The clients of a live scheduler, and what it asks the API server about who makes a request."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from stowplan.app.clients import KubeReviewer, told_to
from stowplan.app.process import now
from stowplan.kube.client import Client, ClientSettings, Exchange
from stowplan.kube.credentials import load
from stowplan.observe.metrics import Metrics
from stowplan.serving.authentication import AccessRequest, AccessReview, UserInfo

HOST = 'host="api.test:6443"'


def told(exchange: Exchange) -> str:
    metrics = Metrics(lambda: 0)
    told_to(metrics.requests, "https://api.test:6443/base")(exchange)
    return metrics.text().decode()


@pytest.mark.parametrize(
    ("exchange", "lines"),
    [
        pytest.param(
            Exchange("POST", "/x", 201, 0.25, 0.5, 70, 90),
            [
                f'rest_client_requests_total{{code="201",{HOST},method="POST"}} 1.0',
                f'rest_client_request_duration_seconds_sum{{{HOST},verb="POST"}} 0.25',
                f'rest_client_rate_limiter_duration_seconds_sum{{{HOST},verb="POST"}} 0.5',
                f'rest_client_request_size_bytes_sum{{{HOST},verb="POST"}} 70.0',
                f'rest_client_response_size_bytes_sum{{{HOST},verb="POST"}} 90.0',
            ],
            id="an answer",
        ),
        pytest.param(
            Exchange("GET", "/x", 0, 1.0, 0.0, 0),
            [f'rest_client_requests_total{{code="<error>",{HOST},method="GET"}} 1.0'],
            id="no answer",
        ),
        pytest.param(
            Exchange("GET", "/x", 200, 1.0, 0.0, 0, 5, 429),
            [f'rest_client_request_retries_total{{code="429",{HOST},verb="GET"}} 1.0'],
            id="sent again after the server was busy",
        ),
        pytest.param(
            Exchange("GET", "/x", 200, 1.0, 0.0, 0, 5, 0),
            [f'rest_client_request_retries_total{{code="<error>",{HOST},verb="GET"}} 1.0'],
            id="sent again after there was no answer",
        ),
    ],
)
def test_an_exchange_is_counted(exchange: Exchange, lines: list[str]) -> None:
    text = told(exchange).splitlines()
    assert [line for line in lines if line not in text] == []


def test_a_request_that_is_sent_once_is_no_retry() -> None:
    assert "rest_client_request_retries_total" not in told(Exchange("GET", "/x", 200, 1.0, 0.0, 0, 5))


def ask(status: dict[str, Any], question: str, *details: Any) -> tuple[Any, dict[str, Any]]:
    """Ask a server that answers with a status; return the answer and what was asked."""

    async def run() -> tuple[Any, dict[str, Any]]:
        asked: dict[str, Any] = {}

        async def answer(request: web.Request) -> web.Response:
            asked["path"] = request.path
            asked["body"] = await request.json() if request.can_read_body else None
            return web.json_response({"status": status, "data": status})

        app = web.Application()
        app.add_routes([web.route("*", "/{path:.*}", answer)])
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        client = Client(await load("", {}, now, f"http://127.0.0.1:{port}"), ClientSettings("tests"))
        try:
            return await getattr(KubeReviewer(client), question)(*details), asked
        finally:
            await client.close()
            await runner.cleanup()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(
            {"authenticated": True, "user": {"username": "a", "uid": "1", "groups": ["g"], "extra": {"k": ["v"]}}},
            UserInfo("a", ("g",), "1", {"k": ("v",)}),
            id="somebody's",
        ),
        pytest.param({"error": "expired"}, None, id="nobody's"),
    ],
)
def test_a_token_is_reviewed(status: dict[str, Any], expected: UserInfo | None) -> None:
    found, asked = ask(status, "review_token", "secret")
    assert found == expected
    assert asked["path"] == "/apis/authentication.k8s.io/v1/tokenreviews"
    assert asked["body"]["spec"] == {"token": "secret"}


def test_access_is_reviewed_with_all_that_is_known_about_the_user() -> None:
    user = UserInfo("a", ("g",), "1", {"k": ("v",)})
    found, asked = ask({"allowed": False, "reason": "no"}, "review_access", AccessRequest(user, "get", "/metrics"))
    assert found == AccessReview(False, "no")
    assert asked["path"] == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert asked["body"]["spec"] == {
        "user": "a",
        "groups": ["g"],
        "uid": "1",
        "extra": {"k": ["v"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }


def test_the_settings_of_the_cluster_are_read() -> None:
    found, asked = ask({"client-ca-file": "pem"}, "authentication_config")
    assert found == {"client-ca-file": "pem"}
    assert asked["path"] == "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

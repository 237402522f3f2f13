"""Reviews are asked for, and understood, as the API server has them."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from stowplan.app.clients import now
from stowplan.app.kube_reviews import KubeReviewer
from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.credentials import load
from stowplan.serving.identity import AccessRequest, Decision, User


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
            User("a", ("g",), "1", {"k": ("v",)}),
            id="somebody's",
        ),
        pytest.param({"error": "expired"}, None, id="nobody's"),
    ],
)
def test_a_token_is_reviewed(status: dict[str, Any], expected: User | None) -> None:
    found, asked = ask(status, "review_token", "secret")
    assert found == expected
    assert asked["path"] == "/apis/authentication.k8s.io/v1/tokenreviews"
    assert asked["body"]["spec"] == {"token": "secret"}


def test_access_is_reviewed_with_all_that_is_known_about_the_user() -> None:
    user = User("a", ("g",), "1", {"k": ("v",)})
    found, asked = ask({"allowed": False, "reason": "no"}, "review_access", AccessRequest(user, "get", "/metrics"))
    assert found == Decision(False, "no")
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

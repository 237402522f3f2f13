"""Credentials on the wire: certificates that are trusted and shown, and proxies on the way."""

from __future__ import annotations

import base64
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from aiohttp import web

from stowplan.kube import credentials
from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.errors import TransportError
from stowplan.kube.identity import Credentials, Fixed
from stowplan.kube.transport import ApiRequest
from tests.integration.kube import hurry
from tests.integration.kube.fake_api import FakeApi, serving

NOW = datetime(2026, 5, 4, tzinfo=UTC)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def inline(blob: trustme.Blob) -> str:
    return base64.b64encode(blob.bytes()).decode()


async def ask_secure(
    authority: trustme.CA, folder: Path, cluster: Mapping[str, Any], user: Mapping[str, Any], name: str = "127.0.0.1"
) -> str:
    """Ask a server of that authority who we are to it, with a kubeconfig file of that cluster and user."""
    async with secure_server(authority, name) as server:
        config = {
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": dict(user)}],
        }
        path = folder / "config"
        path.write_text(yaml.safe_dump(config))
        client = Client(await credentials.load(str(path), {}, lambda: NOW), ClientSettings("t"))
        try:
            return (await client.send(ApiRequest("GET", "/who"))).decode()
        finally:
            await client.close()


@asynccontextmanager
async def secure_server(authority: trustme.CA, name: str) -> AsyncIterator[str]:
    """Serve over TLS under that name, and say whose certificate and which token the client showed."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(name).configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_OPTIONAL

    async def who(request: web.Request) -> web.Response:
        assert request.transport is not None
        certificate = request.transport.get_extra_info("peercert")
        shown = certificate["subjectAltName"][0][1] if certificate else "nobody"
        return web.json_response({"shown": shown, "token": request.headers.get("Authorization", "")})

    app = web.Application()
    app.router.add_get("/who", who)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def test_a_known_authority_and_a_client_certificate(authority: trustme.CA, tmp_path: Path) -> None:
    client = authority.issue_cert("scheduler.test")
    user = {
        "client-certificate-data": inline(client.cert_chain_pems[0]),
        "client-key-data": inline(client.private_key_pem),
    }
    cluster = {"certificate-authority-data": inline(authority.cert_pem)}
    assert hurry.run(ask_secure(authority, tmp_path, cluster, user)) == '{"shown": "scheduler.test", "token": ""}'


def test_certificates_in_files_beside_the_kubeconfig(authority: trustme.CA, tmp_path: Path) -> None:
    client = authority.issue_cert("scheduler.test")
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    client.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    client.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    user = {"client-certificate": "cert.pem", "client-key": "key.pem", "token": "abc"}
    answer = hurry.run(ask_secure(authority, tmp_path, {"certificate-authority": "ca.pem"}, user))
    assert answer == '{"shown": "scheduler.test", "token": "Bearer abc"}'


def test_a_server_of_another_authority_is_not_believed(authority: trustme.CA, tmp_path: Path) -> None:
    cluster = {"certificate-authority-data": inline(trustme.CA().cert_pem)}
    with pytest.raises(TransportError, match="certificate verify failed") as caught:
        hurry.run(ask_secure(authority, tmp_path, cluster, {}))
    assert not caught.value.may_have_arrived


def test_any_server_is_believed_if_told_so(authority: trustme.CA, tmp_path: Path) -> None:
    answer = hurry.run(ask_secure(authority, tmp_path, {"insecure-skip-tls-verify": True}, {}))
    assert answer == '{"shown": "nobody", "token": ""}'


def test_a_server_may_have_another_name_than_its_address(authority: trustme.CA, tmp_path: Path) -> None:
    cluster = {"certificate-authority-data": inline(authority.cert_pem)}
    with pytest.raises(TransportError, match="certificate verify failed"):
        hurry.run(ask_secure(authority, tmp_path, cluster, {}, name="api.test"))
    named = {**cluster, "tls-server-name": "api.test"}
    assert hurry.run(ask_secure(authority, tmp_path, named, {}, name="api.test")) == '{"shown": "nobody", "token": ""}'


def test_requests_go_through_a_proxy() -> None:
    async def work() -> list[str]:
        proxy = FakeApi()

        async def answer(request: web.Request) -> web.Response:
            return web.json_response({"asked": str(request.url)})

        proxy.intercept = answer
        async with serving(proxy):
            client = Client(Credentials("http://api.test", Fixed(""), proxy=proxy.address), ClientSettings("t"))
            body = await client.send(ApiRequest("GET", "/api/v1/nodes"))
            await client.close()
            assert body == b'{"asked": "http://api.test/api/v1/nodes"}'
            return proxy.requests

    assert hurry.run(work()) == ["GET /api/v1/nodes"]


def test_a_proxy_that_is_away_means_that_nothing_arrived() -> None:
    async def work() -> TransportError:
        async with serving() as api:
            address = api.address
        client = Client(Credentials("http://api.test", Fixed(""), proxy=address), ClientSettings("t"))
        with pytest.raises(TransportError) as caught:
            await client.send(ApiRequest("POST", "/x"))
        await client.close()
        return caught.value

    assert not hurry.run(work()).may_have_arrived

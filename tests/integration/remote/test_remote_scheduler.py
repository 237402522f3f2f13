"""The way from a kubeconfig to the scheduler that leads: over real TLS, through a port-forward, to a guarded port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web

from stowplan.app.scheduler_query import QueryError, Search, Where, ask
from stowplan.serving.authentication import Authorities, DelegatedAuthenticator, UserInfo
from stowplan.serving.authorization import DelegatedAuthorizer, Guard
from stowplan.serving.certificates import ServerCertificate, TlsSettings
from tests.integration.kube import hurry
from tests.integration.remote.pod_api import PodApi, pod, serving, write_kubeconfig
from tests.unit.serving.certificate_authority import Authority
from tests.unit.serving.fake_reviewer import FakeReviewer

PAGE = "/debug/stowplan/queue"
LEADER = "kube-system/stowplan-1"


class World:
    """A cluster with a scheduler in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.authority, self.clients = folder, trustme.CA(), Authority("clients")
        self.api = PodApi({"kube-system/stowplan": "stowplan-1_0b0c"}, {LEADER: pod(LEADER)})
        self.reviewer = FakeReviewer()
        self.reviewer.tokens = {"token of asker": UserInfo("asker"), "token of dev": UserInfo("dev")}
        self.reviewer.allowed = {(user, "get", PAGE) for user in ("asker", "carol")}
        self.tls = TlsSettings()
        #: What the scheduler was asked, and with which header of who asks.
        self.shown: list[str] = []

    def certificate(self, user: str) -> dict[str, Any]:
        """A user of a kubeconfig who shows a client certificate."""
        pair = self.folder / f"{user}.pem"
        pair.write_text(self.clients.issue(user)[1])
        return {"client-certificate": str(pair), "client-key": str(pair)}

    async def ask(self, user: dict[str, Any], **search: str) -> str:
        async with self._scheduler() as self.api.port, serving(self.api, self.authority) as server:
            kubeconfig = write_kubeconfig(self.folder / "kubeconfig", server, self.authority, user)
            return (await ask(Where(kubeconfig=kubeconfig, search=Search(**search)), PAGE, {"limit": "1"})).decode()

    @asynccontextmanager
    async def _scheduler(self) -> AsyncIterator[int]:
        guard = Guard(
            DelegatedAuthenticator(lambda: 0.0, Authorities(self.clients.pem), None, self.reviewer),
            DelegatedAuthorizer(lambda: 0.0, reviewer=self.reviewer),
        )

        async def page(request: web.Request) -> web.Response:
            self.shown.append(request.headers.get("Authorization", ""))
            # Longer than any buffer on the way.
            return web.Response(text=f"{request.path_qs} {'x' * 300_000}")

        app = web.Application(middlewares=[guard.admit])
        app.router.add_get(PAGE, page)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        context = ServerCertificate(self.tls, self.clients.pem).context
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        try:
            yield runner.addresses[0][1]
        finally:
            await runner.cleanup()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def refused(world: World, user: dict[str, Any], **search: str) -> str:
    with pytest.raises(QueryError) as error:
        hurry.run(world.ask(user, **search))
    return str(error.value)


def test_a_client_certificate_is_shown_to_the_scheduler_itself(world: World) -> None:
    answer = hurry.run(world.ask(world.certificate("carol")))
    assert answer == f"{PAGE}?limit=1 {'x' * 300_000}"
    assert world.shown == [""]
    assert world.api.requests == [
        "GET /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/stowplan",
        "GET /api/v1/namespaces/kube-system/pods/stowplan-1",
        "GET /api/v1/namespaces/kube-system/pods/stowplan-1/portforward?ports=10259",
    ]


def test_a_token_of_the_kubeconfig_is_shown_to_both(world: World) -> None:
    hurry.run(world.ask({"token": "token of asker"}))
    assert world.shown == ["Bearer token of asker"]
    assert {headers["Authorization"] for headers in world.api.headers} == {"Bearer token of asker"}


def test_as_a_service_account_the_scheduler_sees_only_its_token(world: World) -> None:
    user = {"token": "token of dev", "as": "admin"}
    hurry.run(world.ask(user, service_account="kube-system/asker"))
    assert world.shown == ["Bearer token of asker"]
    assert "POST /api/v1/namespaces/kube-system/serviceaccounts/asker/token" in world.api.requests
    assert {(headers["Authorization"], headers["Impersonate-User"]) for headers in world.api.headers} == {
        ("Bearer token of dev", "admin")
    }


def test_a_token_in_a_file_is_shown_to_the_scheduler_alone(world: World) -> None:
    (world.folder / "token").write_text("token of asker")
    hurry.run(world.ask(world.certificate("nobody"), token_file=str(world.folder / "token")))
    assert world.shown == ["Bearer token of asker"]
    assert not any("Authorization" in headers for headers in world.api.headers)


@pytest.mark.parametrize(
    ("user", "problem"),
    [
        pytest.param(
            {"token": "token of dev"},
            'forbidden: User "dev" cannot get path "/debug/stowplan/queue": no rule;'
            " grant get on nonResourceURLs [/debug/stowplan/queue] in a ClusterRole",
            id="who may not",
        ),
        pytest.param(
            {"token": "stale"},
            "the scheduler does not know who asks (Unauthorized);"
            " is the token still good? Or ask with --as-service-account NAMESPACE/NAME",
            id="whom nobody knows",
        ),
        pytest.param(
            {},
            'forbidden: User "system:anonymous" cannot get path "/debug/stowplan/queue": no rule;'
            " it takes neither a token nor a client certificate of the kubeconfig;"
            " ask with --as-service-account NAMESPACE/NAME",
            id="who shows nothing",
        ),
    ],
)
def test_whom_the_scheduler_refuses_hears_what_is_missing(world: World, user: dict[str, Any], problem: str) -> None:
    assert refused(world, user) == f"pod {LEADER}: {problem}"
    assert world.shown == []


def test_a_kubeconfig_that_acts_as_somebody_else_is_refused_before_anything_is_shown(world: World) -> None:
    assert refused(world, {"token": "token of asker", "as": "admin"}).startswith("the kubeconfig acts as somebody else")
    assert (world.shown, world.api.forwards) == ([], 0)


# The way


def test_a_port_forward_that_is_forbidden_names_the_right(world: World) -> None:
    world.api.forbidden = {"portforward"}
    assert refused(world, {"token": "token of asker"}) == (
        f'pod {LEADER} cannot be reached: stowplan-1 "portforward" is forbidden: User "dev" cannot use it;'
        " grant get and create on pods/portforward in namespace kube-system"
    )


@pytest.mark.parametrize(
    ("part", "right"),
    [
        pytest.param("leases", "get on leases (coordination.k8s.io) in namespace kube-system", id="leases"),
        pytest.param("stowplan-1", "get and list on pods in namespace kube-system", id="pods"),
    ],
)
def test_what_may_not_be_read_is_named(world: World, part: str, right: str) -> None:
    world.api.forbidden = {part}
    assert refused(world, {"token": "token of asker"}).endswith(f"; grant {right}")


def test_what_the_kubelet_says_is_told(world: World) -> None:
    world.api.trouble = "error forwarding port 10259: connect: connection refused"
    problem = refused(world, {"token": "token of asker"})
    assert problem.startswith(f"pod {LEADER}, port 10259: GET {PAGE}: cannot connect: ")
    assert problem.endswith(f" ({world.api.trouble}); does it serve on that port?")


def test_a_server_with_another_protocol_is_named(world: World) -> None:
    world.api.protocol = "other.k8s.io"
    assert "takes no port-forward by WebSocket with the protocol v4.channel.k8s.io" in refused(world, {"token": "x"})


def test_an_api_server_that_is_not_there_is_named(world: World) -> None:
    kubeconfig = write_kubeconfig(world.folder / "k", "https://127.0.0.1:1", world.authority, {"token": "x"})
    with pytest.raises(QueryError, match="does the kubeconfig lead to the API server of a cluster"):
        hurry.run(ask(Where(kubeconfig=kubeconfig), PAGE, {}))


# Whom to trust


def certified(world: World, name: str) -> str:
    """Give the scheduler a certificate for a name; return whom to trust for it."""
    authority = trustme.CA()
    pair = authority.issue_cert(name)
    cert, key, ca = (world.folder / file for file in ("tls.crt", "tls.key", "tls-ca.crt"))
    pair.cert_chain_pems[0].write_to_path(cert)
    pair.private_key_pem.write_to_path(key)
    authority.cert_pem.write_to_path(ca)
    world.tls = TlsSettings(str(cert), str(key))
    return str(ca)


def test_a_certificate_is_verified_if_there_is_somebody_to_trust(world: World) -> None:
    authority = certified(world, "stowplan.kube-system.svc")
    user = world.certificate("carol")
    hurry.run(world.ask(user, authority=authority, server_name="stowplan.kube-system.svc"))
    assert len(world.shown) == 1
    assert "Hostname mismatch" in refused(world, user, authority=authority)


@pytest.mark.parametrize("user", ["certificate", "token"])
def test_a_certificate_of_somebody_else_ends_it_before_a_token_is_shown(world: World, user: str) -> None:
    certified(world, "localhost")
    stranger = world.folder / "stranger.crt"
    trustme.CA().cert_pem.write_to_path(stranger)
    shown = world.certificate("carol") if user == "certificate" else {"token": "token of asker"}
    problem = refused(world, shown, authority=str(stranger))
    assert "CERTIFICATE_VERIFY_FAILED" in problem
    assert problem.endswith("; check --certificate-authority and --tls-server-name, or leave both out")
    assert world.shown == []


def test_the_api_server_is_verified_before_anything_is_shown(world: World) -> None:
    async def ask_another() -> None:
        async with serving(world.api, trustme.CA()) as server:
            kubeconfig = write_kubeconfig(world.folder / "k", server, world.authority, {"token": "token of asker"})
            await ask(Where(kubeconfig=kubeconfig), PAGE, {})

    with pytest.raises(QueryError, match="CERTIFICATE_VERIFY_FAILED"):
        hurry.run(ask_another())
    assert world.api.requests == []

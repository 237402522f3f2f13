"""The endpoints over real HTTPS: what each shows, to whom, and what the server logs of its own."""

import asyncio
import json
import logging
import re
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from multidict import CIMultiDict

from stowplan.app.clients import VERSION
from stowplan.embedded.http.server import ServerOptions
from stowplan.local.pages import serve_pages
from stowplan.observe.component_metrics import HealthMetrics
from stowplan.observe.metrics import Metrics
from stowplan.serving.authentication import Authorities, DelegatedAuthenticator, UserInfo
from stowplan.serving.authorization import DelegatedAuthorizer, Guard
from stowplan.serving.certificates import ServerCertificate, TlsSettings
from stowplan.serving.routes import Pages
from stowplan.serving.server import Address, ServingError, connection_log, serve
from tests.unit.serving.certificate_authority import Authority
from tests.unit.serving.fake_reviewer import FakeReviewer

TOKEN = {"Authorization": "Bearer good"}
CLIENTS = Authority("clients")


class Answer:
    """What came back."""

    def __init__(self, status: int, text: str, headers: CIMultiDict[str]) -> None:
        self.status, self.text, self.headers = status, text, headers


Get = Callable[..., Awaitable[Answer]]


def make_pages(problems: dict[str, str], **changes: Any) -> Pages:
    values: dict[str, Any] = {
        "healthz": {},
        "readyz": {"sched-handler-sync": lambda: problems.get("sync", "")},
        "metrics": Metrics(lambda: 0),
        "health_metrics": HealthMetrics(1000.0),
        "pod_resources": resources,
        "configuration": lambda: {"kind": "KubeSchedulerConfiguration", "parallelism": 16},
        "flags": {"v": "2", "config": "x.yaml"},
        "version": VERSION,
        "release": "1.37",
        "started_at": 1000.0,
        "now": lambda: 1000.0 + 3725,
        "set_verbosity": set_verbosity,
    }
    return Pages(**(values | changes))


async def resources() -> bytes | None:
    return b"kube_pod_resource_request 1\n"


async def no_resources() -> bytes | None:
    return None


def set_verbosity(text: str) -> str:
    if not text.isdigit():
        raise ValueError(f"{text!r} is no number")
    return f"set to {text}"


def make_reviewer() -> FakeReviewer:
    reviewer = FakeReviewer()
    reviewer.tokens["good"] = UserInfo("prometheus", ("system:masters",))
    reviewer.tokens["limited"] = UserInfo("guest")
    reviewer.allowed.add(("guest", "get", "/metrics"))
    return reviewer


def talk(
    work: Callable[[Get], Awaitable[None]],
    pages: Pages | None = None,
    reviewer: FakeReviewer | None = None,
    client_certificate: str = "",
) -> None:
    """Serve on loopback, and have `work` ask for pages."""

    async def run() -> None:
        known = reviewer if reviewer is not None else make_reviewer()
        authenticator = DelegatedAuthenticator(lambda: 0.0, Authorities(CLIENTS.pem), None, known)
        guard = Guard(authenticator, DelegatedAuthorizer(lambda: 0.0, reviewer=known))
        certificate = ServerCertificate(TlsSettings(), CLIENTS.pem)
        server = await serve(Address("127.0.0.1", 0), certificate, guard, pages or make_pages({}))
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        if client_certificate:
            tls.load_cert_chain(client_certificate)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as session:

            async def get(path: str, method: str = "GET", **options: Any) -> Answer:
                url = f"https://127.0.0.1:{server.port}{path}"
                async with session.request(method, url, allow_redirects=False, **options) as found:
                    return Answer(found.status, await found.text(), CIMultiDict(found.headers))

            try:
                await work(get)
            finally:
                await server.stop()

    asyncio.run(run())


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_anybody_may_ask_for_health(path: str) -> None:
    async def work(get: Get) -> None:
        answer = await get(path)
        assert (answer.status, answer.text) == (200, "ok")
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-cache, private"

    talk(work)


def test_health_is_told_in_detail_and_check_by_check() -> None:
    async def work(get: Get) -> None:
        assert (await get("/livez?verbose")).text == "[+]ping ok\nlivez check passed\n"
        failed = await get("/readyz")
        expected = "[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n"
        assert (failed.status, failed.text) == (500, expected)
        assert (await get("/readyz?exclude=sched-handler-sync")).text == "ok"
        single = await get("/readyz/sched-handler-sync", headers=TOKEN)
        assert (single.status, single.text) == (500, "internal server error: not yet\n")
        assert (await get("/readyz/other", headers=TOKEN)).status == 404

    talk(work, make_pages({"sync": "not yet"}))


@pytest.mark.parametrize(
    ("headers", "path", "status", "message"),
    [
        pytest.param(
            {},
            "/metrics",
            403,
            'forbidden: User "system:anonymous" cannot get path "/metrics": no rule',
            id="nobody in particular is forbidden",
        ),
        pytest.param({"Authorization": "Bearer bad"}, "/metrics", 401, "Unauthorized", id="a bad token is refused"),
        pytest.param(
            {"Authorization": "Bearer bad"}, "/healthz", 401, "Unauthorized", id="a bad token is refused everywhere"
        ),
        pytest.param(
            {"Authorization": "Bearer limited"},
            "/configz",
            403,
            'forbidden: User "guest" cannot get path "/configz": no rule',
            id="what there is no rule for is forbidden",
        ),
        pytest.param(
            {}, "/nowhere", 403, 'forbidden: User "system:anonymous" cannot get path "/nowhere": no rule', id="unknown"
        ),
    ],
)
def test_who_may_not_see_a_page_gets_a_status(headers: dict[str, str], path: str, status: int, message: str) -> None:
    async def work(get: Get) -> None:
        answer = await get(path, headers=headers)
        assert answer.status == status
        assert answer.headers["Content-Type"].startswith("application/json")
        found = json.loads(answer.text)
        assert (found["kind"], found["status"], found["message"], found["code"]) == (
            "Status",
            "Failure",
            message,
            status,
        )

    talk(work)


def test_who_is_allowed_sees_metrics_and_may_reset_them() -> None:
    async def work(get: Get) -> None:
        answer = await get("/metrics", headers={"Authorization": "Bearer limited"})
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert "scheduler_preemption_attempts_total 0.0" in answer.text
        reset = await get("/metrics", "DELETE", headers=TOKEN)
        assert reset.text == "metrics reset\n"
        assert (await get("/metrics", "DELETE", headers={"Authorization": "Bearer limited"})).status == 403

    talk(work)


def test_a_client_certificate_lets_in(tmp_path: Path) -> None:
    _, pem = CLIENTS.issue("admin", "system:masters")
    (tmp_path / "client.pem").write_text(pem)

    async def work(get: Get) -> None:
        assert (await get("/metrics/resources")).text == "kube_pod_resource_request 1\n"

    talk(work, client_certificate=str(tmp_path / "client.pem"))


def test_resources_are_empty_while_another_replica_leads() -> None:
    async def work(get: Get) -> None:
        answer = await get("/metrics/resources", headers=TOKEN)
        assert (answer.status, answer.text) == (200, "")

    talk(work, make_pages({}, pod_resources=no_resources))


def test_checks_show_up_as_service_levels() -> None:
    async def work(get: Get) -> None:
        await get("/readyz")
        text = (await get("/metrics/slis", headers=TOKEN)).text
        assert 'kubernetes_healthcheck{name="sched-handler-sync",type="readyz"} 0.0' in text
        assert 'kubernetes_healthchecks_total{name="sched-handler-sync",status="error",type="readyz"} 1.0' in text
        assert "process_start_time_seconds 1000.0" in text

    talk(work, make_pages({"sync": "not yet"}))


def test_the_configuration_is_shown() -> None:
    async def work(get: Get) -> None:
        answer = await get("/configz", headers=TOKEN)
        assert answer.text == '{"componentconfig":{"kind":"KubeSchedulerConfiguration","parallelism":16}}'

    talk(work)


def test_what_runs_is_shown_as_text_and_as_an_object() -> None:
    async def work(get: Get) -> None:
        lines = (await get("/statusz", headers=TOKEN)).text.splitlines()
        assert lines[:2] == ["", "kube-scheduler statusz"]
        assert "Started: Thu Jan  1 00:16:40 UTC 1970" in lines
        assert "Up: 1 hr 02 min 05 sec" in lines
        assert "Emulation version: 1.37" in lines
        assert lines[-1] == "Paths: /configz /flagz /healthz /livez /metrics /readyz"
        accept = {"Accept": "application/json;v=v1beta1;g=config.k8s.io;as=Statusz"}
        found = json.loads((await get("/statusz", headers=TOKEN | accept)).text)
        assert (found["kind"], found["apiVersion"], found["uptimeSeconds"]) == (
            "Statusz",
            "config.k8s.io/v1beta1",
            3725,
        )
        refused = await get("/statusz", headers=TOKEN | {"Accept": "application/json"})
        assert refused.status == 406

    talk(work)


def test_flags_are_shown_in_order() -> None:
    async def work(get: Get) -> None:
        lines = (await get("/flagz", headers=TOKEN)).text.splitlines()
        assert (lines[1], lines[-2:]) == ("kube-scheduler flagz", ["config=x.yaml", "v=2"])
        accept = {"Accept": "application/json;v=v1alpha1;g=config.k8s.io;as=Flagz"}
        assert json.loads((await get("/flagz", headers=TOKEN | accept)).text)["flags"] == {"config": "x.yaml", "v": "2"}

    talk(work)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        pytest.param({"flags": None}, "/flagz", id="flags, without their feature"),
        pytest.param({"has_status": False}, "/statusz", id="the status, without its feature"),
        pytest.param({"set_verbosity": None}, "/debug/pprof/", id="profiles, without profiling"),
        pytest.param({}, "/nowhere", id="a page that does not exist"),
    ],
)
def test_what_is_not_served_is_not_found(changes: dict[str, Any], path: str) -> None:
    async def work(get: Get) -> None:
        answer = await get(path, headers=TOKEN)
        assert (answer.status, answer.text) == (404, "404 page not found\n")

    talk(work, make_pages({}, **changes))


def test_profiles_say_what_there_is_and_what_there_is_not() -> None:
    async def work(get: Get) -> None:
        moved = await get("/debug/pprof", headers=TOKEN)
        assert (moved.status, moved.headers["Location"]) == (302, "/debug/pprof/")
        index = (await get("/debug/pprof/", headers=TOKEN)).text
        assert "Not available in Python: allocs, block, heap" in index
        stacks = (await get("/debug/pprof/goroutine", headers=TOKEN)).text
        assert re.match(r"\d+ tasks\n", stacks)
        assert "thread MainThread:" in stacks
        profile = (await get("/debug/pprof/profile?seconds=0.05", headers=TOKEN)).text
        assert "function calls" in profile
        heap = await get("/debug/pprof/heap", headers=TOKEN)
        assert (heap.status, heap.text) == (404, "heap: not available in Python; see /debug/pprof/ for what is\n")

    talk(work)


def test_the_verbosity_is_put() -> None:
    async def work(get: Get) -> None:
        done = await get("/debug/flags/v", "PUT", data="4", headers=TOKEN)
        assert (done.status, done.text) == (200, "set to 4\n")
        bad = await get("/debug/flags/v", "PUT", data="much", headers=TOKEN)
        assert (bad.status, bad.text) == (400, "'much' is no number\n")
        read = await get("/debug/flags/v", headers=TOKEN)
        assert (read.status, read.text) == (406, "unsupported http method\n")

    talk(work)


def test_a_reviewer_that_is_down_is_a_fault_that_is_told() -> None:
    reviewer = make_reviewer()
    reviewer.is_down = True

    async def work(get: Get) -> None:
        assert (await get("/healthz")).text == "ok"
        answer = await get("/metrics")
        assert (answer.status, answer.text) == (500, 'Internal Server Error: "/metrics": connection refused\n')

    talk(work, reviewer=reviewer)


def test_a_port_that_is_taken_is_named() -> None:
    async def run() -> None:
        guard = Guard(DelegatedAuthenticator(lambda: 0.0), DelegatedAuthorizer(lambda: 0.0))
        certificate = ServerCertificate(TlsSettings())
        server = await serve(Address("127.0.0.1", 0), certificate, guard, make_pages({}))
        try:
            with pytest.raises(ServingError, match=f"--secure-port {server.port}: Address already in use"):
                await serve(Address("127.0.0.1", server.port), certificate, guard, make_pages({}))
        finally:
            await server.stop()

    asyncio.run(run())


async def answered(sent: bytes) -> bytes:
    """Send bytes to the pages; return what comes back until the connection is closed."""
    server = await serve_pages(make_pages({}), ServerOptions())
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(sent)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer
    finally:
        await server.close()


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"GET /\xe5 HTTP/1.1\r\nHost: a\r\n\r\n", id="a byte that no target has"),
        pytest.param(b"GET / HTTP/9\r\n\r\n", id="a version that there is not"),
        pytest.param(b"GET /healthz?x=" + b"y" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", id="too long"),
    ],
)
def test_damaged_requests_are_refused_and_not_logged(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    answer = asyncio.run(answered(sent))
    assert answer.startswith((b"HTTP/1.0 400 ", b"HTTP/1.1 400 "))
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_faults_of_our_own_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise KeyError("x")
    except KeyError:
        connection_log().exception("Error handling request")
    assert [record.getMessage() for record in caplog.records] == ["Error handling request"]

"""A replica from start to end, against an API server on loopback."""

import asyncio
import io
import os
import signal
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from stowplan.app import live
from stowplan.app.clients import USER_AGENT
from stowplan.cli.flag_parser import parse
from stowplan.observe.logs import Logging, LogSettings
from tests.integration.kube import hurry
from tests.limits import LIMIT_SECONDS
from tests.unit.app.fake_api import FakeApi, node, pod

DELAYED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
delayCacheUntilActive: true
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while not condition():  # noqa: ASYNC110 (the API server on the other side tells nobody)
            await asyncio.sleep(0.01)


def run_live(
    work: Callable[[FakeApi, int], Awaitable[None]],
    *flags: str,
    ends_by_itself: bool = False,
    speed: float = 1.0,
    prepare: Callable[[FakeApi], None] = lambda api: None,
) -> int:
    """Run a replica while `work` goes on, end it by SIGTERM, and return its exit code.

    Time passes while nothing is to be done, so that no deadline is missed because the machine is busy.
    """

    async def run() -> int:
        api = FakeApi()
        prepare(api)
        api.put("/api/v1/nodes", node("n1"))
        server, port = await api.start(), free_port()
        given = [f"--master={server}", "--bind-address=127.0.0.1", f"--secure-port={port}", *flags]
        replica = asyncio.create_task(live.run(parse(given), Logging(LogSettings())))
        try:
            working = asyncio.ensure_future(work(api, port))
            await asyncio.wait({working, replica}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done() and replica.exception() is not None:
                working.cancel()
                await replica
            await working
            if not ends_by_itself:
                os.kill(os.getpid(), signal.SIGTERM)
            return await asyncio.wait_for(replica, LIMIT_SECONDS)
        finally:
            replica.cancel()
            await asyncio.gather(replica, return_exceptions=True)
            await api.stop()

    return hurry.run(run(), speed)


async def open_port(port: int) -> None:
    """Wait until pages are served."""
    async with asyncio.timeout(LIMIT_SECONDS):
        while True:
            with suppress(aiohttp.ClientConnectorError):
                await fetch(port, "/livez")
                return
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("version", "flags", "expected"),
    [
        pytest.param("v1.36.4", (), "1.36", id="that of the server"),
        pytest.param("v1.37.0-rc.1+k3s1", (), "1.37", id="that of a server with a long name"),
        pytest.param("v1.38.0", (), "1.37", id="the newest that is known, of a server that is newer"),
        pytest.param("v1.37.1", ("--emulated-version=kube=1.36",), "1.36", id="the one that was asked for"),
    ],
)
def test_the_release_to_decide_like_is(version: str, flags: tuple[str, ...], expected: str) -> None:
    async def work(api: FakeApi, port: int) -> None:
        await open_port(port)
        _, text = await fetch(port, "/statusz")
        assert f"Emulation version: {expected}" in text.splitlines()

    def say(api: FakeApi) -> None:
        api.git_version = version

    assert run_live(work, "--authorization-always-allow-paths=*", *flags, prepare=say) == 0


@pytest.mark.parametrize(
    ("flags", "later", "said"),
    [
        pytest.param(
            (),
            "v1.37.1",
            [
                "The API server is v1.37.1 now, but decisions are those of 1.36:"
                " restart the scheduler to decide like 1.37"
            ],
            id="a newer one: to be restarted, which is said once",
        ),
        pytest.param((), "v1.36.9", [], id="another of the same release: nothing"),
        pytest.param(("--emulated-version=kube=1.36",), "v1.37.1", [], id="a release was asked for: nothing"),
    ],
)
def test_of_a_server_that_is_upgraded_meanwhile_it_is_said(
    caplog: pytest.LogCaptureFixture, flags: tuple[str, ...], later: str, said: list[str]
) -> None:
    async def work(api: FakeApi, port: int) -> None:
        await until(lambda: api.watched >= {"/api/v1/nodes", "/api/v1/pods"})
        api.git_version = later
        for name in ("one", "two"):
            asked = api.version_asked
            api.end_watches()
            await until(lambda: api.watched >= {"/api/v1/nodes", "/api/v1/pods"})
            if not flags:
                await until(lambda asked=asked: api.version_asked > asked)  # type: ignore[misc]
            api.put("/api/v1/pods", pod(name))
            await until(lambda name=name: (name, "n1") in api.bindings)  # type: ignore[misc]

    def say(api: FakeApi) -> None:
        api.git_version = "v1.36.4"

    assert run_live(work, *flags, prepare=say) == 0
    assert [record.message for record in caplog.records if "decisions are those of" in record.message] == said


def test_of_a_lease_that_may_not_be_read_it_is_said(caplog: pytest.LogCaptureFixture) -> None:
    told = "The lease cannot be read or written; asking again"

    async def work(api: FakeApi, port: int) -> None:
        await until(lambda: told in caplog.messages)

    def forbid(api: FakeApi) -> None:
        api.forbidden.add("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler")

    assert run_live(work, prepare=forbid) == 0
    assert caplog.messages.count(told) == 1


async def fetch(port: int, path: str) -> tuple[int, str]:
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    async with aiohttp.ClientSession() as session, session.get(f"https://127.0.0.1:{port}{path}", ssl=tls) as found:
        return found.status, await found.text()


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        pytest.param(("--leader-elect=false",), 1, id="alone: ends with 1 when stopped, as upstream"),
        pytest.param((), 0, id="as the leader: ends with 0 when asked to"),
        pytest.param((f"--config-text={DELAYED}",), 0, id="as a leader that knew nothing before"),
    ],
)
def test_pods_are_bound_until_it_is_stopped(flags: tuple[str, ...], code: int) -> None:
    async def work(api: FakeApi, port: int) -> None:
        api.put("/api/v1/pods", pod("early"))
        await until(lambda: api.bindings == [("early", "n1")])
        api.put("/api/v1/pods", pod("late"))
        await until(lambda: api.bindings == [("early", "n1"), ("late", "n1")])
        api.put("/api/v1/pods", pod("huge", cpu="64"))
        await until(lambda: api.events.count("FailedScheduling") == 1)
        assert api.events.count("Scheduled") == 2
        assert await fetch(port, "/readyz") == (200, "ok")
        assert (await fetch(port, "/metrics"))[0] == 403

    assert run_live(work, *flags) == code


def test_the_lease_is_held_while_leading_and_given_back_at_the_end() -> None:
    seen: list[str] = []
    kept: list[FakeApi] = []

    async def work(api: FakeApi, port: int) -> None:
        kept.append(api)
        api.put("/api/v1/pods", pod("a"))
        await until(lambda: bool(api.bindings))
        assert api.lease is not None
        seen.append(api.lease["spec"]["holderIdentity"])

    assert run_live(work) == 0
    assert seen[0].startswith(socket.gethostname())
    assert kept[0].lease is not None
    assert not kept[0].lease["spec"].get("holderIdentity")


def test_the_lease_has_a_client_of_its_own_whose_turn_does_not_come_after_all_bindings() -> None:
    kept: list[FakeApi] = []

    async def work(api: FakeApi, port: int) -> None:
        kept.append(api)
        api.put("/api/v1/pods", pod("a"))
        await until(lambda: bool(api.bindings))

    run_live(work)
    assert kept[0].agents == {"leases": {f"{USER_AGENT}/leader-election"}, "binding": {f"{USER_AGENT}/scheduler"}}


def test_a_replica_that_does_not_lead_knows_the_cluster_but_binds_nothing() -> None:
    async def work(api: FakeApi, port: int) -> None:
        api.put("/api/v1/pods", pod("a"))
        async with asyncio.timeout(LIMIT_SECONDS):
            while await _status(port, "/readyz") != 200:  # noqa: ASYNC110 (as a probe does it)
                await asyncio.sleep(0.02)
        looks = api.lease_reads
        await until(lambda: api.lease_reads >= looks + 2)
        assert api.bindings == []

    def held(api_work: Callable[[FakeApi, int], Awaitable[None]]) -> Callable[[FakeApi, int], Awaitable[None]]:
        async def first_hold(api: FakeApi, port: int) -> None:
            spec = {"holderIdentity": "another", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}
            metadata = {"name": "kube-scheduler", "namespace": "kube-system", "resourceVersion": "1", "uid": "u"}
            api.lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
            await api_work(api, port)

        return first_hold

    assert run_live(held(work), speed=20.0) == 0


def test_who_is_to_wait_knows_nothing_until_it_leads() -> None:
    async def work(api: FakeApi, port: int) -> None:
        spec = {"holderIdentity": "another", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}
        metadata = {"name": "kube-scheduler", "namespace": "kube-system", "resourceVersion": "1", "uid": "u"}
        api.lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        # Others look at the cluster first, and at the lease then.
        await until(lambda: bool(api.agents["leases"]))
        assert api._watchers == {}
        assert await _status(port, "/readyz") == 500

    assert run_live(work, f"--config-text={DELAYED}") == 0


@pytest.mark.parametrize("flags", [("--leader-elect=false",), ()], ids=["alone", "as a candidate"])
@pytest.mark.parametrize("resource", ["nodes", "pods"])
def test_without_pods_or_nodes_it_is_not_ready_and_nothing_is_bound(resource: str, flags: tuple[str, ...]) -> None:
    path = f"/api/v1/{resource}"

    async def work(api: FakeApi, port: int) -> None:
        api.forbidden.add(path)
        api.put("/api/v1/pods", pod("a"))
        problem = (
            f"internal server error: handlers are not fully synchronized: {resource} cannot be watched:"
            f" GET {path}: 403 Forbidden: {resource} is forbidden; grant list and watch on {resource}\n"
        )
        async with asyncio.timeout(LIMIT_SECONDS):
            while await _status(port, "/readyz/sched-handler-sync") == 0:  # noqa: ASYNC110 (as a probe does it)
                await asyncio.sleep(0.02)
            while (await fetch(port, "/readyz/sched-handler-sync"))[1] != problem:  # noqa: ASYNC110 (as a probe does it)
                await asyncio.sleep(0.02)
        assert (await fetch(port, "/readyz"))[0] == 500
        assert (await fetch(port, "/livez"))[0] == 200
        assert (api.bindings, api.events, api.lease) == ([], [], None)
        api.forbidden.clear()
        await until(lambda: api.bindings == [("a", "n1")])
        assert await fetch(port, "/readyz") == (200, "ok")

    assert run_live(work, "--authorization-always-allow-paths=/livez,/readyz*", *flags) == (1 if flags else 0)


async def _status(port: int, path: str) -> int:
    try:
        return (await fetch(port, path))[0]
    except aiohttp.ClientConnectorError:
        return 0


def test_a_leader_that_loses_its_lease_ends_with_1_and_binds_no_more() -> None:
    kept: list[FakeApi] = []

    async def work(api: FakeApi, port: int) -> None:
        api.put("/api/v1/pods", pod("a"))
        await until(lambda: bool(api.bindings))
        assert api.lease is not None
        taken = {**api.lease, "metadata": {**api.lease["metadata"], "resourceVersion": "999"}}
        taken["spec"] = {**api.lease["spec"], "holderIdentity": "another"}
        api.take_over(taken)
        looks = api.lease_reads
        await until(lambda: api.lease_reads > looks)
        api.put("/api/v1/pods", pod("b"))
        kept.append(api)

    flags = (
        "--leader-elect-lease-duration=3s",
        "--leader-elect-renew-deadline=2s",
        "--leader-elect-retry-period=200ms",
    )
    assert run_live(work, *flags, ends_by_itself=True) == 1
    assert kept[0].bindings == [("a", "n1")]


def test_cache_and_queue_are_written_down_on_a_signal() -> None:
    log = io.StringIO()

    async def work(api: FakeApi, port: int) -> None:
        api.put("/api/v1/pods", pod("a"))
        await until(lambda: bool(api.bindings))
        logging = Logging(LogSettings(), err=log)
        logging.start()
        try:
            os.kill(os.getpid(), signal.SIGUSR2)
            await until(lambda: "unschedulableEntities:0" in log.getvalue())
        finally:
            logging.stop()

    assert run_live(work, "--leader-elect=false") == 1
    written = log.getvalue()
    assert '"Dump of cached NodeInfo"' in written
    assert "Scheduled Pods(number: 1):" in written
    assert 'summary="activeQ:0; backoffQ:0; unschedulableEntities:0"' in written
    assert "Cache mismatch" not in written


def test_another_configuration_is_taken_on_a_signal(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    heading = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    config.write_text(heading)
    log = io.StringIO()

    async def work(api: FakeApi, port: int) -> None:
        api.put("/api/v1/pods", pod("a"))
        await until(lambda: bool(api.bindings))
        config.write_text(f"{heading}profiles: [{{schedulerName: default-scheduler}}, {{schedulerName: second}}]\n")
        logging = Logging(LogSettings(), err=log)
        logging.start()
        try:
            os.kill(os.getpid(), signal.SIGHUP)
            await until(lambda: '"Configuration read" changes=' in log.getvalue())
        finally:
            logging.stop()
        other = pod("b")
        other["spec"]["schedulerName"] = "second"
        api.put("/api/v1/pods", other)
        await until(lambda: api.bindings == [("a", "n1"), ("b", "n1")])

    assert run_live(work, f"--config={config}", "--leader-elect=false") == 1

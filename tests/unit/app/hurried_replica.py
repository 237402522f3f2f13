"""A whole replica on a hurried clock, beside an API server with moods; scraped as Prometheus does.

What runs is what `stowplan run` runs, with the clock of the loop in the place of the machine's: minutes pass quickly.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

from aiohttp import web

from stowplan.app import clients
from stowplan.app.configuration import configure, find_source
from stowplan.app.live import Live
from stowplan.app.replica import KubeClients, Replica, ReplicaSettings
from stowplan.cli.flag_parser import parse
from stowplan.observe.logs import Logging, LogSettings
from stowplan.observe.metrics import Metrics
from tests.integration.kube import hurry
from tests.unit.app.fake_api import FakeApi, Object, node, pod

SCRAPE_SECONDS: Final = 30
SPEED: Final = 500.0
_RELEASE: Final = "--emulated-version=kube=1.37"
_BOOKMARK_EVERY: Final = 2
_SECOND_NS: Final = 1_000_000_000
_EPOCH_NS: Final = 1_700_000_000 * _SECOND_NS


class MoodyApi(FakeApi):
    """An API server that sends bookmarks, may be slow to bind or refuse to, and answers for an extender, too."""

    def __init__(self) -> None:
        super().__init__()
        self.bind_seconds = self.extender_seconds = 0.0
        self.refuses_bindings = False

    def send_bookmarks(self) -> None:
        """Tell all who watch that nothing has happened."""
        event = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(self._version)}}}
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.put_nowait(event)

    def hold_lease(self, is_held: bool) -> None:
        """Have the lease in other hands, which renew it in time, or give it free."""
        self._is_taken = is_held
        if is_held:
            self._version += 1
            spec = {
                "holderIdentity": "another",
                "leaseDurationSeconds": 15,
                "renewTime": f"2026-01-01T00:00:00.{self._version:06}Z",
            }
            metadata = {"name": "kube-scheduler", "namespace": "kube-system", "resourceVersion": str(self._version)}
            self.lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        else:
            self.lease = None

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/extender/filter":
            await asyncio.sleep(self.extender_seconds)
            return web.json_response({"NodeNames": (await request.json())["NodeNames"]})
        if self._is_taken and request.path.endswith("/leases/kube-scheduler"):
            # Whoever holds it goes on doing so.
            self.hold_lease(True)
        return await super()._answer(request)

    async def _bind(self, request: web.Request) -> web.Response:
        await asyncio.sleep(self.bind_seconds)
        if self.refuses_bindings:
            failure = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "message": "no", "code": 403}
            return web.json_response(failure, status=403)
        return await super()._bind(request)


class Stand:
    """A replica, its API server, and what was scraped so far."""

    def __init__(self, api: MoodyApi, server: str) -> None:
        self.api = api
        self.server = server
        self.scrapes: list[str] = []
        self.sends_bookmarks = True
        self._metrics: Metrics | None = None
        self._replica: Replica | None = None
        self._pods = 0

    @property
    def replica(self) -> Replica:
        assert self._replica is not None
        return self._replica

    def scrape(self) -> str:
        """Return what /metrics says."""
        assert self._metrics is not None
        return self._metrics.text().decode()

    def add_pods(self, count: int = 1, cpu: str = "1m") -> None:
        for _ in range(count):
            self._pods += 1
            self.api.put("/api/v1/pods", pod(f"p{self._pods}", cpu=cpu))

    async def minutes(self, count: float, pods: int = 0) -> None:
        """Let time pass, scraping all the while; with every scrape some pods come."""
        for _ in range(round(count * 60 / SCRAPE_SECONDS)):
            self.add_pods(pods)
            await asyncio.sleep(SCRAPE_SECONDS)
            self.scrapes.append(self.scrape())
            if self.sends_bookmarks and len(self.scrapes) % _BOOKMARK_EVERY == 0:
                self.api.send_bookmarks()

    @asynccontextmanager
    async def running(self, *flags: str) -> AsyncIterator[None]:
        """Run a replica for a while, as `live.run` does, until the block ends; it may end by itself before."""
        loop = asyncio.get_running_loop()
        options = parse([f"--master={self.server}", "--secure-port=0", "--bind-address=127.0.0.1", _RELEASE, *flags])
        self._metrics = metrics = Metrics(lambda: _EPOCH_NS + int(loop.time() * _SECOND_NS), options.feature_gates)
        source = await find_source(options, metrics.requests)
        configuration = await configure(options, source)
        connect = partial(
            clients.open_client, configuration.client_connection, options.master, metrics=metrics.requests
        )
        connections = KubeClients(await connect(""), await connect(""), await connect("", timeout_seconds=5.0))
        settings = ReplicaSettings(options, configuration, metrics, metrics._now_ns)
        live = Live(settings, connections, source, Logging(LogSettings()))
        self._replica = live._replica
        running = asyncio.create_task(live.run())
        try:
            yield
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
            await connections.close()


def play(scene: Callable[[Stand], Awaitable[None]]) -> list[str]:
    """Play a scene on a cluster of one large node, and return what was scraped."""

    async def run() -> list[str]:
        api = MoodyApi()
        api.put("/api/v1/nodes", large_node())
        stand = Stand(api, await api.start())
        try:
            await scene(stand)
        finally:
            await api.stop()
        return stand.scrapes

    return hurry.run(run(), SPEED)


def large_node() -> Object:
    found = node("n1", cpu="1000")
    found["status"]["allocatable"] |= {"pods": "10000", "memory": "10Ti"}
    return found

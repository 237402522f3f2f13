"""Stands between a scheduler and the API server, and lets bindings come to grief: every third of them.

It speaks TLS with a certificate of the plane's authority to the scheduler, and as the scheduler to the API server. It
keeps what it saw, so that a test can tell who asked for what, and can cut the scheduler off altogether.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

import aiohttp
from aiohttp import web
from yarl import URL

from tests.e2e import credentials
from tests.e2e.plane import Plane
from tests.e2e.processes import free_port
from tests.e2e.scheduler_process import USER

#: What the API server says to whoever asks for changes since a version it has forgotten, in JSON and protobuf alike.
TOO_OLD = b"too old resource version"

_HOP_BY_HOP = ("Connection", "Content-Length", "Host", "Keep-Alive", "Transfer-Encoding")
_ERROR = {
    "apiVersion": "v1",
    "kind": "Status",
    "status": "Failure",
    "message": "the test wants it so",
    "reason": "InternalError",
    "code": 500,
}


class Fault(Enum):
    """What happens to every third binding."""

    NONE = "nothing"
    ANSWERED_500 = "answered 500"
    CUT_BEFORE = "cut off before the API server got it"
    CUT_AFTER = "cut off after the API server took it"


class FaultProxy:
    """A proxy on a port of its own, in a thread of its own; `running` starts and stops it."""

    def __init__(self, plane: Plane, name: str, fault: Fault = Fault.NONE) -> None:
        self._target, self._fault = plane.server, fault
        self._port = free_port()
        user = plane.authority.client(USER)
        self._as_scheduler = plane.authority.ssl_context(user)
        serving = plane.authority.server(name)
        self._as_server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._as_server.load_cert_chain(serving.certificate, serving.key)
        self.kubeconfig = credentials.write_kubeconfig(
            plane.folder / f"{name}.kubeconfig",
            f"https://127.0.0.1:{self._port}",
            plane.authority.certificate,
            credentials.certificate_user(user),
        )
        #: What the scheduler asked to be done to pods, in order, and to how many bindings the fault happened.
        self.writes: list[str] = []
        self.befallen = 0
        #: How often the API server said that a version is too old.
        self.too_old = 0
        #: How many bindings the API server has answered whose answers are kept back.
        self.held = 0
        self._bindings = 0
        self._goes_on = asyncio.Event()
        self._goes_on.set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)

    @contextmanager
    def running(self) -> Iterator[FaultProxy]:
        self._thread.start()
        self._run(self._start())
        try:
            yield self
        finally:
            self._run(self._stop())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    @contextmanager
    def cut_off(self) -> Iterator[None]:
        """Break every connection off and refuse new ones for a while."""
        self._run(self._close())
        try:
            yield
        finally:
            self._run(self._listen())

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keep back what the API server answers to bindings for a while."""
        self._loop.call_soon_threadsafe(self._goes_on.clear)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._goes_on.set)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    # On the proxy's own loop

    async def _start(self) -> None:
        connector = aiohttp.TCPConnector(ssl=self._as_scheduler, limit=0)
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
            trust_env=False,
            # Whoever did not ask for compression cannot read what is compressed.
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        )
        # Watches go on for minutes.
        self._runner = web.ServerRunner(
            web.Server(self._serve, handler_cancellation=True, access_log=None), shutdown_timeout=0.1
        )
        await self._runner.setup()
        await self._listen()

    async def _listen(self) -> None:
        self._site = web.TCPSite(self._runner, "127.0.0.1", self._port, ssl_context=self._as_server)
        await self._site.start()

    async def _close(self) -> None:
        await self._site.stop()
        server = self._runner.server
        assert server is not None
        for connection in server.connections:
            if connection.transport is not None:
                connection.transport.abort()

    async def _stop(self) -> None:
        await self._close()
        await self._runner.cleanup()
        await self._session.close()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method != "GET" and "/pods/" in request.path:
            self.writes.append(f"{request.method} {request.path}")
        if not request.path.endswith("/binding") or not self._is_next_befallen():
            return await self._forward(request)
        if self._fault is Fault.ANSWERED_500:
            return web.json_response(_ERROR, status=500)
        if self._fault is Fault.CUT_AFTER:
            async with self._ask(request) as answer:
                await answer.read()
        return _cut(request)

    def _is_next_befallen(self) -> bool:
        self._bindings += 1
        is_befallen = self._fault is not Fault.NONE and self._bindings % 3 == 0
        self.befallen += is_befallen
        return is_befallen

    async def _forward(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            async with self._ask(request) as answer:
                if request.path.endswith("/binding"):
                    self.held += 1
                    await self._goes_on.wait()
                    self.held -= 1
                return await self._pass_on(request, answer)
        except (aiohttp.ClientError, ConnectionError):
            # What happened on one side happens on the other.
            return _cut(request)

    def _ask(self, request: web.BaseRequest) -> Any:
        headers = {name: value for name, value in request.headers.items() if name not in _HOP_BY_HOP}
        body = request.content if request.can_read_body else None
        url = URL(self._target + request.raw_path, encoded=True)
        return self._session.request(request.method, url, headers=headers, data=body)

    async def _pass_on(self, request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        headers = {name: value for name, value in answer.headers.items() if name not in _HOP_BY_HOP}
        response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=headers)
        await response.prepare(request)
        tail = b""
        async for piece in answer.content.iter_any():
            # The words may be split between two pieces.
            self.too_old += (tail + piece).count(TOO_OLD)
            tail = (tail + piece)[1 - len(TOO_OLD) :]
            await response.write(piece)
        await response.write_eof()
        return response


def _cut(request: web.BaseRequest) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()

"""The endpoint of a kubelet that the API server sends port-forwards to; pods have their ports on this machine.

The node in the API says where it listens. Nothing else of a kubelet is served there.
"""

from __future__ import annotations

import ssl

from aiohttp import web

from tests.e2e.api import Object
from tests.e2e.plane import Plane
from tests.integration.remote.channels import forward


class KubeletPorts:
    """The endpoint; use it in `with`."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        #: Pods that connections were carried to.
        self.forwarded: list[str] = []
        self._runner: web.AppRunner | None = None
        self.port = 0

    def __enter__(self) -> KubeletPorts:
        self._plane.api.run(self._start())
        return self

    def __exit__(self, *error: object) -> None:
        if self._runner is not None:
            self._plane.api.run(self._runner.cleanup())

    def on(self, node: Object) -> Object:
        """Return a node whose kubelet listens here."""
        endpoint = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}
        ports = {"daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}}}
        return {**node, "status": {**node["status"], **endpoint, **ports}}

    async def _start(self) -> None:
        pair = self._plane.authority.server("kubelet")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pair.certificate, pair.key)
        app = web.Application()
        app.router.add_get("/portForward/{namespace}/{pod}", self._forward)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context).start()
        self.port = self._runner.addresses[0][1]

    async def _forward(self, request: web.Request) -> web.WebSocketResponse:
        self.forwarded.append(f"{request.match_info['namespace']}/{request.match_info['pod']}")
        port = int(request.query["port"])
        return await forward(request, port, port)

"""An API server with its kubelets, as far as the way to a scheduler leads through them, over real TLS on loopback.

It knows leases, pods and service accounts. A port-forward is a WebSocket with the protocol of channels, as kubelets
speak it, and ends at a port of this machine.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trustme
import yaml
from aiohttp import web

from tests.integration.remote.channels import PROTOCOL, forward

Object = dict[str, Any]
TOKENS = {"kube-system/asker": "token of asker"}


@dataclass
class PodApi:
    """What is there, and what was asked."""

    #: Holders of leases, and pods, by namespace and name.
    leases: dict[str, str] = field(default_factory=dict)
    pods: dict[str, Object] = field(default_factory=dict)
    #: Where port-forwards end.
    port: int = 0
    #: What a kubelet says instead of forwarding.
    trouble: str = ""
    #: Last words of the paths that may not be used.
    forbidden: set[str] = field(default_factory=set)
    protocol: str = PROTOCOL
    requests: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    forwards: int = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path_qs}")
        self.headers.append(dict(request.headers))
        words = request.path.strip("/").split("/")
        if self.forbidden & {words[-1], words[-2]}:
            return refusal(403, "Forbidden", f'{words[-2]} "{words[-1]}" is forbidden: User "dev" cannot use it')
        match words:
            case ["apis", "coordination.k8s.io", "v1", "namespaces", namespace, "leases", name]:
                holder = self.leases.get(f"{namespace}/{name}")
                return web.json_response({"spec": {"holderIdentity": holder}}) if holder is not None else missing()
            case ["api", "v1", "namespaces", namespace, "pods"]:
                key, _, value = request.query["labelSelector"].partition("=")
                found = [pod for pod in self._pods(namespace) if pod["metadata"].get("labels", {}).get(key) == value]
                return web.json_response({"items": found})
            case ["api", "v1", "namespaces", namespace, "pods", name]:
                pod = self.pods.get(f"{namespace}/{name}")
                return web.json_response(pod) if pod is not None else missing()
            case ["api", "v1", "namespaces", _, "pods", _, "portforward"]:
                self.forwards += 1
                return await forward(request, int(request.query["ports"]), self.port, self.protocol, self.trouble)
            case ["api", "v1", "namespaces", namespace, "serviceaccounts", name, "token"]:
                asked = await request.json()
                assert asked["spec"] == {"expirationSeconds": 600}
                return web.json_response({"status": {"token": TOKENS[f"{namespace}/{name}"]}}, status=201)
        return missing()

    def _pods(self, namespace: str) -> Iterator[Object]:
        return (pod for key, pod in self.pods.items() if key.startswith(f"{namespace}/"))


def missing() -> web.Response:
    return refusal(404, "NotFound", "not found")


def refusal(code: int, reason: str, message: str) -> web.Response:
    status = {"kind": "Status", "status": "Failure", "message": message, "reason": reason, "code": code}
    return web.json_response(status, status=code)


def pod(key: str, **spec: Any) -> Object:
    """A pod of Stowplan that runs."""
    namespace, _, name = key.partition("/")
    labels = {"app.kubernetes.io/name": "stowplan"}
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"containers": [{"name": "stowplan", "image": "stowplan:0.1.0"}], **spec},
        "status": {"phase": "Running"},
    }


@asynccontextmanager
async def serving(api: PodApi, authority: trustme.CA) -> AsyncIterator[str]:
    """Serve the API over TLS; yield its address."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    app = web.Application()
    app.add_routes([web.route("*", "/{path:.*}", api.answer)])
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    try:
        yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def write_kubeconfig(path: Path, server: str, authority: trustme.CA, user: Object, **context: str) -> str:
    """Write a kubeconfig with one context, `live`; return where."""
    (path.parent / "ca.crt").write_bytes(authority.cert_pem.bytes())
    config = {
        "current-context": "live",
        "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority": "ca.crt"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "live", "context": {"cluster": "c", "user": "u", **context}}],
    }
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return str(path)

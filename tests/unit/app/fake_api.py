"""An API server of a few objects, over real HTTP on loopback: lists, watches, bindings, leases, reviews."""

import asyncio
import json
from typing import Any

from aiohttp import web

from stowplan.embedded.protobuf import reading as protobuf

Object = dict[str, Any]


class FakeApi:
    """Objects by path of their collection and by name; every change is sent to those who watch the collection."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Object]] = {}
        self.lease: Object | None = None
        self.lease_reads = 0
        #: Pods with the node that each was bound to, in order.
        self.bindings: list[tuple[str, str]] = []
        self.events: list[str] = []
        #: As whom those who asked for the lease or for a binding introduced themselves.
        self.agents: dict[str, set[str]] = {"leases": set(), "binding": set()}
        #: What it says of itself.
        self.git_version = "v1.37.1"
        self.version_asked = 0
        #: Paths of collections that may not be read.
        self.forbidden: set[str] = set()
        self._version = 10
        self._is_taken = False
        self._watchers: dict[str, list[asyncio.Queue[Object | None]]] = {}
        self._runner: web.AppRunner | None = None

    @property
    def watched(self) -> set[str]:
        """Paths of collections that somebody watches."""
        return set(self._watchers)

    async def start(self) -> str:
        """Serve, and return the address."""
        app = web.Application()
        app.add_routes([web.route("*", "/{path:.*}", self._answer)])
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        assert site._server is not None
        port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
        return f"http://127.0.0.1:{port}"

    async def stop(self) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    def put(self, collection: str, found: Object) -> None:
        """Add an object, or a new version of one."""
        self._version += 1
        found["metadata"]["resourceVersion"] = str(self._version)
        known = self.objects.setdefault(collection, {})
        name = found["metadata"]["name"]
        event = {"type": "MODIFIED" if name in known else "ADDED", "object": found}
        known[name] = found
        for watcher in self._watchers.get(collection, ()):
            watcher.put_nowait(event)

    def end_watches(self) -> None:
        """End all watches, as a server does that goes."""
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.put_nowait(None)
        self._watchers.clear()

    def take_over(self, lease: Object) -> None:
        """Let somebody else have the lease; who writes it is refused from now on."""
        self.lease, self._is_taken = lease, True

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path, last = request.path, request.path.rpartition("/")[2]
        if path in self.forbidden:
            return _failure(403, "Forbidden", f"{last} is forbidden")
        if last == "binding":
            self.agents["binding"].add(request.headers["User-Agent"])
            return await self._bind(request)
        if "/leases" in path:
            self.agents["leases"].add(request.headers["User-Agent"])
            return await self._lease(request)
        if last == "events":
            self.events.append((await request.json()).get("reason", ""))
            return web.json_response({}, status=201)
        if request.method == "GET" and request.query.get("watch"):
            return await self._watch(request)
        if request.method == "GET" and path in ("/api/v1/nodes", "/api/v1/pods"):
            items = list(self.objects.get(path, {}).values())
            metadata = {"resourceVersion": str(self._version)}
            return web.json_response({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items})
        if path == "/version":
            self.version_asked += 1
            return web.json_response({"gitVersion": self.git_version})
        if last == "status":
            return web.json_response({})
        return _failure(404, "NotFound", "the server could not find the requested resource")

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("sendInitialEvents"):
            return _failure(400, "BadRequest", "sendInitialEvents is not supported")
        watcher: asyncio.Queue[Object | None] = asyncio.Queue()
        self._watchers.setdefault(request.path, []).append(watcher)
        response = web.StreamResponse()
        await response.prepare(request)
        while (event := await watcher.get()) is not None:
            await response.write(json.dumps(event).encode() + b"\n")
        return response

    async def _bind(self, request: web.Request) -> web.Response:
        binding = protobuf.read(await request.read())
        name, node = binding["metadata"]["name"], binding["target"]["name"]
        pod = json.loads(json.dumps(self.objects["/api/v1/pods"][name]))
        pod["spec"]["nodeName"] = node
        self.bindings.append((name, node))
        self.put("/api/v1/pods", pod)
        return web.json_response({"kind": "Status", "status": "Success"}, status=201)

    async def _lease(self, request: web.Request) -> web.Response:
        if request.method != "GET":
            if self._is_taken:
                return _failure(409, "Conflict", "the object has been modified")
            self._version += 1
            self.lease = await request.json()
            assert self.lease is not None
            self.lease["metadata"]["resourceVersion"] = str(self._version)
        else:
            self.lease_reads += 1
        return web.json_response(self.lease) if self.lease is not None else _failure(404, "NotFound", "no lease")


def _failure(code: int, reason: str, message: str) -> web.Response:
    status = {"kind": "Status", "status": "Failure", "message": message, "reason": reason, "code": code}
    return web.json_response(status, status=code)


def node(name: str, cpu: str = "4") -> Object:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    metadata = {"name": name, "uid": f"uid-{name}", "labels": {"kubernetes.io/hostname": name}}
    return {"kind": "Node", "apiVersion": "v1", "metadata": metadata, "status": {"allocatable": amounts}}


def pod(name: str, cpu: str = "1") -> Object:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    spec = {"schedulerName": "default-scheduler", "containers": [container]}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}

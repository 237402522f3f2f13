"""An API server of a few hundred lines: versioned objects, lists in pages, watches, patches, conflicts, leases.

Tests make it misbehave through `intercept` (a request never gets as far as the store, or its answer never comes back)
and `tamper` (what a watch writes, line by line).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from stowplan.embedded.protobuf import reading as protobuf
from stowplan.kube.identity import Credentials, Fixed

Json = dict[str, Any]
Intercept = Callable[[web.Request], Awaitable[web.StreamResponse | None]]
SECRET = "Bearer open sesame"
END = {"k8s.io/initial-events-end": "true"}


class Cut(Exception):  # noqa: N818 - what happens to a connection
    """Break the connection off, after writing `last`."""

    def __init__(self, last: bytes = b"") -> None:
        super().__init__()
        self.last = last


@dataclass
class Collection:
    """The objects of one resource, and what happened to them."""

    objects: dict[str, Json] = field(default_factory=dict)
    history: list[tuple[int, str, Json]] = field(default_factory=list)


def refusal(code: int, reason: str, message: str, **headers: str) -> web.Response:
    """Answer with a Status."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason}
    return web.json_response({**status, "message": message}, status=code, headers=headers)


class FakeApi:
    """The server; `address` is where it listens once it is started."""

    def __init__(self) -> None:
        self.collections: dict[str, Collection] = {}
        self.version = 100
        self.oldest = 0
        self.address = ""
        self.requests: list[str] = []
        self.bodies: list[Json] = []
        self.headers: list[dict[str, str]] = []
        self.streams_lists = True
        self.ignores_limit = False
        self.watch_seconds = 300.0
        self.intercept: Intercept | None = None
        self.tamper: Callable[[bytes, int], bytes] = lambda line, number: line
        self.lines_written = 0
        self.missing: set[str] = set()
        self.secret = SECRET
        self._changed = asyncio.Condition()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._underway: set[asyncio.Task[Any]] = set()

    # What the world does

    def put(self, resource: str, name: str, namespace: str = "default", **content: Any) -> Json:
        """Create or replace an object."""
        collection = self.collections.setdefault(resource, Collection())
        key = f"{namespace}/{name}"
        known = collection.objects.get(key)
        uid = known["metadata"]["uid"] if known else f"uid-{self.version + 1}"
        metadata = {"name": name, "namespace": namespace, "uid": uid} | content.pop("metadata", {})
        return self._store(resource, key, "MODIFIED" if known else "ADDED", {"metadata": metadata, **content})

    def delete(self, resource: str, name: str, namespace: str = "default") -> None:
        self._store(resource, f"{namespace}/{name}", "DELETED", None)

    def compact(self) -> None:
        """Forget all history: who is not up to date has to list again."""
        self.oldest = self.version

    def names(self, resource: str) -> dict[str, str]:
        """Name every object and its version."""
        objects = self.collections.setdefault(resource, Collection()).objects
        return {key: found["metadata"]["resourceVersion"] for key, found in objects.items()}

    def _store(self, resource: str, key: str, kind: str, found: Json | None) -> Json:
        collection = self.collections.setdefault(resource, Collection())
        self.version += 1
        if found is None:
            found = json.loads(json.dumps(collection.objects.pop(key)))
        else:
            collection.objects[key] = found
        found["metadata"]["resourceVersion"] = str(self.version)
        collection.history.append((self.version, kind, json.loads(json.dumps(found))))
        self._wake()
        return found

    def _wake(self) -> None:
        task = asyncio.ensure_future(self._notify())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    # What clients ask

    async def handle(self, request: web.Request) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._underway.add(task)
        try:
            return await self._handle(request)
        finally:
            self._underway.discard(task)

    def hang_up(self) -> None:
        """Break off everything that is under way."""
        for task in self._underway:
            task.cancel()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path_qs}")
        self.headers.append(dict(request.headers))
        body = await request.read()
        self.bodies.append(_read(request.content_type, body))
        if self.intercept is not None:
            answer = await self.intercept(request)
            if answer is not None:
                return answer
        return await self.answer(request)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Do what is asked."""
        if request.headers.get("Authorization") != self.secret:
            return refusal(401, "Unauthorized", "Unauthorized")
        resource, namespace, rest = _split(request.path)
        if resource in self.missing:
            return refusal(404, "NotFound", "the server could not find the requested resource")
        if not rest:
            return await self._collection(request, resource, namespace)
        return await self._object(request, resource, f"{namespace}/{rest[0]}", rest[1:])

    async def _collection(self, request: web.Request, resource: str, namespace: str) -> web.StreamResponse:
        if request.method == "POST":
            return self._create(resource, namespace, await request.json())
        if request.query.get("watch") == "true":
            return await self._watch(request, resource)
        return self._list(request, resource)

    def _create(self, resource: str, namespace: str, body: Json) -> web.Response:
        name = body["metadata"]["name"]
        if f"{namespace}/{name}" in self.collections.setdefault(resource, Collection()).objects:
            return refusal(409, "AlreadyExists", f'{resource} "{name}" already exists')
        return web.json_response(self.put(resource, namespace=namespace, **{**body, "name": name}), status=201)

    def _list(self, request: web.Request, resource: str) -> web.Response:
        query = request.query
        items = [found for _, found in sorted(self.collections.setdefault(resource, Collection()).objects.items())]
        start, version = 0, str(self.version)
        if "continue" in query:
            version, start_text = query["continue"].split("-")
            start = int(start_text)
            if int(version) < self.oldest:
                return refusal(410, "Expired", "The provided continue parameter is too old")
        asked = query.get("resourceVersion", "")
        if asked not in ("", "0") and int(asked) > self.version:
            return refusal(504, "Timeout", f"Too large resource version: {asked}, current: {self.version}")
        size = int(query.get("limit", "0"))
        if self.ignores_limit and asked == "0":
            size = 0
        end = start + size if size else len(items)
        metadata = {"resourceVersion": version}
        if end < len(items):
            metadata["continue"] = f"{version}-{end}"
        return web.json_response({"kind": "List", "metadata": metadata, "items": items[start:end]})

    async def _watch(self, request: web.Request, resource: str) -> web.StreamResponse:
        query = request.query
        wants_list = query.get("sendInitialEvents") == "true"
        if wants_list and not self.streams_lists:
            return refusal(422, "Invalid", "sendInitialEvents: Forbidden: the WatchList feature gate is not enabled")
        since = int(query.get("resourceVersion") or 0)
        if not wants_list and since < self.oldest:
            return refusal(410, "Expired", f"too old resource version: {since} ({self.oldest})")
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        try:
            if wants_list:
                since = await self._send_list(response, resource)
            async with asyncio.timeout(self.watch_seconds):
                await self._follow(response, resource, since)
        except TimeoutError:
            await response.write_eof()
        except Cut as cut:
            await response.write(cut.last)
            await asyncio.sleep(0)
            if request.transport is not None:
                request.transport.abort()
        return response

    async def _send_list(self, response: web.StreamResponse, resource: str) -> int:
        version = self.version
        for found in list(self.collections.setdefault(resource, Collection()).objects.values()):
            await self._send(response, "ADDED", found)
        bookmark = {"metadata": {"resourceVersion": str(version), "annotations": END}}
        await self._send(response, "BOOKMARK", bookmark)
        return version

    async def _follow(self, response: web.StreamResponse, resource: str, since: int) -> None:
        history = self.collections.setdefault(resource, Collection()).history
        place = next((at for at, entry in enumerate(history) if entry[0] > since), len(history))
        while True:
            for _, kind, found in history[place:]:
                place += 1
                await self._send(response, kind, found)
            async with self._changed:
                while len(history) == place:
                    await self._changed.wait()

    async def _send(self, response: web.StreamResponse, kind: str, found: Json) -> None:
        line = json.dumps({"type": kind, "object": found}).encode() + b"\n"
        self.lines_written += 1
        await response.write(self.tamper(line, self.lines_written))

    async def _object(self, request: web.Request, resource: str, key: str, rest: list[str]) -> web.Response:
        found = self.collections.setdefault(resource, Collection()).objects.get(key)
        namespace, name = key.split("/")
        if found is None:
            return refusal(404, "NotFound", f'{resource.rpartition("/")[2]} "{name}" not found')
        body = _read(request.content_type, await request.read())
        if rest == ["binding"]:
            return self._bind(found, name, body)
        uid = body.get("metadata", {}).get("uid") or body.get("preconditions", {}).get("uid")
        if uid and uid != found["metadata"]["uid"]:
            return _mistaken(request.method, uid)
        match request.method:
            case "GET":
                return web.json_response(found)
            case "DELETE":
                self.delete(resource, name, namespace)
                return web.json_response({"kind": "Status", "status": "Success"})
            case "PUT" if body["metadata"].get("resourceVersion") != found["metadata"]["resourceVersion"]:
                return refusal(409, "Conflict", "the object has been modified")
            case "PUT":
                return web.json_response(self._store(resource, key, "MODIFIED", body))
        return web.json_response(self._store(resource, key, "MODIFIED", _merged(found, body)))

    def _bind(self, pod: Json, name: str, body: Json) -> web.Response:
        if pod.get("spec", {}).get("nodeName"):
            return refusal(409, "Conflict", f'Operation cannot be fulfilled on pods/binding "{name}": already assigned')
        spec = {**pod.get("spec", {}), "nodeName": body["target"]["name"]}
        metadata = pod["metadata"]
        key = f"{metadata['namespace']}/{metadata['name']}"
        self._store("/api/v1/pods", key, "MODIFIED", {**pod, "metadata": dict(metadata), "spec": spec})
        return web.json_response({"kind": "Status", "status": "Success"}, status=201)

    @property
    def credentials(self) -> Credentials:
        return Credentials(self.address, Fixed(SECRET))


@asynccontextmanager
async def serving(api: FakeApi | None = None, port: int = 0) -> AsyncIterator[FakeApi]:
    """Serve until left."""
    api = api if api is not None else FakeApi()
    app = web.Application(client_max_size=2**26)
    app.router.add_route("*", "/{path:.*}", api.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.0, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    address, used_port = runner.addresses[0][:2]
    api.address = f"http://{address}:{used_port}"
    try:
        yield api
    finally:
        await site.stop()
        api.hang_up()
        await runner.cleanup()


def _read(content_type: str, body: bytes) -> Json:
    return protobuf.read(body) if content_type == protobuf.MEDIA_TYPE else json.loads(body or b"{}")


def _mistaken(method: str, uid: str) -> web.Response:
    """Refuse what was meant for another object of the name, as the real server does."""
    if method == "DELETE":
        return refusal(409, "Conflict", f"Precondition failed: UID in precondition: {uid}, UID in object meta: other")
    cause = {"reason": "FieldValueInvalid", "message": "field is immutable", "field": "metadata.uid"}
    status = {"kind": "Status", "code": 422, "reason": "Invalid", "message": "metadata.uid: field is immutable"}
    return web.json_response({**status, "details": {"causes": [cause]}}, status=422)


def _split(path: str) -> tuple[str, str, list[str]]:
    """Split a path into resource, namespace and what comes after."""
    parts = path.strip("/").split("/")
    depth = 2 if parts[0] == "api" else 3
    prefix, rest = "/" + "/".join(parts[:depth]), parts[depth:]
    if rest[0] == "namespaces" and len(rest) > 2:
        return f"{prefix}/{rest[2]}", rest[1], rest[3:]
    return f"{prefix}/{rest[0]}", "", rest[1:]


def _merged(found: Json, patch: Json) -> Json:
    """Apply a strategic merge patch as far as these tests need it: conditions merge by type."""
    merged = dict(found)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif name == "conditions":
            types = {condition["type"] for condition in value}
            merged[name] = [one for one in found.get(name, []) if one["type"] not in types] + value
        else:
            merged[name] = _merged(found.get(name) or {}, value) if isinstance(value, dict) else value
    return merged

"""How the tests read and write objects: JSON over HTTPS, one request or thousands at a time.

The requests run on an event loop in a thread of their own, so that tests stay plain functions and the kubelets of
`kubelets.py` go on in the background.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp
import msgspec

from tests.limits import LIMIT_SECONDS

Object = dict[str, Any]
Answer = TypeVar("Answer")

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

_CONNECTIONS = 48


class ApiError(Exception):
    """The API server refused a request."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"{status}: {body.decode(errors='replace')[:2000]}")
        self.status = status
        self.body = body


@dataclass(frozen=True, slots=True)
class Resource:
    """Where the objects of one kind live."""

    root: str
    name: str
    is_namespaced: bool

    def path(self, namespace: str) -> str:
        return f"{self.root}/namespaces/{namespace}/{self.name}" if self.is_namespaced else f"{self.root}/{self.name}"


class Api:
    """A connection to one API server as one user; close it when done."""

    def __init__(self, server: str, context: ssl.SSLContext) -> None:
        self._server = server
        self._context = context
        self._resources: dict[tuple[str, str], Resource] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="api", daemon=True)
        self._thread.start()
        self._session = self.run(self._open())

    def close(self) -> None:
        self.run(self._session.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Do asynchronous work, and return its answer to the calling test."""
        return self.spawn(work).result()

    def spawn(self, work: Coroutine[Any, Any, Answer]) -> concurrent.futures.Future[Answer]:
        """Begin asynchronous work, and go on."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def get(self, path: str, **query: str) -> Object:
        """Read an object or a list."""
        return self.run(self.call("GET", path, query=query))

    def items(self, path: str, **query: str) -> list[Object]:
        """Read the objects of a list."""
        items: list[Object] = self.get(path, **query)["items"]
        return items

    def create(self, item: Object) -> Object:
        """Create one object of any kind the server knows."""
        return self.run(self._create(item))

    def create_all(self, items: Iterable[Object]) -> list[Object]:
        """Create many objects, several at a time."""
        return self.all(self._create(item) for item in items)

    def path_of(self, item: Object) -> str:
        """Return where an object of any kind the server knows is read and written."""
        resource = self.run(self._resource(item))
        return f"{resource.path(item['metadata'].get('namespace', 'default'))}/{item['metadata']['name']}"

    def all(self, works: Iterable[Coroutine[Any, Any, Answer]]) -> list[Answer]:
        """Do many pieces of asynchronous work; the number of connections bounds how many at a time."""
        return self.run(_gather(works))

    def patch(self, path: str, body: Object, content_type: str = MERGE_PATCH) -> Object:
        return self.run(self.call("PATCH", path, body, content_type))

    def delete(self, path: str, **query: str) -> Object:
        return self.run(self.call("DELETE", path, query=query))

    def wait_for(self, path: str, is_met: Callable[[Object], bool], seconds: float = LIMIT_SECONDS) -> Object:
        """Read an object or a list until it meets a condition, and return it."""
        deadline = time.monotonic() + seconds
        while True:
            found = self.get(path)
            if is_met(found):
                return found
            if time.monotonic() > deadline:
                raise TimeoutError(f"{path} is not as awaited after {seconds:.0f} s: {msgspec.json.encode(found)!r}")
            time.sleep(0.1)

    async def call(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        content_type: str = "application/json",
        query: dict[str, str] | None = None,
    ) -> Object:
        """Send one request; raise `ApiError` unless it is granted."""
        data = None if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": content_type}
        url = self._server + path
        async with self._session.request(method, url, data=data, headers=headers, params=query) as response:
            answer = await response.read()
            if response.status >= 300:
                raise ApiError(response.status, answer)
            decoded: Object = msgspec.json.decode(answer)
            return decoded

    async def watch(self, path: str, **query: str) -> AsyncIterator[tuple[str, Object]]:
        """Yield the type and object of each event until the server ends the watch."""
        params = {"watch": "true", **query}
        timeout = aiohttp.ClientTimeout(total=None)
        async with self._session.get(self._server + path, params=params, timeout=timeout) as response:
            if response.status >= 300:
                raise ApiError(response.status, await response.read())
            async for line in response.content:
                event = msgspec.json.decode(line)
                yield event["type"], event["object"]

    async def _open(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(ssl=self._context, limit=_CONNECTIONS)
        # Objects of thousands of nodes make long lines.
        return aiohttp.ClientSession(
            connector=connector, timeout=aiohttp.ClientTimeout(total=120), read_bufsize=2**22, trust_env=False
        )

    async def _create(self, item: Object) -> Object:
        resource = await self._resource(item)
        return await self.call("POST", resource.path(item["metadata"].get("namespace", "default")), item)

    async def _resource(self, item: Object) -> Resource:
        version, kind = item["apiVersion"], item["kind"]
        if (version, kind) not in self._resources:
            await self._discover(version)
        return self._resources[version, kind]

    async def _discover(self, version: str) -> None:
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        for served in (await self.call("GET", root))["resources"]:
            if "/" not in served["name"]:
                self._resources[version, served["kind"]] = Resource(root, served["name"], served["namespaced"])


async def _gather(works: Iterable[Coroutine[Any, Any, Answer]]) -> list[Answer]:
    return await asyncio.gather(*works)

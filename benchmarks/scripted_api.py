"""An API server as a script: lists and watches of nodes and pods made up on the fly, bindings, events, nothing more.

It stands in where the real one would take most of the machine for itself. What it says is what the real one says: lists
as streams or in pages, pods with all that API server, controllers and kubelets fill in (`scripted_objects.py`); and a
pod that is bound comes back with the zone of its node among its labels. `live.py` measures a scheduler on it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs, unquote

from benchmarks import scripted_objects as objects

_PODS, _NODES, _NAMESPACES = "/api/v1/pods", "/api/v1/nodes", "/api/v1/namespaces"
_BINDING: Final = "/binding"
#: What the name of a node stands after in a binding: the kind, and the number of the field.
_TARGET: Final = b"\x0a\x04Node\x1a"
_PORTION_BYTES: Final = 2**18
_DONE: Final = b'{"kind":"Status","apiVersion":"v1","status":"Success","code":201}'
_OLD_VERSION: Final = 1_000_000


@dataclass(slots=True)
class ScriptedCluster:
    """What is there, and what has become of it. `lease` is the text of the lease, if anybody wrote one."""

    nodes: int
    placed: int
    pending: objects.PendingPods
    bound: dict[str, str] = field(default_factory=dict)
    bound_at: list[float] = field(default_factory=list)
    events: int = 0
    version: int = _OLD_VERSION
    watchers: list[asyncio.Queue[bytes]] = field(default_factory=list)
    lease: dict[str, object] = field(default_factory=dict)

    def listed(self, path: str, first: int = 0, most: int = 0) -> Iterator[bytes]:
        """Make up the objects of a collection, one after the other; from one of them on, and only so many, if asked."""
        counts = {_NODES: self.nodes, _NAMESPACES: 1, _PODS: self.placed + self.pending.count}
        every = counts.get(path, 0)
        write = {_NODES: objects.node, _NAMESPACES: objects.namespace, _PODS: self._pod}.get(path)
        return map(write, range(first, min(every, first + most) if most else every)) if write else iter(())

    def _pod(self, number: int) -> bytes:
        if number < self.placed:
            return objects.placed_pod(number, number % self.nodes)
        pending = number - self.placed
        node = self.bound.get(objects.pending_name(pending))
        return self.pending.bound(pending, node) if node is not None else self.pending.pod(pending)

    def create_pending(self, count: int) -> None:
        """Have more pods wait, and tell those who watch."""
        for number in range(self.pending.count, self.pending.count + count):
            self._tell(b"ADDED", self.pending.pod(number))
        self.pending.count += count

    def bind(self, name: str, node: str) -> None:
        """Bind a pod, and tell those who watch."""
        self.bound[name] = node
        self.bound_at.append(time.monotonic())
        self.version += 1
        self._tell(b"MODIFIED", self.pending.bound(objects.number_of(name), node, self.version))

    def _tell(self, what: bytes, pod: bytes) -> None:
        for watcher in self.watchers:
            watcher.put_nowait(b'{"type":"%b","object":%b}\n' % (what, pod))


class ScriptedApi:
    """Serves a cluster on a port of its own; `streams_lists` says whether lists may be had as streams."""

    def __init__(self, cluster: ScriptedCluster, *, streams_lists: bool) -> None:
        self.cluster, self._streams_lists = cluster, streams_lists
        self._server: asyncio.Server | None = None
        self._watches: list[asyncio.Queue[bytes]] = []
        self.url = ""

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Serve no more; nothing is what ends a watch."""
        if self._server is not None:
            self._server.close()
        for watch in self._watches:
            watch.put_nowait(b"")
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                verb, target, length = _read_head(head)
                body = await reader.readexactly(length) if length else b""
                path, _, query = target.partition("?")
                given = {name: values[0] for name, values in parse_qs(query).items()}
                if given.get("watch") == "true":
                    await self._watch(writer, path, given)
                    break
                code, content = self._answer(verb, path, given, body)
                writer.write(b"HTTP/1.1 %d OK\r\nContent-Length: %d\r\n\r\n%b" % (code, len(content), content))
        except (EOFError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, verb: str, path: str, given: dict[str, str], body: bytes) -> tuple[int, bytes]:
        if verb == "POST" and path.endswith(_BINDING):
            self.cluster.bind(unquote(path.split("/")[-2]), _target_of(body))
            return 201, _DONE
        if verb == "POST" and path.endswith("/events"):
            self.cluster.events += 1
            return 201, _DONE
        if "/leases" in path:
            return self._lease(verb, body)
        if path == "/version":
            return 200, b'{"major":"1","minor":"37","gitVersion":"v1.37.1"}'
        return (200, self._page(path, given)) if verb == "GET" else (200, _DONE)

    def _lease(self, verb: str, body: bytes) -> tuple[int, bytes]:
        if verb != "GET":
            self.cluster.version += 1
            self.cluster.lease = json.loads(body)
            self.cluster.lease["metadata"] |= {"resourceVersion": str(self.cluster.version), "uid": "lease"}  # type: ignore[operator]
        if not self.cluster.lease:
            return 404, b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}'
        return 200, json.dumps(self.cluster.lease).encode()

    def _page(self, path: str, given: dict[str, str]) -> bytes:
        first, size = int(given.get("continue", 0)), int(given.get("limit", 0))
        page = list(self.cluster.listed(path, first, size))
        following = b',"continue":"%d"' % (first + size) if size and len(page) == size else b""
        version = b'"resourceVersion":"%d"' % self.cluster.version
        return b'{"metadata":{%b%b},"items":[%b]}' % (version, following, b",".join(page))

    async def _watch(self, writer: asyncio.StreamWriter, path: str, given: dict[str, str]) -> None:
        if given.get("sendInitialEvents") == "true" and not self._streams_lists:
            writer.write(b"HTTP/1.1 422 Refused\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
            return
        changes: asyncio.Queue[bytes] = asyncio.Queue()
        self._watches.append(changes)
        if path == _PODS:
            self.cluster.watchers.append(changes)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        if given.get("sendInitialEvents") == "true":
            for portion in _portions(b'{"type":"ADDED","object":%b}\n' % item for item in self.cluster.listed(path)):
                _write_chunk(writer, portion)
                await writer.drain()
            _write_chunk(writer, _bookmark(self.cluster.version))
        while piece := await changes.get():
            pieces = [piece]
            while not changes.empty():
                pieces.append(changes.get_nowait())
            _write_chunk(writer, b"".join(pieces))
            await writer.drain()


def _read_head(head: bytes) -> tuple[str, str, int]:
    first, *fields = head.decode("latin-1").split("\r\n")
    verb, target, _ = first.split(" ")
    lengths = (line.partition(":")[2] for line in fields if line.lower().startswith("content-length:"))
    return verb, target, int(next(lengths, "0"))


def _target_of(body: bytes) -> str:
    """Find the node in a binding, in binary form or in JSON."""
    if not body.startswith(b"k8s\x00"):
        return str(json.loads(body)["target"]["name"])
    _, _, rest = body.rpartition(_TARGET)
    return rest[1 : 1 + rest[0]].decode()


def _portions(items: Iterable[bytes]) -> Iterator[bytes]:
    """Put items together to pieces that are worth a write."""
    waiting: list[bytes] = []
    size = 0
    for item in items:
        waiting.append(item)
        size += len(item)
        if size > _PORTION_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def _write_chunk(writer: asyncio.StreamWriter, content: bytes) -> None:
    writer.write(b"%x\r\n%b\r\n" % (len(content), content))


def _bookmark(version: int) -> bytes:
    metadata = b'{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}' % version
    return b'{"type":"BOOKMARK","object":{"metadata":%b}}\n' % metadata

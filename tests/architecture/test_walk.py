"""The way of a pod of a known template, from the event of the watch to the request that binds it: few files, few calls.

A replica as `stowplan run` wires it is put over a transport that has the API server at hand. Three pods of one template
are bound, one after the other; what is called for the third is the walk, for answers are kept from the second on. It
ends where the request is handed to the transport. ARCHITECTURE.md shows the walk as a table, and
`pytest -s tests/architecture/test_walk.py` prints it with its functions.

What is counted is the way: the rooms that hand the pod on. Who is asked on the way (plugins, which the configuration
chooses), who listens (`observe`) and what the pod itself is made of (`model`) are printed beside it. A comprehension or
a lambda is part of the function it stands in; a coroutine that goes on was entered but once.
"""

import asyncio
import re
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from types import FrameType
from typing import Any

import msgspec

from stowplan.app.replica import KubeClients, Replica, ReplicaSettings
from stowplan.cli.flag_parser import parse
from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.connections import ApiAnswer
from stowplan.kube.identity import Credentials
from stowplan.kube.transport import ApiRequest
from stowplan.observe.metrics import Metrics
from tests.architecture.source_tree import PACKAGE, ROOT
from tests.known_plugins import default_configuration
from tests.limits import LIMIT_SECONDS

MOST_FILES, MOST_CALLS = 30, 110

BESIDE_THE_WAY = ("plugins/", "observe/", "model/")


@cache
def walked() -> "Walk":
    return asyncio.run(_walk_of_third_pod())


def on_the_way() -> "Walk":
    return Counter({step: count for step, count in walked().items() if not step[0].startswith(BESIDE_THE_WAY)})


def test_a_pod_of_a_known_template_is_bound_within_few_files_and_calls() -> None:
    walk = on_the_way()
    sys.stdout.write(f"\n{_as_table(walk)}\n\nbeside the way\n{_as_table(walked() - walk)}\n")
    files = {file for file, _ in walk}
    assert len(files) <= MOST_FILES, f"{len(files)} files:\n{_as_table(walk)}"
    assert walk.total() <= MOST_CALLS, f"{walk.total()} calls:\n{_as_table(walk)}"


def test_the_walk_begins_with_the_watch_and_ends_with_the_request() -> None:
    steps = list(on_the_way())
    assert steps[0] == ("kube/informer.py", "Informer.run")
    assert {("engine/scheduling_cycle.py", "choose"), ("kube/client.py", "Client.send")} <= set(steps)


def test_architecture_md_names_the_files_that_are_walked() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.partition("## A pod's way through")[2].partition("\n## ")[0]
    table = "\n".join(line for line in section.splitlines() if line.startswith("| "))
    assert set(re.findall(r"`([a-z_/]+\.py)`", table)) == {file for file, _ in on_the_way()}


#: How often a function was entered on the way, by its file below `src/stowplan` and its name.
Walk = Counter[tuple[str, str]]


class _Walker:
    """Notes what of Stowplan is called from `start` to `stop`; a coroutine that goes on was entered but once."""

    def __init__(self) -> None:
        self.walk: Walk = Counter()
        # Kept, so that no other frame can be taken for one of them.
        self._frames: dict[int, FrameType] = {}

    def start(self) -> None:
        sys.setprofile(self._note)

    def stop(self) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        is_ours = code.co_filename.startswith(f"{PACKAGE}/") and not code.co_name.startswith("<")
        if event == "call" and is_ours and id(frame) not in self._frames:
            self._frames[id(frame)] = frame
            self.walk[code.co_filename.removeprefix(f"{PACKAGE}/"), code.co_qualname] += 1


class _Server:
    """An API server at hand: implements `kube.transport.Transport`. A pod that is bound is sent to who watches pods."""

    def __init__(self) -> None:
        self.bound: dict[str, dict[str, Any]] = {}
        self.on_binding: Callable[[], None] = lambda: None
        self._pods: asyncio.Queue[bytes] = asyncio.Queue()
        self._pending: dict[str, dict[str, Any]] = {}
        self._version = 10

    def create(self, pod: dict[str, Any]) -> None:
        self._pending[pod["metadata"]["name"]] = pod
        self._send("ADDED", pod)

    def _send(self, type: str, pod: dict[str, Any]) -> None:
        self._version += 1
        pod["metadata"]["resourceVersion"] = str(self._version)
        self._pods.put_nowait(msgspec.json.encode({"type": type, "object": pod}) + b"\n")

    async def close(self) -> None: ...

    async def renew(self, request: ApiRequest) -> None: ...

    async def exchange(self, request: ApiRequest) -> ApiAnswer:
        if request.path.endswith("/binding"):
            self.on_binding()
            pod = self._pending[request.path.split("/")[-2]]
            node = re.search(rb"node-[0-9]", request.body or b"")
            assert node is not None
            pod = {**pod, "metadata": dict(pod["metadata"]), "spec": {**pod["spec"], "nodeName": node[0].decode()}}
            self.bound[pod["metadata"]["name"]] = pod
            self._send("MODIFIED", pod)
        return ApiAnswer(201, "Created", {}, b"{}")

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator["_Stream"]:
        listed = [_node(f"node-{number}") for number in range(5)] if request.path.endswith("/nodes") else []
        yield _Stream(listed, self._pods if request.path.endswith("/pods") else asyncio.Queue())


class _Stream:
    """A streamed list, and what is put into `coming` after it; implements `kube.transport.IncomingAnswer`."""

    code, reason = 200, "OK"
    headers: Mapping[str, str] = {}

    def __init__(self, listed: list[dict[str, Any]], coming: asyncio.Queue[bytes]) -> None:
        self._listed, self._coming = listed, coming

    async def pieces(self) -> AsyncIterator[bytes]:
        end = {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}
        events = [{"type": "ADDED", "object": one} for one in self._listed]
        for event in (*events, {"type": "BOOKMARK", "object": {"metadata": end}}):
            yield msgspec.json.encode(event) + b"\n"
        while True:
            yield await self._coming.get()

    async def read_all(self) -> bytes:
        return b""


class _Nobody:
    """No identity: nothing is sent over a wire."""

    async def header(self) -> str:
        return ""

    async def renew(self) -> None: ...


async def _walk_of_third_pod() -> Walk:
    server, walker = _Server(), _Walker()
    options = parse(["--leader-elect=false"])
    metrics = Metrics(time.monotonic_ns, options.feature_gates)
    settings = ClientSettings("walker")
    clients = [Client(Credentials("http://127.0.0.1", _Nobody()), settings, transport=server) for _ in range(3)]
    made = ReplicaSettings(options, default_configuration(), metrics, time.monotonic_ns, seed=1)
    replica = Replica(made, KubeClients(*clients), lambda: True)
    async with asyncio.timeout(LIMIT_SECONDS), asyncio.TaskGroup() as tasks:
        following = tasks.create_task(replica.watching.run())
        await replica.watching.settled()
        replica.watching.is_scheduling = True
        cycles = tasks.create_task(replica.scheduler.run())
        for name in ("first", "second", "third"):
            server.create(_pod(name))
            if name == "third":
                server.on_binding = walker.stop
                walker.start()
            await _until_bound(name, server, replica)
        replica.scheduler.stop()
        following.cancel()
        await cycles
    return walker.walk


async def _until_bound(name: str, server: _Server, replica: Replica) -> None:
    while name not in server.bound or not replica.scheduler.is_idle:  # noqa: ASYNC110 (nobody tells)
        await asyncio.sleep(0)


def _node(name: str) -> dict[str, Any]:
    room = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": name, "resourceVersion": "1", "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": room, "capacity": room},
    }


def _pod(name: str) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
    container = {"name": "main", "image": "web:1", "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": name,
            "labels": {"app": "web"},
            "ownerReferences": [owner],
        },
        "spec": {"containers": [container], "schedulerName": "default-scheduler"},
        "status": {"phase": "Pending"},
    }


def _as_table(walk: Walk) -> str:
    files: dict[str, list[str]] = {}
    for (file, function), count in walk.items():
        files.setdefault(file, []).append(function if count == 1 else f"{function} x{count}")
    lines = [f"{file}: {', '.join(functions)}" for file, functions in files.items()]
    return "\n".join([*lines, f"{len(files)} files, {walk.total()} calls"])

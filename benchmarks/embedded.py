"""How much the embedded cluster takes: `python -m benchmarks.embedded [--nodes 10000] [--pods 100000]`.

Starts `stowplan up` without nodes, creates nodes and then pods over HTTP by eight connections of another process, and
waits until every pod is placed. Prints objects a second, pods a second and the server's memory; asserts nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import aiohttp

CONNECTIONS: Final = 8
_MEBI: Final = 1024


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.embedded")
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--data", action="store_true", help="keep the cluster on disk, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(given.nodes, given.pods, Path(folder), has_data=given.data))


async def measure(nodes: int, pods: int, folder: Path, *, has_data: bool) -> None:
    """Run it all once, and print what it took."""
    arguments = ["up", "--nodes", "0", "--kubeconfig", str(folder / "kubeconfig"), "--port", "0"]
    arguments += ["--data", str(folder / "data")] if has_data else []
    program = Path(sys.executable).with_name("stowplan")
    server = await asyncio.create_subprocess_exec(str(program), *arguments, stdout=asyncio.subprocess.PIPE)
    assert server.stdout is not None
    try:
        url, _, metrics = await _addresses(server.stdout)
        reading = asyncio.create_task(_read_on(server.stdout))
        print(f"{nodes} nodes, {pods} pods, {CONNECTIONS} connections, {'on disk' if has_data else 'in memory'}")
        connector = aiohttp.TCPConnector(limit=CONNECTIONS)
        async with aiohttp.ClientSession(url, connector=connector) as session:
            stage = Stage(session, server.pid)
            await stage.create("/api/v1/nodes", "nodes", map(_node, range(nodes)))
            await stage.create("/api/v1/namespaces/default/configmaps", "config maps", map(_config_map, range(nodes)))
            started = time.perf_counter(), _cpu_seconds(server.pid)
            await stage.create("/api/v1/namespaces/default/pods", "pods, while they are placed", map(_pod, range(pods)))
            await _until_placed(metrics, pods)
            took, used = time.perf_counter() - started[0], _cpu_seconds(server.pid) - started[1]
            rate = f"{pods / took:.0f} a second, {used / max(pods, 1) * 1000:.2f} ms CPU each"
            print(f"  all pods placed after {took:.1f} s: {rate}")
            _tell_memory(server.pid, "with everything")
    finally:
        if server.returncode is None:
            server.send_signal(signal.SIGINT)
        print(f"  exit code {await server.wait()}")
    await reading


class Stage:
    """Creates objects by all connections at once, and prints what that took."""

    def __init__(self, session: aiohttp.ClientSession, pid: int) -> None:
        self._session, self._pid = session, pid

    async def create(self, path: str, what: str, objects: Iterator[bytes]) -> None:
        started, cpu = time.perf_counter(), _cpu_seconds(self._pid)
        counts = await asyncio.gather(*(self._post(path, objects) for _ in range(CONNECTIONS)))
        took, used, count = time.perf_counter() - started, _cpu_seconds(self._pid) - cpu, sum(counts)
        rate = f"{count / took:.0f} objects a second, {used / max(count, 1) * 1000:.2f} ms CPU each"
        print(f"  {count} {what}: {took:.1f} s, {rate}")

    async def _post(self, path: str, objects: Iterator[bytes]) -> int:
        count = 0
        for body in objects:
            async with self._session.post(path, data=body, headers={"Content-Type": "application/json"}) as answer:
                if answer.status != 201:
                    raise RuntimeError(f"POST {path}: {answer.status}: {await answer.text()}")
                await answer.read()
            count += 1
        return count


async def _until_placed(metrics: str, pods: int) -> None:
    while True:
        async with aiohttp.ClientSession() as session, session.get(metrics) as answer:
            lines = (await answer.text()).splitlines()
        placed = sum(
            float(line.rpartition(" ")[2])
            for line in lines
            if line.startswith("scheduler_schedule_attempts_total") and 'result="scheduled"' in line
        )
        if placed >= pods:
            return
        await asyncio.sleep(2)


async def _addresses(output: asyncio.StreamReader) -> list[str]:
    """Wait until the server says where it is; return where the API, the page and the metrics are."""
    found: list[str] = []
    async for line in output:
        found += [word for word in line.decode().split() if word.startswith("http://")]
        if line.startswith(b"Ctrl-C"):
            return found
    raise RuntimeError("the cluster did not come up; see what it said")


async def _read_on(output: asyncio.StreamReader) -> None:
    """Take what the server goes on saying, so that it need not wait to say it."""
    async for _ in output:
        pass


def _cpu_seconds(pid: int) -> float:
    """Return what the server has used of the processor so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _tell_memory(pid: int, when: str) -> None:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    resident, peak = (int(status[name].split()[0]) // _MEBI for name in ("VmRSS", "VmHWM"))
    print(f"  memory {when}: {resident} MiB, at most {peak} MiB so far")


def _node(number: int) -> bytes:
    name = f"node-{number:05}"
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{'abc'[number % 3]}"}
    return _body("Node", {"name": name, "labels": labels}, status={"capacity": amounts, "allocatable": amounts})


def _config_map(number: int) -> bytes:
    return _body("ConfigMap", {"name": f"map-{number:05}"}, data={"key": "value"})


def _pod(number: int) -> bytes:
    requests = {"cpu": "500m", "memory": "1Gi"}
    container = {"name": "main", "image": "registry.example/web:v1", "resources": {"requests": requests}}
    labels = {"app": f"app-{number % 50}"}
    return _body("Pod", {"name": f"pod-{number:06}", "labels": labels}, spec={"containers": [container]})


def _body(kind: str, metadata: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": kind, "metadata": metadata, **more}).encode()


if __name__ == "__main__":
    main()

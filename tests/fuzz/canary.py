"""A client that only wants what every client wants, all the time: the server is ready, and a new pod gets its node."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from tests.fuzz.client import Address

_NAMESPACE: Final = "canary"
_EVERY_SECONDS: Final = 1.0
_LOOK_AGAIN_SECONDS: Final = 0.05
_TIMEOUT: Final = aiohttp.ClientTimeout(total=30)


class OverdueError(Exception):
    """The pod was not bound in time."""


@dataclass(slots=True)
class Canary:
    """Asks on one kept connection; `latencies` are the seconds from creating a pod to seeing it bound."""

    address: Address
    limit_seconds: float
    latencies: list[float] = field(default_factory=list)
    #: Seconds that /readyz took.
    ready: list[float] = field(default_factory=list)

    async def sing(self) -> None:
        """Go on until cancelled. Raise OverdueError or AssertionError if the server no longer does what it should."""
        async with self._session() as session:
            number = 0
            while True:
                await self._check_ready(session)
                if await self._place(session, f"canary-{number}"):
                    number += 1
                await asyncio.sleep(_EVERY_SECONDS)

    async def sing_once(self) -> None:
        """See that the server is ready and one pod is bound."""
        async with self._session() as session:
            await self._check_ready(session)
            assert await self._place(session, "canary-again"), "the canary's pod is gone"

    def _session(self) -> aiohttp.ClientSession:
        headers = {"Authorization": f"Bearer {self.address.token or 'x'}", "Content-Type": "application/json"}
        base = f"http://127.0.0.1:{self.address.port}"
        return aiohttp.ClientSession(base, headers=headers, timeout=_TIMEOUT)

    async def _check_ready(self, session: aiohttp.ClientSession) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with session.get("/readyz") as answer:
            assert answer.status == 200, f"/readyz answers {answer.status}: {await answer.text()}"
        self.ready.append(loop.time() - began)

    async def _place(self, session: aiohttp.ClientSession, name: str) -> bool:
        """See a pod bound; False if an attacker took the pod or its node away meanwhile."""
        loop = asyncio.get_running_loop()
        await _create(session, "/api/v1/namespaces", _named("Namespace", _NAMESPACE))
        await _create(session, "/api/v1/nodes", _node())
        pods = f"/api/v1/namespaces/{_NAMESPACE}/pods"
        began = loop.time()
        if await _create(session, pods, _pod(name)) != 201:
            return True
        bound = False
        while not bound:
            pod, node = await _read(session, f"{pods}/{name}"), await _read(session, "/api/v1/nodes/canary")
            if pod is None or node is None:
                return False
            bound = bool(pod["spec"].get("nodeName"))
            if not bound and loop.time() - began > self.limit_seconds:
                raise OverdueError(f"pod {name} is not bound after {self.limit_seconds:g} s: {json.dumps(pod)}")
            await asyncio.sleep(0 if bound else _LOOK_AGAIN_SECONDS)
        self.latencies.append(loop.time() - began)
        async with session.delete(f"{pods}/{name}", params={"gracePeriodSeconds": "0"}) as answer:
            await answer.read()
        return True


async def _create(session: aiohttp.ClientSession, path: str, obj: dict[str, Any]) -> int:
    async with session.post(path, data=json.dumps(obj)) as answer:
        text = await answer.text()
        # A namespace that is being deleted takes nothing, until it is gone.
        assert answer.status in (201, 403, 409), f"{obj['kind']} {obj['metadata']['name']}: {answer.status}: {text}"
        return answer.status


async def _read(session: aiohttp.ClientSession, path: str) -> dict[str, Any] | None:
    async with session.get(path) as answer:
        text = await answer.text()
        assert answer.status in (200, 404), f"{path}: {answer.status}: {text}"
        found: dict[str, Any] | None = json.loads(text) if answer.status == 200 else None
        return found


def _named(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "labels": {"canary": "yes"}}}


def _node() -> dict[str, Any]:
    amounts = {"cpu": "64", "memory": "64Gi", "pods": "1000"}
    taints = [{"key": "canary", "effect": "NoSchedule"}]
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    return _named("Node", "canary") | {"spec": {"taints": taints}, "status": status}


def _pod(name: str) -> dict[str, Any]:
    spec = {
        "containers": [{"name": "c", "image": "i"}],
        "nodeSelector": {"canary": "yes"},
        "tolerations": [{"operator": "Exists"}],
        # Not one of the attackers' pods goes before it.
        "priorityClassName": "system-node-critical",
    }
    return _named("Pod", name) | {"spec": spec}

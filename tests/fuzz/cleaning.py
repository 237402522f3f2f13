"""Takes back what attackers made, so that what memory the server still has is its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from yarl import URL

from tests.fuzz.client import Address

_ROUNDS: Final = 40
_AT_ONCE: Final = 8
_TIMEOUT: Final = aiohttp.ClientTimeout(total=60)
#: The cluster writes these itself; they come and go.
_OWN: Final = ("/api/v1/events", "/apis/events.k8s.io/v1/events", "/apis/coordination.k8s.io/v1/leases")

Key = tuple[str, str, str]


class Cleaner:
    """Knows what was there at the beginning, and deletes everything else."""

    def __init__(self, address: Address) -> None:
        self._base = f"http://127.0.0.1:{address.port}"
        self._headers = {"Authorization": f"Bearer {address.token or 'x'}"}
        self._first: frozenset[Key] = frozenset()

    async def remember(self) -> None:
        """What is there now may stay."""
        async with self._session() as session:
            self._first = frozenset(await _everything(session))

    async def clean(self) -> list[str]:
        """Delete until nothing is left that was not there; return what cannot be deleted."""
        async with self._session() as session:
            left: list[Key] = []
            for _ in range(_ROUNDS):
                left = [key for key in await _everything(session) if key not in self._first]
                if not left:
                    break
                await asyncio.gather(*(_delete(session, key) for key in left))
                await asyncio.sleep(0.1)
            for path in _OWN[:1]:
                await _send(session, "DELETE", path)
            return ["/".join(key) for key in left]

    async def version(self) -> int:
        """How many changes there have been."""
        async with self._session() as session:
            answer = await _send(session, "GET", "/api/v1/namespaces?limit=1")
            return int(answer["metadata"]["resourceVersion"])

    def _session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=_AT_ONCE)
        return aiohttp.ClientSession(self._base, headers=self._headers, timeout=_TIMEOUT, connector=connector)


async def collections(session: aiohttp.ClientSession) -> list[tuple[str, dict[str, Any]]]:
    """Return the root path of every resource that can be listed, with what discovery says of it."""
    groups = [("/api/v1", await _send(session, "GET", "/api/v1"))]
    for group in (await _send(session, "GET", "/apis"))["groups"]:
        for version in group["versions"]:
            root = f"/apis/{version['groupVersion']}"
            groups.append((root, await _send(session, "GET", root)))
    return [(root, each) for root, found in groups for each in found.get("resources", ()) if "list" in each["verbs"]]


async def _everything(session: aiohttp.ClientSession) -> list[Key]:
    """Return all objects as root, plural and name with namespace; pods last, as others make them anew."""
    wanted = [(root, each["name"]) for root, each in await collections(session) if f"{root}/{each['name']}" not in _OWN]
    lists = await asyncio.gather(*(_send(session, "GET", f"{root}/{plural}") for root, plural in wanted))
    found: list[Key] = []
    for (root, plural), listed in zip(wanted, lists, strict=True):
        found += [(root, plural, name) for name in _names(listed.get("items") or ())]
    return sorted(found, key=lambda key: (key[1] in ("pods", "namespaces"), key[1] == "namespaces"))


def _names(items: Any) -> Iterator[str]:
    for item in items:
        namespace, name = item["metadata"].get("namespace"), item["metadata"]["name"]
        yield f"{namespace}/{name}" if namespace else name


async def _delete(session: aiohttp.ClientSession, key: Key) -> None:
    root, plural, name = key
    namespace, slash, short = name.rpartition("/")
    last = quote(short, safe=":")
    path = f"{root}/namespaces/{namespace}/{plural}/{last}" if slash else f"{root}/{plural}/{last}"
    free = json.dumps([{"op": "add", "path": "/metadata/finalizers", "value": []}])
    await _send(session, "PATCH", path, free, "application/json-patch+json")
    if plural == "namespaces":
        empty = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": []}}
        await _send(session, "PUT", f"{path}/finalize", json.dumps(empty), "application/json")
    await _send(session, "DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background")


async def _send(session: aiohttp.ClientSession, method: str, path: str, body: str | None = None, kind: str = "") -> Any:
    headers = {"Content-Type": kind} if kind else {}
    # As it is written: names may have anything in them, and a URL that is made of text loses line breaks.
    async with session.request(method, URL(path, encoded=True), data=body, headers=headers) as answer:
        return json.loads(await answer.text())

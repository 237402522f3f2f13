"""How much memory the server may have: what it had, and the changes that it remembers for watches.

A server keeps the latest changes of each resource, up to `LOG_LENGTH`, so that a watch can go on where it broke off.
What clients change in an hour fills these logs only in part, so their growth is counted, by watching everything, and
set aside.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Final

import aiohttp

from tests.fuzz.cleaning import collections
from tests.fuzz.client import Address

#: The most changes that the log of one resource keeps.
LOG_LENGTH: Final = 75_000
#: Of large objects it keeps fewer.
LOG_BYTES: Final = 192 * 2**20
#: What a change takes beside the object, and one of a custom resource, which is not counted, altogether.
_CHANGE_BYTES: Final = 900
_UNCOUNTED_BYTES: Final = 2500
#: Allocators round up.
_ROUNDING: Final = 1.05
#: What may come and go without meaning: caches, pools of the allocator, the scheduler's memory of its last attempts.
_SLACK_BYTES: Final = 32 * 2**20


@dataclass(frozen=True, slots=True)
class Measured:
    """Memory after a round."""

    resident_bytes: int
    log_bytes: int

    def __str__(self) -> str:
        return f"{self.resident_bytes / 2**20:.1f} MiB, of which {self.log_bytes / 2**20:.1f} are remembered changes"


class ChangeMeter:
    """Watches every resource, and counts."""

    def __init__(self, address: Address) -> None:
        self._base = f"http://127.0.0.1:{address.port}"
        self._headers = {"Authorization": f"Bearer {address.token or 'x'}"}
        self._changes: dict[str, int] = {}
        self._bytes: dict[str, int] = {}

    async def run(self) -> None:
        """Count until cancelled."""
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(
            self._base, headers=self._headers, timeout=timeout, connector=connector
        ) as session:
            paths = [
                f"{root}/{found['name']}" for root, found in await collections(session) if "watch" in found["verbs"]
            ]
            # The same events are served by two names.
            wanted = [path for path in paths if path != "/apis/events.k8s.io/v1/events"]
            await asyncio.gather(*(self._follow(session, path) for path in wanted))

    def log_bytes(self, version: int) -> int:
        """Return what the logs take, when there have been so many changes altogether."""
        total, counted = 0.0, sum(self._changes.values())
        for path, changes in self._changes.items():
            kept = min(1.0, LOG_LENGTH / max(1, changes))
            total += min(LOG_BYTES, kept * (self._bytes[path] + changes * _CHANGE_BYTES))
        return int(total + max(0, version - counted) * _UNCOUNTED_BYTES)

    async def _follow(self, session: aiohttp.ClientSession, path: str) -> None:
        self._changes[path] = self._bytes[path] = 0
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                async with session.get(path, params={"watch": "1", "timeoutSeconds": "86400"}) as answer:
                    async for piece in answer.content.iter_any():
                        self._changes[path] += piece.count(b"\n")
                        self._bytes[path] += len(piece)
            await asyncio.sleep(0.5)


def judge_growth(rounds: list[Measured]) -> str | None:
    """Say what is wrong if memory has grown, once warm, by more than what is remembered."""
    if len(rounds) < 2:
        return None
    # The first quarter warms up: processes that are started, pools that are filled.
    first, last = rounds[len(rounds) // 4], rounds[-1]
    grown = last.resident_bytes - first.resident_bytes
    allowed = (last.log_bytes - first.log_bytes) * _ROUNDING + _SLACK_BYTES
    if grown <= allowed:
        return None
    return f"memory grew by {grown / 2**20:.0f} MiB, from {first} to {last}"

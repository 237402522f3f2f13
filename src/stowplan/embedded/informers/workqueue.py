"""Keys to be worked off: each waits at most once, may be due later, and comes back later each time it fails.

A `Worker` takes one key at a time and lets everybody else have a turn after each.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stowplan.embedded.informers.event_recorder import Failures
from stowplan.embedded.informers.informer import SharedInformer
from stowplan.embedded.informers.metadata import ObjectKey
from stowplan.embedded.objects.errors import StatusError

_FIRST_RETRY_SECONDS = 0.01
_LAST_RETRY_SECONDS = 30.0
#: An event loop wakes sleepers up to its resolution early; to wait for what is left then would take no time at all.
_EARLY_SECONDS = 1e-6
#: Somebody else was faster, or the object is gone: look again, nothing to report.
_EXPECTED_CODES = (404, 409)

#: A worker lets the others have a turn after so many keys, or after so long.
_KEYS_PER_TURN = 500
_TURN_SECONDS = 0.004


class WorkQueue:
    """The keys that wait, in the order in which they became due."""

    def __init__(self) -> None:
        self._ready: deque[ObjectKey] = deque()
        self._is_ready: set[ObjectKey] = set()
        self._due: dict[ObjectKey, float] = {}
        self._timers: list[tuple[float, ObjectKey]] = []
        self._failures: dict[ObjectKey, int] = {}
        self._changed = asyncio.Event()

    def add(self, key: ObjectKey) -> None:
        """Let a key be taken as soon as possible."""
        self._due.pop(key, None)
        if key not in self._is_ready:
            self._is_ready.add(key)
            self._ready.append(key)
            self._changed.set()

    def add_after(self, key: ObjectKey, seconds: float) -> None:
        """Let a key be taken after a while, or earlier if it waits already."""
        due = asyncio.get_running_loop().time() + seconds
        if key in self._is_ready or self._due.get(key, due + 1) <= due:
            return
        self._due[key] = due
        heapq.heappush(self._timers, (due, key))
        self._changed.set()

    def add_failed(self, key: ObjectKey) -> None:
        """Let a key that failed be taken again, the later the more often it failed."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.add_after(key, min(_FIRST_RETRY_SECONDS * 2 ** min(failures, 20), _LAST_RETRY_SECONDS))

    def succeeded(self, key: ObjectKey) -> None:
        """Forget how often a key failed."""
        self._failures.pop(key, None)

    async def take(self) -> ObjectKey:
        """Wait until a key is due and take it out."""
        while (key := self.take_ready()) is None:
            await self._wait()
        return key

    def take_ready(self) -> ObjectKey | None:
        """Take out a key that is due, if there is one."""
        now = asyncio.get_running_loop().time()
        while self._timers and self._timers[0][0] <= now + _EARLY_SECONDS:
            due, timed = heapq.heappop(self._timers)
            # A key that was moved forward, or taken meanwhile, left its old timer behind.
            if self._due.get(timed) == due:
                self.add(timed)
        if not self._ready:
            return None
        key = self._ready.popleft()
        self._is_ready.discard(key)
        return key

    async def _wait(self) -> None:
        """Wait for a key to be added, or for the next timer."""
        self._changed.clear()
        seconds = self._timers[0][0] - asyncio.get_running_loop().time() if self._timers else None
        with contextlib.suppress(TimeoutError):
            # Not `wait_for`, which may swallow being cancelled.
            async with asyncio.timeout(seconds):
                await self._changed.wait()


#: Brings the object of a key to where it should be; returns after how many seconds to look again, if at all.
Reconcile = Callable[[ObjectKey], float | None]


@dataclass(slots=True)
class Worker:
    """Works off one queue, always with the informers it was given up to date; `failures` hears of what fails."""

    queue: WorkQueue
    reconcile: Reconcile
    informers: Sequence[SharedInformer[Any]]
    failures: Failures

    async def run(self) -> None:
        """Work for ever; a key that fails comes back later."""
        while True:
            self._take_turn(await self.queue.take())
            await asyncio.sleep(0)

    def _take_turn(self, first: ObjectKey) -> None:
        """Work on a key, and on a few more that are due."""
        loop = asyncio.get_running_loop()
        self._catch_up()
        # Catching up with what everybody else did is not the worker's own time.
        end, key = loop.time() + _TURN_SECONDS, first
        for _ in range(_KEYS_PER_TURN):
            self._attempt(key)
            self._catch_up()
            following = self.queue.take_ready() if loop.time() < end else None
            if following is None:
                return
            key = following
        self.queue.add(key)

    def _catch_up(self) -> None:
        for informer in self.informers:
            informer.catch_up()

    def _attempt(self, key: ObjectKey) -> None:
        try:
            again_seconds = self.reconcile(key)
        except Exception as error:
            # One object that nobody thought of must not stop the work on all others.
            self.queue.add_failed(key)
            if not (isinstance(error, StatusError) and error.code in _EXPECTED_CODES):
                self.failures.tell(key, error)
        else:
            self.queue.succeeded(key)
            self.failures.forget(key)
            if again_seconds is not None:
                self.queue.add_after(key, again_seconds)

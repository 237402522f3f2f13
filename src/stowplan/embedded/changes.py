"""The log of changes to the objects of one storage, and feeds that follow it. `store` writes it, watches read it."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from operator import attrgetter
from typing import Final

from stowplan.embedded.errors import StatusError, expired
from stowplan.embedded.stored import Change

#: Changes that a log keeps at least; it is cut when it is half as long again.
KEPT_CHANGES: Final = 50_000
#: Some changes are told at once; of very many in a row, those of so long are told together, which costs everybody much
#: less. Told at once they come to clients in order with those of other logs.
_TOGETHER_SECONDS: Final = 0.005
_TOLD_AT_ONCE: Final = 10


class ChangeLog:
    """The latest changes, oldest first. It knows every change after version `floor`."""

    def __init__(self, floor: int, kept: int = KEPT_CHANGES) -> None:
        self.floor = floor
        self._changes: list[Change] = []
        self._dropped = 0
        self._kept = kept
        self._waiting: list[asyncio.Future[None]] = []
        self._told_at = float("-inf")
        # How often in a row it was told, with no longer pause than changes wait to be told together.
        self._told = 0
        self._telling: asyncio.TimerHandle | None = None

    @property
    def end(self) -> int:
        """The position after the last change; positions count from the first change ever."""
        return self._dropped + len(self._changes)

    @property
    def last_version(self) -> int:
        return self._changes[-1].version if self._changes else self.floor

    def append(self, change: Change) -> None:
        self._changes.append(change)
        if len(self._changes) > self._kept * 3 // 2:
            self._drop(len(self._changes) - self._kept)
        if self._waiting and self._telling is None:
            self._tell(self._waiting[0].get_loop())

    def position_after(self, version: int) -> int:
        """Where the changes after a version begin. Raise StatusError 410 if some of them are gone."""
        if version < self.floor:
            raise too_old(version, self.last_version)
        return self._dropped + bisect_right(self._changes, version, key=attrgetter("version"))

    def read(self, position: int, end: int | None = None) -> list[Change]:
        """The changes from a position on, or up to another. Raise StatusError 410 if some of them are gone."""
        if position < self._dropped:
            raise expired("too old resource version: the watch fell behind the changes that are kept")
        return self._changes[position - self._dropped : None if end is None else end - self._dropped]

    async def wait(self, position: int) -> None:
        """Return when there is a change at or after a position."""
        while position >= self.end:
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            try:
                await future
            finally:
                self._leave(future)

    def _leave(self, future: asyncio.Future[None]) -> None:
        if future in self._waiting:
            self._waiting.remove(future)
        if not self._waiting and self._telling is not None:
            self._telling.cancel()
            self._telling = None

    def _drop(self, count: int) -> None:
        self.floor = self._changes[count - 1].version
        self._dropped += count
        del self._changes[:count]

    def _tell(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake those who wait, now or a little later."""
        next_at = self._told_at + _TOGETHER_SECONDS
        self._told = self._told + 1 if loop.time() < next_at else 1
        if self._told <= _TOLD_AT_ONCE:
            self._wake()
        else:
            self._telling = loop.call_at(next_at, self._wake)

    def _wake(self) -> None:
        self._telling = None
        if self._waiting:
            self._told_at = self._waiting[0].get_loop().time()
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)


class Feed:
    """The changes after some version, in one namespace or in all, each exactly once."""

    def __init__(self, log: ChangeLog, position: int, namespace: str | None = None) -> None:
        self._log = log
        self._position = position
        self._namespace = namespace

    @property
    def is_behind(self) -> bool:
        """Whether there is something to drain."""
        return self._position < self._log.end

    def drain(self, most: int | None = None) -> list[Change]:
        """Take what is there, or the first of it, without waiting. Raise StatusError 410 if the log was cut past it."""
        return self._take(self._log.end if most is None else self._position + most)

    async def wait(self) -> None:
        """Return when there is something to drain (which, in one namespace, may still be nothing)."""
        await self._log.wait(self._position)

    async def take(self) -> list[Change]:
        """Wait for changes and take them all."""
        while not (changes := self.drain()):
            await self.wait()
        return changes

    def __aiter__(self) -> Feed:
        return self

    async def __anext__(self) -> Change:
        while not (changes := self._take(self._position + 1)):
            await self.wait()
        return changes[0]

    def _take(self, end: int) -> list[Change]:
        changes = self._log.read(self._position, end)
        self._position += len(changes)
        if self._namespace is None:
            return changes
        return [change for change in changes if change.stored.namespace == self._namespace]


def too_old(version: int, current: int) -> StatusError:
    return expired(f"too old resource version: {version} ({current})")

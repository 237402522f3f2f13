"""The log of changes to the objects of one storage, and feeds that follow it. `store` writes it, watches read it.

`notifier` wakes those who wait for it to go on.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import Final

from stowplan.embedded.objects.errors import expired
from stowplan.embedded.storage.notifier import Notifier
from stowplan.embedded.storage.stored import StoredChange

#: Changes that a log keeps at least; it is cut when it is half as long again.
KEPT_CHANGES: Final = 50_000
#: Of large objects it keeps fewer, so that whoever writes them over and over does not fill the memory.
KEPT_BYTES: Final = 128 * 2**20
#: About what a label takes beside its text.
_LABEL_BYTES: Final = 200


class ChangeLog:
    """The latest changes, oldest first. It knows every change after version `floor`."""

    def __init__(self, floor: int, kept: int = KEPT_CHANGES, kept_bytes: int = KEPT_BYTES) -> None:
        self.floor = floor
        self._changes: list[StoredChange] = []
        self._dropped = 0
        self._kept = kept
        self._kept_bytes = kept_bytes
        self._bytes = 0
        self._within = Notifier()
        self._outside = Notifier()

    @property
    def end(self) -> int:
        """The position after the last change; positions count from the first change ever."""
        return self._dropped + len(self._changes)

    @property
    def last_version(self) -> int:
        return self._changes[-1].version if self._changes else self.floor

    def append(self, change: StoredChange) -> None:
        self._changes.append(change)
        self._bytes += _size(change)
        if len(self._changes) > self._kept * 3 // 2 or self._bytes > self._kept_bytes * 3 // 2:
            self._cut()
        self._within.notify()
        self._outside.notify()

    def forget(self) -> None:
        """Drop all changes; who has not heard of them yet is told that they are gone."""
        self.floor, self._dropped = self.last_version, self.end
        self._changes, self._bytes = [], 0

    def position_after(self, version: int) -> int:
        """Where the changes after a version begin. Raise StatusError 410 if some of them are gone."""
        if version < self.floor:
            raise expired(f"too old resource version: {version} ({self.last_version})")
        return self._dropped + bisect_right(self._changes, version, key=attrgetter("version"))

    def read(self, position: int, end: int | None = None) -> list[StoredChange]:
        """The changes from a position on, or up to another. Raise StatusError 410 if some of them are gone."""
        if position < self._dropped:
            raise expired("too old resource version: the watch fell behind the changes that are kept")
        return self._changes[position - self._dropped : None if end is None else end - self._dropped]

    def notifier(self, *, is_outside: bool) -> Notifier:
        """Who tells of changes: however many clients listen, those within this process do not wait for them."""
        return self._outside if is_outside else self._within

    def _cut(self) -> None:
        """Drop what is too much, but never the last change."""
        count, left = 0, self._bytes
        while count < len(self._changes) - 1 and (len(self._changes) - count > self._kept or left > self._kept_bytes):
            left -= _size(self._changes[count])
            count += 1
        self._bytes = left
        if count == 0:
            return
        self.floor = self._changes[count - 1].version
        self._dropped += count
        del self._changes[:count]


class Feed:
    """The changes after some version, in one namespace or in all, each exactly once."""

    def __init__(self, log: ChangeLog, position: int, namespace: str | None = None) -> None:
        self._log = log
        self._position = position
        self._namespace = namespace
        #: Whether it is followed by a client of another process, one of perhaps very many.
        self.is_outside = False

    @property
    def is_behind(self) -> bool:
        """Whether there is something to drain."""
        return self._position < self._log.end

    def drain(self, most: int | None = None) -> list[StoredChange]:
        """Take what is there, or the first of it, without waiting. Raise StatusError 410 if the log was cut past it."""
        changes = self._log.read(self._position, None if most is None else self._position + most)
        self._position += len(changes)
        if self._namespace is None:
            return changes
        return [change for change in changes if change.stored.namespace == self._namespace]

    async def wait(self) -> None:
        """Return when there is something to drain (which, in one namespace, may still be nothing)."""
        notifier = self._log.notifier(is_outside=self.is_outside)
        while not self.is_behind:
            await notifier.wait()

    async def give_way(self) -> None:
        """Let others have their turn while there is still something to drain."""
        await self._log.notifier(is_outside=self.is_outside).give_way()


def _size(change: StoredChange) -> int:
    return len(change.stored.body) + _LABEL_BYTES * len(change.stored.labels)

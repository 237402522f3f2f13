"""All connections of a server, and what they share: how many there may be, what they may hold, how long they may take.

Nobody has a timer of its own: once a second every connection is looked at.
"""

from __future__ import annotations

import asyncio
from bisect import insort
from dataclasses import dataclass
from heapq import nsmallest
from typing import Final, Protocol

#: How much is read at a time, of whoever sends.
_READ_BYTES: Final = 16 * 1024
_MOST_TURNED_AWAY: Final = 100
#: How many are looked for at once that may make room, as thousands may come in a second.
_MOST_IDLE: Final = 1000
#: How long nobody is looked for again, for each connection that was looked at: ten times what that takes.
_PAUSE_SECONDS: Final = 5e-6


@dataclass(frozen=True, slots=True)
class Limits:
    """How much clients may ask of a server before it has decided that they may ask anything."""

    #: From the first byte of a head to its last, and the same of a body.
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    #: The same of a body while others wait to send theirs.
    pressed_body_seconds: float = 5.0
    #: Between two requests; upstream's, which clients count on.
    idle_seconds: float = 90.0
    #: How long a client may read nothing of what it is sent.
    write_seconds: float = 30.0
    #: How long a client that is refused in the middle of a body may take to notice.
    linger_seconds: float = 2.0
    handshake_seconds: float = 10.0
    connections: int = 4000
    #: What bodies that are on their way may hold, all together; small ones do not count.
    held_bytes: int = 64 * 1024 * 1024
    small_body_bytes: int = 16 * 1024
    look_seconds: float = 1.0


class Member(Protocol):
    """A connection, as far as the others are concerned."""

    #: Since when it waits for its client, by the clock of the loop.
    since: float

    @property
    def is_replaceable(self) -> bool:
        """Whether no request is on it, or none any more."""

    def look(self, now: float) -> None:
        """End it if it takes longer than it may."""

    def go_on(self) -> None:
        """Read on: there is room for the body."""

    def make_way(self) -> None:
        """End for another one."""

    def close(self) -> None: ...


class Connections:
    """Those that are open."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        #: What arrives is read into this, whoever it comes from, and used up before anybody else reads.
        self.buffer = memoryview(bytearray(_READ_BYTES))
        self._members: set[Member] = set()
        self._turned_away: set[Member] = set()
        #: Some that were idle longest, the longest last, and since when.
        self._idle: list[tuple[Member, float]] = []
        self._idle_again_at = 0.0
        self._held: dict[Member, int] = {}
        self._held_bytes = 0
        #: Who waits for room, and for how much: the smallest first, so that nobody waits for those that need most.
        self._waiting: list[tuple[Member, int]] = []
        self._looking: asyncio.TimerHandle | None = None

    @property
    def is_pressed(self) -> bool:
        """Whether somebody waits for others to finish."""
        return bool(self._waiting)

    def enter(self, member: Member) -> bool:
        """Take a connection in, if need be instead of the one that is idle longest; say whether it may come in."""
        is_full = len(self._members) >= self.limits.connections
        if is_full and not self._make_room():
            return False
        self._members.add(member)
        self._look_later()
        return True

    def turn_away(self, member: Member) -> bool:
        """Say whether one that may not come in can be told so; if very many come, there is no time to."""
        if len(self._turned_away) >= _MOST_TURNED_AWAY:
            return False
        self._turned_away.add(member)
        return True

    def leave(self, member: Member) -> None:
        self._members.discard(member)
        self._turned_away.discard(member)
        self.release(member)

    def close(self) -> None:
        """End all."""
        for member in (*self._members, *self._turned_away):
            member.close()

    def hold(self, member: Member, size: int) -> bool:
        """Keep room for a body. If there is none, say so, and let the connection go on when there is."""
        if size <= self.limits.small_body_bytes:
            return True
        is_next = not self._waiting or size < self._waiting[0][1]
        if is_next and self._held_bytes + size <= self.limits.held_bytes:
            self._keep(member, size)
            return True
        insort(self._waiting, (member, size), key=_size)
        return False

    def release(self, member: Member) -> None:
        """Give up the room of a body, or the wait for it."""
        if self._waiting:
            self._waiting = [each for each in self._waiting if each[0] is not member]
        self._held_bytes -= self._held.pop(member, 0)
        while self._waiting and self._held_bytes + self._waiting[0][1] <= self.limits.held_bytes:
            next_one, size = self._waiting.pop(0)
            self._keep(next_one, size)
            # Not now: whoever gives up room is in the middle of something.
            asyncio.get_running_loop().call_soon(next_one.go_on)

    def _keep(self, member: Member, size: int) -> None:
        self._held[member] = size
        self._held_bytes += size

    def _make_room(self) -> bool:
        idle = self._longest_idle()
        if idle is None:
            return False
        self._members.discard(idle)
        idle.make_way()
        return True

    def _longest_idle(self) -> Member | None:
        """Find the one that makes room. Whoever was busy before is idle since later than those that are known."""
        now = asyncio.get_running_loop().time()
        if not self._known_idle() and now >= self._idle_again_at:
            found = nsmallest(_MOST_IDLE, (each for each in self._members if each.is_replaceable), key=_since)
            self._idle = [(each, each.since) for each in reversed(found)]
            self._idle_again_at = now + _PAUSE_SECONDS * len(self._members)
        return self._idle.pop()[0] if self._idle else None

    def _known_idle(self) -> bool:
        """Say whether one is known, and forget those that are not idle any more."""
        while self._idle:
            member, since = self._idle[-1]
            if member in self._members and member.is_replaceable and member.since == since:
                return True
            self._idle.pop()
        return False

    def _look_later(self) -> None:
        if self._looking is None:
            self._looking = asyncio.get_running_loop().call_later(self.limits.look_seconds, self._look)

    def _look(self) -> None:
        self._looking = None
        now = asyncio.get_running_loop().time()
        for member in (*self._members, *self._turned_away):
            member.look(now)
        if self._members:
            self._look_later()


def _size(waiting: tuple[Member, int]) -> int:
    return waiting[1]


def _since(member: Member) -> float:
    return member.since

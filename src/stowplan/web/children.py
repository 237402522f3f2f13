"""Long answers, each made in a forked child: the scheduler goes on meanwhile (`app/what_if_page.py`).

There is one child at a time for each kind of answer. Some may wait for their turn, for a page asks several things at
once, and more than one person may look at it; beyond them, who asks is told to come again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from stowplan.app.what_if_page import BusyError, Child, fork

#: How many wait for the child of a kind.
MOST_IN_LINE: Final = 8

BetweenCycles = Callable[[Callable[[int], Any]], Awaitable[Any]]


@dataclass(slots=True)
class _Line:
    """Those who want answers of one kind."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


class Children:
    """Who makes long answers, one for each kind."""

    def __init__(self, between_cycles: BetweenCycles) -> None:
        self._between_cycles = between_cycles
        self._lines: dict[str, _Line] = {}

    async def answer(self, kind: str, prepare: Callable[[int], Callable[[], bytes]]) -> bytes:
        """Return what is made in a child; raise BusyError if too many wait.

        `prepare` is asked between two cycles, by the scheduler itself, for what the child is to do then and there.
        """
        line = self._lines.setdefault(kind, _Line())
        if line.waiting > MOST_IN_LINE:
            raise BusyError
        line.waiting += 1
        try:
            async with line.turn:
                child: Child = await self._between_cycles(lambda now_ns: fork(prepare(now_ns)))
                return await child.answer()
        finally:
            line.waiting -= 1

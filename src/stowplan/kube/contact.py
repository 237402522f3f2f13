"""Whether the API server answers, for all informers together: told once, and found out by all as soon as by one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress


class Contact:
    """What the informers of one API server know of it; `report` is for people."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self.report = report
        #: The resources whose informers got no answer, and what was said about that.
        self._lost: set[str] = set()
        self._told: set[str] = set()
        self._is_back = asyncio.Event()

    def lose(self, resource: str, problem: str) -> None:
        """Take note that there was no answer."""
        self._lost.add(resource)
        if problem not in self._told:
            self._told.add(problem)
            self.report(f"the API server does not answer: {problem}; it is asked again")

    def find(self, resource: str) -> None:
        """Take note that there was an answer: those who wait need not wait longer."""
        if resource not in self._lost:
            return
        self._lost.remove(resource)
        self._is_back.set()
        self._is_back = asyncio.Event()
        if not self._lost:
            self._told.clear()
            self.report("the API server answers again")

    async def pause(self, resource: str, seconds: float) -> None:
        """Wait after a failure; after a lack of answer, only until somebody else gets one."""
        if resource not in self._lost:
            await asyncio.sleep(seconds)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_back.wait()

"""Changes of the cluster, for those who wait for one beside the loop: claims that are bound, devices made ready."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class News:
    """Wakes everybody who waits, after changes were applied; implements `framework.handle.News`."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def tell(self) -> None:
        """Something has changed: let everybody look."""
        for one in self._waiting:
            if not one.done():
                one.set_result(None)
        self._waiting.clear()

    async def until(self, holds: Callable[[], bool], timeout_seconds: float) -> bool:
        """Wait until `holds()` after some change; return False if it does not in time."""
        try:
            async with asyncio.timeout(timeout_seconds) as limit:
                while not holds():
                    await self._next()
        except TimeoutError:
            if not limit.expired():
                raise
            return False
        return True

    async def _next(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(turn)
        try:
            await turn
        finally:
            self._waiting.discard(turn)

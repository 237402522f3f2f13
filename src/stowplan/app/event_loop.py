"""The event loop of a scheduler that talks to a server: uvloop where there is one, for a request costs less there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, on a loop of its own."""
    with asyncio.Runner(loop_factory=_fastest()) as runner:
        return runner.run(work)


def _fastest() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return how to make the loop; None for the usual way."""
    try:
        import uvloop
    except ImportError:
        # It is not made for every system.
        return None
    return uvloop.new_event_loop

"""What goes on beside the loop: bindings, evictions, writes. Whoever started it need not wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from stowplan.engine.parts import Parts
from stowplan.engine.ports import Trouble
from stowplan.framework import plugin_faults
from stowplan.framework.contract import Errand
from stowplan.model.pod import Pod


class Errands:
    """The tasks under way; `on_end` is called when one is done, for it may have put pods where they can be tried."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self._on_end = on_end
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, None] | None) -> asyncio.Task[None] | None:
        """Have something done, if there is anything to do."""
        if work is None:
            return None
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    async def finish_one(self) -> None:
        """Wait until one of the tasks is done."""
        if self._tasks:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._on_end()


async def carry_out(parts: Parts, pod: Pod, errand: Errand) -> None:
    """Do what a plugin left to be done about a pod; nobody waits for it, so what goes wrong is only told."""
    try:
        async with parts.patience.for_a_write():
            await errand()
    except plugin_faults.FAULTS as error:
        text = plugin_faults.said(error)
        parts.tell(Trouble(f"pod {pod.key!r}: what a plugin left to be done failed: {text}"))

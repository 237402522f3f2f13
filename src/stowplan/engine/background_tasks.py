"""What goes on beside the loop: bindings, evictions, writes, timers; and waiting there for the cluster to change.

Whoever starts a task need not wait for it: what goes wrong with a write is told. `scheduler.py` starts most of them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from stowplan.engine.ports import Environment, Trouble
from stowplan.framework import plugin_faults
from stowplan.framework.contract import Errand
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod, pod_id
from stowplan.model.pod_group import PodGroup
from stowplan.queue.queue import SchedulingQueue

_BACKOFF_SECONDS = 1.0
_UNSCHEDULABLE_SECONDS = 30.0
_SECOND_NS = 1_000_000_000

#: Applied between two pods, and given the time in nanoseconds.
Change = Callable[[int], None]


class BackgroundTasks:
    """The tasks under way; `on_end` is called when one is done, for it may have put pods where they can be tried."""

    def __init__(self, environment: Environment, on_end: Callable[[], None]) -> None:
        self._environment = environment
        self.status_writes = StatusWrites(environment)
        self._on_end = on_end
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Have something done."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def start_errands(self, pod: Pod, errands: Iterable[Errand]) -> None:
        """Have done what plugins left to be done about a pod."""
        for errand in errands:
            self.start(run_errand(self._environment, pod, errand))

    def write_status(
        self, pod: Pod, condition: Condition | None, nominated_node_name: str | None
    ) -> asyncio.Task[None]:
        """Write a pod's condition and nominated node, as `Writer.update_status` takes them."""
        return self.start(self.status_writes.write(pod, condition, nominated_node_name))

    def write_group_status(self, group: PodGroup, condition: Condition) -> asyncio.Task[None]:
        """Write a condition of a pod group."""
        return self.start(self.status_writes.write_group(group, condition))

    async def finish_one(self) -> None:
        """Wait until one of the tasks is done."""
        if self._tasks:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._on_end()


async def run_errand(environment: Environment, pod: Pod, errand: Errand) -> None:
    """Do what a plugin left to be done about a pod; nobody waits for it, so what goes wrong is only told."""
    try:
        async with asyncio.timeout(environment.timeouts.write_seconds):
            await errand()
    except plugin_faults.FAULTS as error:
        text = plugin_faults.said(error)
        environment.tell(Trouble(f"pod {pod.key!r}: what a plugin left to be done failed: {text}"))


class StatusWrites:
    """Writes to the status of pods: for each pod one after another, so that what was said last is written last."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._turns: dict[str, asyncio.Lock] = {}
        self._in_line: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._turns)

    async def write(self, pod: Pod, condition: Condition | None, nominated_node_name: str | None) -> None:
        """Write a pod's condition and nominated node; a failure is only told."""
        written = self._environment.writer.update_status(pod, condition, nominated_node_name)
        await self._in_turn(pod_id(pod), f"pod {pod.key!r}", written)

    async def write_group(self, group: PodGroup, condition: Condition) -> None:
        """Write a condition of a pod group; a failure is only told."""
        written = self._environment.writer.update_group_status(group, condition)
        await self._in_turn(str(group.group_key), str(group.group_key), written)

    async def _in_turn(self, identity: str, whose: str, written: Coroutine[Any, Any, None]) -> None:
        environment = self._environment
        seconds = environment.timeouts.write_seconds
        self._in_line[identity] += 1
        try:
            async with self._turns.setdefault(identity, asyncio.Lock()), asyncio.timeout(seconds):
                await written
        except Exception as error:
            text = str(error) or type(error).__name__
            environment.tell(Trouble(f"{whose}: its status could not be updated: {text}"))
        finally:
            written.close()
            self._in_line[identity] -= 1
            if not self._in_line[identity]:
                del self._in_line[identity], self._turns[identity]


async def flush_regularly(queue: SchedulingQueue, now_ns: Callable[[], int], submit: Callable[[Change], None]) -> None:
    """Flush the queue until cancelled: every second who has backed off, every half minute who waited too long."""
    next_leftover = now_ns() + _UNSCHEDULABLE_SECONDS * _SECOND_NS
    while True:
        # Backoff ends on whole seconds, as it is counted in them.
        await asyncio.sleep(_BACKOFF_SECONDS - now_ns() % _SECOND_NS / _SECOND_NS)
        submit(queue.flush_backoff)
        if now_ns() >= next_leftover:
            next_leftover += _UNSCHEDULABLE_SECONDS * _SECOND_NS
            submit(queue.flush_unschedulable)


class ClusterChanges:
    """Wakes everybody who waits for the cluster to change (claims bound, devices made ready).

    Implements `framework.handle.ChangeFeed`.
    """

    def __init__(self) -> None:
        #: Read by others, changed here.
        self.waiting: set[asyncio.Future[None]] = set()

    def tell(self) -> None:
        """Something has changed: let everybody look."""
        for one in self.waiting:
            if not one.done():
                one.set_result(None)
        self.waiting.clear()

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
        self.waiting.add(turn)
        try:
            await turn
        finally:
            self.waiting.discard(turn)

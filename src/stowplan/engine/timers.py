"""The queue's clockwork: every second those whose wait is over, every half minute those who waited too long."""

from __future__ import annotations

import asyncio

from stowplan.engine.parts import Parts
from stowplan.engine.scheduler import Scheduler

BACKOFF_SECONDS = 1.0
UNSCHEDULABLE_SECONDS = 30.0
SECOND_NS = 1_000_000_000


async def run_timers(scheduler: Scheduler, parts: Parts) -> None:
    """Flush the queue until cancelled; backoff ends on whole seconds, as it is counted in them."""
    next_leftover = parts.now_ns() + UNSCHEDULABLE_SECONDS * SECOND_NS
    while True:
        into_second = parts.now_ns() % SECOND_NS / SECOND_NS
        await asyncio.sleep(BACKOFF_SECONDS - into_second)
        scheduler.submit(parts.queue.flush_backoff)
        if parts.now_ns() >= next_leftover:
            next_leftover += UNSCHEDULABLE_SECONDS * SECOND_NS
            scheduler.submit(parts.queue.flush_unschedulable)

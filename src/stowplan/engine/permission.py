"""Waiting for the plugins that hold a pod in Permit: until all allow it, one refuses it, or the time of one is over."""

from __future__ import annotations

import asyncio

from stowplan.engine.parts import Parts
from stowplan.engine.ports import Permitted
from stowplan.framework.verdict import Rejection
from stowplan.framework.waiting_pods import WaitingPod


async def wait(parts: Parts, waiting: WaitingPod) -> Rejection | None:
    """Wait for the decision about a pod."""
    held_at_ns = parts.now_ns()
    try:
        rejection = await _decision(waiting)
    finally:
        parts.waiting.remove(waiting)
    parts.tell(Permitted(waiting.pod, rejection, held_at_ns))
    return rejection


async def _decision(waiting: WaitingPod) -> Rejection | None:
    loop = asyncio.get_running_loop()
    decision: asyncio.Future[Rejection | None] = loop.create_future()
    waiting.when_decided(lambda rejection: None if decision.done() else decision.set_result(rejection))
    timers = [loop.call_later(seconds, waiting.time_out, plugin) for plugin, seconds in waiting.held_by.items()]
    try:
        return await decision
    finally:
        for timer in timers:
            timer.cancel()

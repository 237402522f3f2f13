"""A source of the page over a scheduler in memory, whose pods are placed when the test says so."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from stowplan.app.configuration import read_configuration
from stowplan.app.inspection import Inspection
from stowplan.bench.scheduler import VirtualScheduler
from stowplan.bench.virtual_api import VirtualApi
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.web.source import Source
from tests.limits import LIMIT_SECONDS

SECOND = 1_000_000_000
START = datetime(2026, 1, 2, tzinfo=UTC)


@dataclass
class World:
    """A cluster in memory, with the time that the test says."""

    api: VirtualApi
    scheduler: VirtualScheduler
    source: Source
    now_ns: list[int]

    def pass_seconds(self, seconds: float) -> None:
        self.now_ns[0] += int(seconds * SECOND)

    async def rest(self) -> None:
        """Wait until everything is decided."""
        async with asyncio.timeout(LIMIT_SECONDS):
            while not self.scheduler.replica.scheduler.is_idle:  # noqa: ASYNC110 (nobody tells)
                await asyncio.sleep(0)


@asynccontextmanager
async def world(*objects: Any, gates: FeatureGates = DEFAULT_GATES) -> AsyncIterator[World]:
    """Have a scheduler that has decided on some objects."""
    draws, now_ns = itertools.count(), [int(START.timestamp()) * SECOND]
    clock: Callable[[], int] = lambda: now_ns[0]  # noqa: E731
    api = VirtualApi(lambda: START, lambda below: next(draws) % below)
    scheduler = VirtualScheduler(api, read_configuration(None, gates), gates, clock, seed=1)
    found = World(api, scheduler, Source(Inspection(scheduler.replica)), now_ns)
    scheduler.start()
    try:
        for each in objects:
            api.create(each)
        await found.rest()
        yield found
    finally:
        await scheduler.stop()

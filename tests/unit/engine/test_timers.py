"""The queue's clockwork: on whole seconds, and every half minute."""

from __future__ import annotations

import asyncio
from collections import defaultdict

import pytest

from stowplan.app.assembly import assemble
from stowplan.app.cluster import Cluster
from stowplan.engine.scheduler import Change, Scheduler
from stowplan.engine.timers import run_timers
from stowplan.simulate import virtual_time
from stowplan.simulate.notebook import Notebook
from stowplan.simulate.virtual_time import VirtualTimeLoop


class Listening(Scheduler):
    """Notes what is submitted when."""

    heard: defaultdict[str, list[float]]

    def submit(self, change: Change) -> None:
        self.heard[change.__name__].append(round(asyncio.get_running_loop().time(), 6))


@pytest.mark.parametrize(
    ("start", "backoff", "leftovers"),
    [
        pytest.param(0, [1, 2, 3], [30, 60], id="started on a whole second"),
        pytest.param(0.4, [1, 2, 3], [31, 61], id="started in between: on whole seconds all the same"),
    ],
)
def test_when_the_queue_is_looked_at(start: float, backoff: list[float], leftovers: list[float]) -> None:
    async def main() -> dict[str, list[float]]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        await asyncio.sleep(start)
        cluster = Cluster()
        _, parts = assemble(cluster, Notebook(), loop.now_ns)
        scheduler = Listening(parts, cluster.evictions)
        scheduler.heard = defaultdict(list)
        timers = loop.create_task(run_timers(scheduler, parts))
        await asyncio.sleep(65)
        timers.cancel()
        return scheduler.heard

    heard = virtual_time.run(main())
    assert heard["flush_backoff"][:3] == backoff
    assert heard["flush_unschedulable"] == leftovers

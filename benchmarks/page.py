"""What the page costs: `python -m benchmarks.page [--nodes 5000] [--pods 20000]`, and rows of `make bench`.

The whole flow in one process, as `stowplan bench` runs it: without a page, with one that nobody watches, and with one
that ten watch, who read what happens over HTTP from another process. The pods are the same in all of them, and turns
are taken, so that a machine that is busy for a while is so for all.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median
from typing import Final

import aiohttp
from aiohttp import web

from benchmarks.measure import Row
from benchmarks.workloads import node
from stowplan.app.configuration import read_configuration
from stowplan.app.inspection import Inspection
from stowplan.app.process import now, run, steady_clock
from stowplan.bench.process_cost import MeasuredProcess
from stowplan.bench.scheduler import VirtualScheduler
from stowplan.bench.virtual_api import VirtualApi
from stowplan.config.feature_gates import DEFAULT_GATES
from stowplan.model.pod import Pod
from stowplan.testing import make_pod
from stowplan.web.page import page_of

NODES: Final = 5_000
_PODS: Final = 20_000
_WARM_UP: Final = 1_000
_WATCHERS: Final = 10
_ROUNDS: Final = 5
#: Rows by name: how many watch; None for a scheduler without a page.
KINDS: Final[dict[str, int | None]] = {
    "whole flow, no page": None,
    "page, nobody watches": 0,
    "page, ten watch": _WATCHERS,
}


@dataclass(frozen=True, slots=True)
class Flow:
    """One run: pods a second, and milliseconds of processor time a pod."""

    pods_per_second: float
    cpu_per_pod: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page")
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--pods", type=int, default=_PODS)
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    parser.add_argument("--watch", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.watch:
        asyncio.run(_watch(given.watch))
        return
    print(f"{given.nodes} nodes, {given.pods} pods, the medians of {given.rounds} runs each")
    for name, flow in measure_all(given.nodes, given.pods, given.rounds).items():
        print(f"  {name:24} {flow.pods_per_second:7,.0f} pods/s {flow.cpu_per_pod:.3f} ms of CPU time a pod")


def rows() -> Iterator[Row]:
    """Measure what `make bench` shows."""
    for name, flow in measure_all(NODES, _PODS, _ROUNDS).items():
        yield Row(name, NODES, _PODS, flow.pods_per_second)


def measure_all(nodes: int, pods: int, rounds: int) -> dict[str, Flow]:
    """Measure each kind in turn, so many times; return the medians of each."""
    found: dict[str, list[Flow]] = {name: [] for name in KINDS}
    for _ in range(rounds):
        for name, watchers in KINDS.items():
            found[name].append(run(_flow(nodes, pods, watchers)))
    return {
        name: Flow(median(flow.pods_per_second for flow in flows), median(flow.cpu_per_pod for flow in flows))
        for name, flows in found.items()
    }


async def _flow(nodes: int, pods: int, watchers: int | None) -> Flow:
    api = VirtualApi(now, random.Random(1).randrange)
    scheduler = VirtualScheduler(api, read_configuration(None, DEFAULT_GATES), DEFAULT_GATES, steady_clock(), seed=1)
    for number in range(nodes):
        api.create(node(number))
    async with _page(scheduler, watchers):
        scheduler.start()
        try:
            await _schedule(api, scheduler, [api.registered(_pod(number)) for number in range(_WARM_UP)])
            scheduler.tidy()
            waiting = [api.registered(_pod(number)) for number in range(_WARM_UP, _WARM_UP + pods)]
            process = MeasuredProcess()
            began, cpu = time.perf_counter(), process.cpu_seconds()
            await _schedule(api, scheduler, waiting)
            await scheduler.settle()
            took, used = time.perf_counter() - began, process.cpu_seconds() - cpu
        finally:
            await scheduler.stop()
    return Flow(pods / took, 1000 * used / pods)


async def _schedule(api: VirtualApi, scheduler: VirtualScheduler, pods: list[Pod]) -> None:
    """Have pods placed, and wait until they are."""
    for pod in pods:
        api.add(pod)
    while not scheduler.replica.scheduler.is_idle:  # noqa: ASYNC110 (nobody tells)
        await asyncio.sleep(0.002)


@asynccontextmanager
async def _page(scheduler: VirtualScheduler, watchers: int | None) -> AsyncIterator[None]:
    """Serve the page, if there is to be one, and have it watched from another process."""
    if watchers is None:
        yield
        return
    page = page_of(Inspection(scheduler.replica))
    app = web.Application()
    app.add_routes([web.route("*", path, handler) for path, handler in page.handlers.items()])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    reader = None
    if watchers:
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/api/stowplan/v1/events"
        command = (sys.executable, "-m", "benchmarks.page", "--watch", url)
        reader = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert reader.stdout is not None
        # It says so when all of them read.
        await reader.stdout.readline()
    try:
        yield
    finally:
        if reader is not None:
            reader.kill()
            await reader.wait()
        page.end()
        await runner.cleanup()


async def _watch(url: str) -> None:
    """Read what happens, ten times over, until killed."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session:
        answers = [await session.get(url) for _ in range(_WATCHERS)]
        print("reading", flush=True)
        await asyncio.gather(*(_read(answer) for answer in answers))


async def _read(answer: aiohttp.ClientResponse) -> None:
    async for _ in answer.content.iter_any():
        pass


def _pod(number: int) -> Pod:
    return make_pod(f"pod-{number}").label("app", "web").requests(cpu="100m", memory="128Mi").build()


if __name__ == "__main__":
    main()

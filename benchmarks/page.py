"""What the page costs: `python -m benchmarks.page [--nodes 5000] [--pods 20000]`, and rows of `make bench`.

The whole flow in one process, as `stowplan bench` runs it: without a page, with one that nobody watches, and with one
that ten watch, who read what happens over HTTP from another process. The pods are the same in all of them, and turns
are taken, so that a machine that is busy for a while is so for all; who goes first changes, for what one run leaves
behind is there in the next. The figures of a run are compared with those of its own round.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
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
    rounds = measure_rounds(given.nodes, given.pods, given.rounds)
    plain, *_ = KINDS
    for name, flow in medians(rounds).items():
        cost = median(each[plain].pods_per_second / each[name].pods_per_second - 1 for each in rounds)
        cpu = median(each[name].cpu_per_pod / each[plain].cpu_per_pod - 1 for each in rounds)
        print(
            f"  {name:24} {flow.pods_per_second:7,.0f} pods/s {flow.cpu_per_pod:.4f} ms of CPU time a pod;"
            f" beside no page in the same round {cost:+.1%} of time, {cpu:+.1%} of CPU time"
        )


def rows() -> Iterator[Row]:
    """Measure what `make bench` shows."""
    for name, flow in medians(measure_rounds(NODES, _PODS, _ROUNDS)).items():
        yield Row(name, NODES, _PODS, flow.pods_per_second)


def measure_rounds(nodes: int, pods: int, rounds: int) -> list[dict[str, Flow]]:
    """Measure each kind in each round."""
    found = []
    for number in range(rounds):
        first = number % len(KINDS)
        turns = [*KINDS][first:] + [*KINDS][:first]
        found.append({name: _run(nodes, pods, KINDS[name]) for name in turns})
    return found


def medians(rounds: list[dict[str, Flow]]) -> dict[str, Flow]:
    """Return the medians of each kind."""
    return {
        name: Flow(
            median(each[name].pods_per_second for each in rounds), median(each[name].cpu_per_pod for each in rounds)
        )
        for name in KINDS
    }


def _run(nodes: int, pods: int, watchers: int | None) -> Flow:
    # The cluster of the run before is not to be cleared away in the time of this one.
    gc.collect()
    return run(_flow(nodes, pods, watchers))


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

"""What-if questions to a scheduler that runs, one after the other, while `benchmarks.live` measures it.

The kinds have their turns: whether a pod fits is answered between two cycles, the others by a forked child.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from benchmarks.scripted_objects import node_name

_WHATIF: Final = "/debug/stowplan/whatif"
_METRICS: Final = "/metrics"
_ATTEMPT: Final = "scheduler_scheduling_attempt_duration_seconds_bucket"


@dataclass(frozen=True, slots=True)
class Questions:
    """Asks the scheduler at a port every so many seconds; none if that is 0."""

    port: int
    every_seconds: float

    def flags(self) -> list[str]:
        """Return what the scheduler is started with, so that it can be asked without a token."""
        open_paths = f"--authorization-always-allow-paths={_WHATIF},{_METRICS}"
        return [f"--secure-port={self.port}", "--bind-address=127.0.0.1", open_paths]

    async def ask_on(self, answered: list[float]) -> None:
        """Ask until cancelled; note how many seconds each answer took."""
        if not self.every_seconds:
            return
        loop = asyncio.get_running_loop()
        async with aiohttp.ClientSession(f"https://127.0.0.1:{self.port}") as session:
            for number in itertools.count():
                asked = loop.time()
                async with session.post(_WHATIF, json={"question": _question(number)}, ssl=False) as answer:
                    if answer.status != 200:
                        raise SystemExit(f"a question was not answered: {answer.status}: {await answer.text()}")
                    await answer.read()
                answered.append(loop.time() - asked)
                await asyncio.sleep(max(0.0, self.every_seconds - answered[-1]))

    async def p99_of_attempts(self) -> float:
        """Return the milliseconds within which 99 of 100 attempts ended, as histogram_quantile reckons."""
        async with (
            aiohttp.ClientSession(f"https://127.0.0.1:{self.port}") as session,
            session.get(_METRICS, ssl=False) as answer,
        ):
            buckets = [line for line in (await answer.text()).splitlines() if line.startswith(_ATTEMPT)]
        counts = sorted(_bucket(line) for line in buckets if 'result="scheduled"' in line)
        return 1000 * _quantile(counts, 0.99)


def _question(number: int) -> dict[str, Any]:
    requests = {"cpu": f"{100 + number}m", "memory": "100Mi"}
    spec = {"schedulerName": "default-scheduler", "containers": [{"name": "c", "resources": {"requests": requests}}]}
    pod = {"metadata": {"name": f"asked-{number}", "namespace": "default"}, "spec": spec}
    kinds = (
        {"fits": {"pods": [pod]}},
        {"headroom": {"mix": [{"pod": pod}]}},
        {"drain": {"names": [node_name(number)]}},
        {"preempt": {"pod": pod}},
    )
    return kinds[number % len(kinds)]


def _bucket(line: str) -> tuple[float, float]:
    bound = line.partition('le="')[2].partition('"')[0]
    return float(bound.replace("+Inf", "inf")), float(line.rpartition(" ")[2])


def _quantile(counts: list[tuple[float, float]], share: float) -> float:
    wanted, before, below = share * counts[-1][1], 0.0, 0.0
    for bound, count in counts:
        if count >= wanted:
            return below + (bound - below) * (wanted - before) / max(count - before, 1.0)
        before, below = count, bound
    return below


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])

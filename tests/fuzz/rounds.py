"""A run: for each variant of the server, rounds of attacks, cleaning and measuring in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import aiohttp

from tests.fuzz import server_process
from tests.fuzz.attack import Attack, request
from tests.fuzz.canary import Canary, OverdueError
from tests.fuzz.checker import Checker
from tests.fuzz.cleaning import Cleaner
from tests.fuzz.client import Address, carry_out
from tests.fuzz.generators import families
from tests.fuzz.generators.values import NAMESPACES
from tests.fuzz.memory import ChangeMeter, Measured, judge_growth
from tests.fuzz.server_process import ServerProcess

_ROUNDS: Final = 8
_LEAST_ROUND_SECONDS: Final = 3.0
#: Attacks whose objects are there when a server is started again.
_LEFT: Final = 300
#: Longer than a process is kept that reads YAML.
_SETTLE_SECONDS: Final = 4.0
#: However many pods workloads ask for, so many there may be in a namespace.
_MOST_PODS: Final = "60"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked for."""

    seconds: float
    seed: int
    clients: int
    variants: tuple[str, ...]
    #: Of one round; 0 for a part of the time.
    round_seconds: float = 0.0
    #: Of each client, in one round that ends with them; 0 for as many as there is time for.
    most_attacks: int = 0


@dataclass(slots=True)
class Report:
    """What was measured: memory after each round by variant, and how long the canary's pods and questions took."""

    memory: dict[str, list[Measured]] = field(default_factory=dict)
    placed_seconds: list[float] = field(default_factory=list)
    ready_seconds: list[float] = field(default_factory=list)


async def run(plan: Plan, checker: Checker, folder: Path, say: Say) -> Report:
    """Attack each variant for its share of the time."""
    report = Report()
    for variant in plan.variants:
        server = await server_process.start(folder / variant, variant, checker.read_log)
        try:
            report.memory[variant] = await _Siege(plan, variant, server, checker, report).run(say)
            server = await _restarted(server, folder / variant, variant, checker)
        except (OSError, TimeoutError, aiohttp.ClientError, AssertionError, OverdueError, ValueError) as error:
            checker.find(f"{variant}: a plain request between the rounds failed: {type(error).__name__}: {error}", None)
        finally:
            code = await server.end()
        if code != 0:
            checker.find(f"{variant}: the server ended with code {code}", None)
    return report


async def _restarted(server: ServerProcess, folder: Path, variant: str, checker: Checker) -> ServerProcess:
    """See that a server that keeps its data comes up again with what attackers have left in it."""
    if "--data" not in server_process.VARIANTS[variant] or not server.is_running:
        return server
    await prepare(server.address)
    for number in range(_LEFT):
        await carry_out(families.make(Random(f"{checker.seed}/left/{number}")), server.address, checker.limit_seconds)
    await server.end()
    again = await server_process.start(folder, variant, checker.read_log)
    await Canary(again.address, checker.limit_seconds).sing_once()
    return again


async def prepare(address: Address) -> None:
    """Make the namespaces that attackers know, each with a limit to the number of pods."""
    for name in NAMESPACES:
        await _create(address, "/api/v1/namespaces", "Namespace", {"metadata": {"name": name}})
        quota = {"metadata": {"name": "most"}, "spec": {"hard": {"pods": _MOST_PODS}}}
        await _create(address, f"/api/v1/namespaces/{name}/resourcequotas", "ResourceQuota", quota)


@dataclass(frozen=True, slots=True)
class _Siege:
    """The attack on one server."""

    plan: Plan
    variant: str
    server: ServerProcess
    checker: Checker
    report: Report

    async def run(self, say: Say) -> list[Measured]:
        """Attack in rounds until the time is over; return the memory after each."""
        meter = ChangeMeter(self.server.address)
        measuring = asyncio.create_task(meter.run())
        try:
            found = await self._rounds(meter, say)
        finally:
            measuring.cancel()
            await asyncio.gather(measuring, return_exceptions=True)
        if (fault := judge_growth(found)) is not None:
            self.checker.find(f"{self.variant}: {fault}", None)
        return found

    async def _rounds(self, meter: ChangeMeter, say: Say) -> list[Measured]:
        seconds = self.plan.seconds / len(self.plan.variants)
        length = self.plan.round_seconds or max(_LEAST_ROUND_SECONDS, seconds / _ROUNDS)
        cleaner, checker = Cleaner(self.server.address), self.checker
        await cleaner.remember()
        loop, found = asyncio.get_running_loop(), list[Measured]()
        end = loop.time() + seconds
        while loop.time() < end and not (self.plan.most_attacks and found):
            await prepare(self.server.address)
            await self._attack(Random(f"{self.plan.seed}/{self.variant}/{len(found)}"), loop.time() + length)
            if not self.server.is_running:
                break
            for left in await cleaner.clean():
                checker.find(f"cannot be deleted: {left}", None)
            await asyncio.sleep(_SETTLE_SECONDS)
            found.append(Measured(self.server.resident_bytes(), meter.log_bytes(await cleaner.version())))
            counts = f"{sum(checker.families.values())} attacks, {len(checker.findings)} findings"
            say(f"{self.variant}, round {len(found)}: {counts}, {found[-1]}")
        return found

    async def _attack(self, rng: Random, end: float) -> None:
        """Attack with all clients until the time is over or the server is gone."""
        canary = Canary(self.server.address, self.checker.limit_seconds)
        singing = asyncio.create_task(canary.sing())
        await asyncio.gather(*(self._client(Random(rng.random()), end) for _ in range(self.plan.clients)))
        singing.cancel()
        (fault,) = await asyncio.gather(singing, return_exceptions=True)
        if not isinstance(fault, asyncio.CancelledError):
            self.checker.find(f"canary: {type(fault).__name__}: {str(fault)[:100]}", None, str(fault))
        self.report.placed_seconds += canary.latencies
        self.report.ready_seconds += canary.ready

    async def _client(self, rng: Random, end: float) -> None:
        loop, left = asyncio.get_running_loop(), self.plan.most_attacks or -1
        while left and loop.time() < end and self.server.is_running:
            left -= 1
            attack = families.make(rng)
            self.checker.begin(attack)
            try:
                outcome = await carry_out(attack, self.server.address, self.checker.limit_seconds)
            except OSError as error:
                self.checker.find(f"cannot connect: {error}", attack)
                return
            self.checker.judge(attack, outcome)


async def _create(address: Address, path: str, kind: str, contents: dict[str, Any]) -> None:
    body = json.dumps({"apiVersion": "v1", "kind": kind, **contents}).encode()
    await carry_out(Attack("prepare", (request("POST", path, body, "application/json"),)), address, 60)

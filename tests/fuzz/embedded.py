"""The program: `python -m tests.fuzz.embedded --seconds 3600 --seed 1`, or `--replay FILE` to see a finding again.

Each variant of the server is attacked in rounds; after each round the clients are gone, what they made is deleted, and
the memory of the server is noted. It ends with a summary, and with exit code 1 if there is a finding.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from tests.fuzz import attack, rounds, server_process, summary
from tests.fuzz.checker import Checker
from tests.fuzz.client import carry_out
from tests.fuzz.rounds import Plan, Report


def main(arguments: list[str] | None = None) -> int:
    """Run as the command line says; return the exit code."""
    given = _parser().parse_args(arguments)
    variants = given.variant or list(server_process.VARIANTS)
    with tempfile.TemporaryDirectory(prefix="stowplan-fuzz-") as folder:
        if given.replay is not None:
            return asyncio.run(
                _replay(
                    json.loads(given.replay.read_text(encoding="utf-8")),
                    Path(folder),
                    variants[0],
                    is_alone=given.alone,
                )
            )
        checker = Checker(given.findings, given.seed, given.limit)
        plan = Plan(given.seconds, given.seed, given.clients, tuple(variants), given.round_seconds)
        report = asyncio.run(_until_told(rounds.run(plan, checker, Path(folder), _say)))
    _say(summary.of(report, checker, given.findings))
    return 1 if checker.findings else 0


async def _until_told(work: Coroutine[Any, Any, Report]) -> Report:
    """Let SIGTERM end a run as Ctrl-C does, so that no server is left behind."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await work


async def _replay(found: dict[str, Any], folder: Path, variant: str, *, is_alone: bool) -> int:
    """Carry out a finding again, with the attacks before it; say what the server answers and logs."""
    written = [] if is_alone else found["before"]
    if found["attack"] is not None:
        written = [*written, found["attack"]]
    checker = Checker(folder / "findings", found["seed"], 30.0)
    server = await server_process.start(folder / "server", variant, checker.read_log)
    try:
        await rounds.prepare(server.address)
        for each in map(attack.from_json, written):
            outcome = await carry_out(each, server.address, checker.limit_seconds)
            checker.judge(each, outcome)
            if is_alone:
                _say(f"{each.first_line}\n{outcome.said.decode('utf-8', 'replace')[:3000]}")
        await asyncio.sleep(1)
    finally:
        await server.end()
    for fault, count in checker.findings.items():
        _say(f"{count} x {fault}")
    return 1 if checker.findings else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.embedded", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to attack, all variants together")
    parser.add_argument("--seed", type=int, default=1, help="what the attacks are drawn from")
    parser.add_argument("--clients", type=int, default=12, help="how many attack at the same time")
    parser.add_argument(
        "--variant", action="append", choices=list(server_process.VARIANTS), help="one or several; all if not given"
    )
    parser.add_argument(
        "--round-seconds", type=float, default=0.0, help="length of a round; an eighth of the time if not given"
    )
    parser.add_argument("--limit", type=float, default=30.0, help="seconds after which an answer is overdue")
    parser.add_argument("--findings", type=Path, default=Path("build/fuzz"), help="where findings are written")
    parser.add_argument("--replay", type=Path, help="carry out a finding again")
    parser.add_argument("--alone", action="store_true", help="with --replay: only the attack itself, none before it")
    return parser


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(130)

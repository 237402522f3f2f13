"""The fuzzer itself works: a few seconds of it, always from the same seed, find nothing."""

import asyncio
from pathlib import Path

from tests.fuzz import rounds, summary
from tests.fuzz.checker import Checker
from tests.fuzz.rounds import Plan
from tests.limits import LIMIT_SECONDS


def test_a_few_seconds_of_attacks_find_nothing(tmp_path: Path) -> None:
    checker = Checker(tmp_path / "findings", seed=1, limit_seconds=LIMIT_SECONDS)
    plan = Plan(seconds=6.0, seed=1, clients=6, variants=("plain",), round_seconds=3.0)
    report = asyncio.run(rounds.run(plan, checker, tmp_path, lambda _: None))
    assert checker.findings == {}, summary.of(report, checker, tmp_path)
    # It did attack, however slow the machine is, and pods of the canary were bound meanwhile.
    assert len(checker.families) >= 5
    assert checker.codes["2xx"] > 0
    assert report.placed_seconds
    assert report.memory["plain"]

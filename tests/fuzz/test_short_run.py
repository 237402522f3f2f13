"""The fuzzer itself works: some attacks of one client, always the same in the same order, find nothing."""

import asyncio
from pathlib import Path

from tests.fuzz import rounds, summary
from tests.fuzz.checker import Checker
from tests.fuzz.rounds import Plan
from tests.limits import LIMIT_SECONDS


def test_a_hundred_attacks_find_nothing(tmp_path: Path) -> None:
    checker = Checker(tmp_path / "findings", seed=1, limit_seconds=LIMIT_SECONDS)
    plan = Plan(LIMIT_SECONDS, seed=1, clients=1, variants=("plain",), round_seconds=LIMIT_SECONDS, most_attacks=100)
    report = asyncio.run(rounds.run(plan, checker, tmp_path, lambda _: None))
    assert checker.findings == {}, summary.of(report, checker, tmp_path)
    # It did attack, and pods of the canary were bound meanwhile.
    assert sum(checker.families.values()) == 100
    assert len(checker.families) >= 10
    assert checker.codes["2xx"] > 10
    assert report.placed_seconds
    assert report.memory["plain"]

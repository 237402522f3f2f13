"""The example of the workbench; `tests/documentation` runs the programs of its page."""

import os
import subprocess
import sys
from pathlib import Path

from tests.limits import LIMIT_SECONDS

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> list[str]:
    result = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "src"},
        check=False,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


def test_the_example_shows_what_packing_is_good_for() -> None:
    spread, packed, table = 0, 6, 12
    lines = run("examples/workbench.py")
    assert lines[spread:packed] == [
        "LeastAllocated: Placements(8 of 8 pods placed)",
        "  pods by node: {'node-0': 2, 'node-1': 2, 'node-2': 2, 'node-3': 2}",
        "  cores free:   [4.0, 4.0, 4.0, 4.0]",
        "  utilisation of cpu: 50%",
        "  free cpu that a pod of six cores cannot use: 100%",
        "  the large pod: None",
    ]
    assert lines[packed:table] == [
        "MostAllocated: Placements(8 of 8 pods placed)",
        "  pods by node: {'node-0': 4, 'node-1': 4}",
        "  cores free:   [0.0, 0.0, 8.0, 8.0]",
        "  utilisation of cpu: 50%",
        "  free cpu that a pod of six cores cannot use: 0%",
        "  the large pod: node-2",
    ]
    assert lines[table].startswith("namespace,name,node,priority,")

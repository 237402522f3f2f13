"""README.md: what `tests/documentation` does not run as it stands there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.limits import LIMIT_SECONDS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAM = ".venv/bin/stowplan"


def commands() -> list[str]:
    found = re.findall(rf"^ +(?:try +)?{re.escape(PROGRAM)} ([^#\n]+)", README, re.MULTILINE)
    return [command.strip() for command in found]


def run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, check=False, capture_output=True, text=True, timeout=LIMIT_SECONDS
    )


def test_the_command_for_ci_works_as_it_stands_there() -> None:
    (command,) = [one for one in commands() if one.startswith("up --once")]
    result = run(["-m", "stowplan", *shlex.split(command)])
    assert (result.returncode, result.stderr) == (0, "")


def test_every_kind_of_command_is_shown() -> None:
    assert {command.split()[0] for command in commands()} == {
        "config",
        "explain",
        "nodes",
        "queue",
        "run",
        "schedule",
        "up",
        "whatif",
    }


def test_the_notebook_prints_what_its_comments_say() -> None:
    (code,) = [block for block in re.findall(r"```python\n(.+?)```", README, re.DOTALL) if "Cluster()" in block]
    result = run(["-c", code])
    assert result.returncode == 0, result.stderr
    node, message, *explanation, chosen = result.stdout.splitlines()
    assert node in ("node-0", "node-1", "node-2")
    assert message.startswith("0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes")
    assert explanation[0] == "Pod default/big fits no node."
    assert chosen == f"Chosen(pod='default/urgent', node_name='{node}', total=None, victims=['default/web'])"

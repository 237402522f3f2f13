"""The page of assertions and its example; `tests/documentation` runs its programs."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.limits import LIMIT_SECONDS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "assertions.md").read_text(encoding="utf-8")


def run(*arguments: str) -> tuple[int, list[str]]:
    environment = {**os.environ, "PYTHONPATH": "src"}
    command = [sys.executable, *arguments]
    result = subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True, timeout=LIMIT_SECONDS
    )
    assert result.stderr == ""
    return result.returncode, result.stdout.splitlines()


def test_the_command_of_the_page_finds_that_all_of_the_example_holds(tmp_path: Path) -> None:
    (line,) = re.findall(r"^    stowplan (test .+)$", PAGE, re.MULTILINE)
    code, lines = run("-m", "stowplan", *line.replace("report.xml", str(tmp_path / "report.xml")).split())
    assert (code, lines[-1]) == (0, "4 of 4 assertions hold")
    assert b'tests="4" failures="0" errors="0"' in (tmp_path / "report.xml").read_bytes()


def test_the_assertions_of_the_page_hold(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(.+?)```", PAGE, re.DOTALL)
    (tmp_path / "page.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "deployment.yaml").write_bytes((ROOT / "examples" / "deployment.yaml").read_bytes())
    code, lines = run("-m", "stowplan", "test", str(tmp_path / "page.yaml"), "--snapshot", "examples/cluster.yaml")
    assert (code, lines[-1]) == (0, "2 of 2 assertions hold")

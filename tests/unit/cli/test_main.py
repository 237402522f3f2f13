"""The program as it is started: what nobody foresaw is told in one line, too."""

import os
import subprocess
import sys
from pathlib import Path

from tests.limits import LIMIT_SECONDS

SOURCE = Path(__file__).resolve().parents[3] / "src"
#: Has a subcommand that fails as no subcommand should.
PROGRAM = """\
import sys
from stowplan import cli
from stowplan.__main__ import main

def fail(self, ctx, cmd_name):
    raise LookupError("nobody\\nknows")

cli.LazyGroup.get_command = fail
sys.argv = ["stowplan", "nodes"]
main()
"""


def run(**more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **more}
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=LIMIT_SECONDS)


def test_a_fault_of_ours_is_told_in_one_line() -> None:
    result = run()
    assert (result.returncode, result.stdout) == (1, "")
    remedy = "this is a fault of ours: please report it with what STOWPLAN_TRACEBACK=1 adds"
    assert result.stderr == f"Error: LookupError: nobody knows (<string>:6); {remedy}\n"


def test_with_its_traceback_for_who_asks() -> None:
    result = run(STOWPLAN_TRACEBACK="1")
    assert result.stderr.startswith("Traceback (most recent call last):")

"""Nothing that a test starts is left over."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.processes import Process
from tests.limits import LIMIT_SECONDS

ROOT = Path(__file__).resolve().parents[2]

STARTS_A_PROGRAM_AND_WAITS = """
import signal, sys, time
from pathlib import Path
from tests.e2e.processes import Process
# A shell that runs us in the background has interrupts ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
program = Process(["sleep", "600"], Path(sys.argv[1]))
program.start()
print(program.pid, flush=True)
time.sleep(600)
"""


def is_gone(pid: int) -> bool:
    """Tell whether a process has ended; one that nobody has waited for yet counts as ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def test_stopping_ends_a_program_and_tells_its_exit_code(tmp_path: Path) -> None:
    program = Process(["sleep", "600"], tmp_path / "log")
    program.start()
    pid = program.pid

    assert program.stop() == -signal.SIGTERM
    assert is_gone(pid)


def test_a_program_that_ignores_the_request_is_killed(tmp_path: Path) -> None:
    program = Process(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"], tmp_path / "log")
    program.start()
    program.wait_until(lambda: "ready" in program.last_words())

    assert program.stop(grace_seconds=0.3) == -signal.SIGKILL


def test_a_program_that_ends_before_it_is_ready_is_reported_with_its_last_words(tmp_path: Path) -> None:
    program = Process(["sh", "-c", "echo no such flag; exit 3"], tmp_path / "log")
    program.start()

    with pytest.raises(RuntimeError, match="sh ended before it was ready; it said:\nno such flag"):
        program.wait_until(lambda: False)


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(signal.SIGKILL, id="killed"),
        pytest.param(signal.SIGTERM, id="terminated"),
        pytest.param(signal.SIGINT, id="interrupted"),
    ],
)
def test_a_program_ends_with_the_tests_that_started_it(tmp_path: Path, how: signal.Signals) -> None:
    command = [sys.executable, "-c", STARTS_A_PROGRAM_AND_WAITS, str(tmp_path / "log")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as tests:
        assert tests.stdout is not None
        pid = int(tests.stdout.readline())
        assert not is_gone(pid)
        os.kill(tests.pid, how)

    deadline = time.monotonic() + LIMIT_SECONDS
    while not is_gone(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert is_gone(pid)

"""`make run`: what it installs, and how it ends."""

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits import LIMIT_SECONDS

ROOT = Path(__file__).resolve().parents[2]
MAKE = shutil.which("make") or ""

# Who has a terminal of its own gets its signals.
AT_A_TERMINAL = """\
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""

pytestmark = pytest.mark.skipif(not MAKE, reason="there is no make on this machine")


def dry_run(target: str) -> str:
    """Return the commands of a target, as if nothing had been made yet."""
    command = [MAKE, "--dry-run", "--always-make", target]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=LIMIT_SECONDS).stdout


def test_to_run_it_no_development_tools_are_installed_and_none_that_are_there_taken_away() -> None:
    (sync,) = [line for line in dry_run("run").splitlines() if "uv sync" in line]
    assert sync.endswith("uv sync --frozen --compile-bytecode --no-dev --inexact")


def test_to_test_it_they_are() -> None:
    (sync,) = [line for line in dry_run("test").splitlines() if "uv sync" in line]
    assert sync.endswith("uv sync --frozen --compile-bytecode")


def test_end_to_end_tests_have_a_browser() -> None:
    text = dry_run("e2e")
    assert text.index("tests/chromium/install\n") < text.index("pytest --durations")


def test_tests_of_the_page_have_a_browser_and_an_environment_of_their_own() -> None:
    text = dry_run("test-page")
    (sync,) = [line for line in text.splitlines() if "uv sync" in line]
    assert "UV_PROJECT_ENVIRONMENT=.venv-page " in sync
    assert sync.endswith("uv sync --frozen --compile-bytecode --group page")
    assert text.index("tests/chromium/install\n") < text.index(".venv-page/bin/pytest")
    assert ".venv/bin" not in text


@pytest.mark.parametrize("target", ["test", "fuzz"])
def test_other_tests_need_no_browser(target: str) -> None:
    runs = [line for line in dry_run(target).splitlines() if "/pytest" in line]
    assert runs
    assert all("--ignore=tests/page" in line for line in runs)


def test_setting_up_says_what_it_does() -> None:
    text = dry_run("run")
    assert "--quiet" not in text
    assert text.index("Setting up with") < text.index("Installing what Stowplan needs to run into .venv")
    # What they write is a wall; see test_setup_step.py.
    walls = [line for line in text.splitlines() if "uv sync" in line or "compileall" in line]
    assert [("tools/setup_step.py" in line) for line in walls] == [True, True]


@pytest.mark.skipif(not (ROOT / ".venv" / "bin" / "stowplan").exists(), reason="the environment is not make's")
def test_ctrl_c_under_make_is_no_error(tmp_path: Path) -> None:
    pods = tmp_path / "pods.yaml"
    os.mkfifo(pods)
    # What is installed is taken as it is: this is about the end.
    command = [MAKE, "--old-file=.venv/.synced", "run", f"EXAMPLE={pods}"]
    terminal, inside = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", AT_A_TERMINAL, *command],
        cwd=ROOT,
        # Not as a part of the make that may have started the tests.
        env={name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")},
        stdin=inside,
        stdout=inside,
        stderr=inside,
    )
    os.close(inside)
    # To open it waits for the program, which then waits for more to come.
    with pods.open("w"):
        # To stop it would leave make, and whoever typed this, with nothing that goes on.
        os.write(terminal, b"\x1a\x03")
        said = read_all(terminal)
        assert process.wait(timeout=LIMIT_SECONDS) == 0, said
    os.close(terminal)
    assert said.splitlines()[-1].endswith("The cluster has ended.")
    assert "***" not in said


def read_all(terminal: int) -> str:
    """Read until the other side has closed the terminal."""
    found = b""
    try:
        while piece := os.read(terminal, 65536):
            found += piece
    except OSError:
        # How Linux says that nobody is left.
        assert sys.platform == "linux"
    return found.decode()

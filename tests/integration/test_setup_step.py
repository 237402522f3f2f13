"""Setting up, as `make run` and `make test` show it: what is said meanwhile, and what if it fails."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.test_make import read_all
from tests.limits import LIMIT_SECONDS
from tools.setup_step import Line, Progress, remedy

ROOT = Path(__file__).resolve().parents[2]
STEP = [sys.executable, str(ROOT / "tools" / "setup_step.py")]


def step(code: str) -> subprocess.CompletedProcess[str]:
    command = [*STEP, "2/3", "Installing", "--", sys.executable, "-c", code]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=LIMIT_SECONDS)


def test_what_a_step_writes_is_not_shown_if_it_goes_well() -> None:
    done = step("print('Collecting a wall of text')")
    assert (done.returncode, done.stderr) == (0, "")
    first, *_, last = done.stdout.splitlines()
    assert first == "[2/3] Installing"
    assert last.startswith("[2/3] Installing: done, ")
    assert "wall" not in done.stdout


def test_all_of_it_is_shown_if_it_fails_with_one_sentence_at_the_end() -> None:
    done = step("import sys; print('one'); print('stage: at it'); print('dns error', file=sys.stderr); sys.exit(2)")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("[2/3] Installing: failed, ")
    problem = "the package index cannot be reached; check the network, and HTTPS_PROXY if it goes through a proxy"
    assert sorted(done.stderr.splitlines()[:2]) == ["dns error", "one"]
    assert done.stderr.splitlines()[2:] == ["", f"This did not work: {problem}; then run make again."]


def test_a_command_that_is_not_there_is_named() -> None:
    command = [*STEP, "1/3", "Setting up", "--", "/nowhere/python"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "[Errno 2] No such file or directory: '/nowhere/python'"


def test_in_a_terminal_one_line_is_rewritten() -> None:
    terminal, inside = pty.openpty()
    command = [*STEP, "2/3", "Installing", "--", sys.executable, "-c", "print('Downloading numpy (16.1MiB)')"]
    process = subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside)
    os.close(inside)
    said = read_all(terminal)
    os.close(terminal)
    assert process.wait(timeout=LIMIT_SECONDS) == 0
    # One line is left, however often it was written.
    assert said.count("\n") == 1
    assert said.startswith("\r[2/3] Installing\x1b[K\r[2/3] Installing: ")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], ""),
        (["Collecting uv==0.13.7", "  Downloading uv-0.13.7-py3-none-any.whl (17.2 MB)"], "downloading uv (17.2 MB)"),
        (
            ["Downloading numpy (16.1MiB)", "Downloading rich (1MiB)", " Downloaded rich"],
            "downloading 1 of 2 large packages, still numpy (16.1MiB)",
        ),
        (["Downloading rich (1MiB)", "Prepared 32 packages in 2s"], "32 packages downloaded, installing"),
        (
            ["Prepared 32 packages in 2s", "Installed 32 packages in 1s"],
            "32 packages installed, compiling, so that programs start faster",
        ),
        (["stage: asking for it"], "asking for it"),
    ],
)
def test_how_far_it_is_follows_from_what_pip_and_uv_write(lines: list[str], expected: str) -> None:
    progress = Progress()
    for line in lines:
        progress.read(f"{line}\n")
    assert str(progress) == expected


def test_without_a_terminal_news_come_soon_and_the_same_less_often(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = 0.0
    line = Line("[1/3] At it", lambda: seconds)
    for tick in range(60):
        seconds = tick / 5
        line.show("a" if seconds < 5 else "b")
    said = capsys.readouterr().out.splitlines()
    assert said == ["[1/3] At it", "  a (2 s)", "  b (5 s)", "  b (10 s)"]


@pytest.mark.parametrize(
    ("output", "about"),
    [
        ("OSError: [Errno 28] No space left on device", "no space left"),
        ("error: failed to write: Disk quota exceeded (os error 122)", "no space left"),
        ("The virtual environment was not created ... because ensurepip is not available", "python3-venv"),
        ("error: Failed to fetch: `...`\n  Caused by: invalid peer certificate: UnknownIssuer", "SSL_CERT_FILE"),
        ("error: Failed to fetch: `...`\n  Caused by: dns error", "the network"),
        ("ERROR: No matching distribution found for uv==0.13.7", "the network"),
        ("error: failed to create directory: Permission denied (os error 13)", "cannot be written to"),
    ],
)
def test_what_can_be_done_follows_from_what_was_written(output: str, about: str) -> None:
    assert about in remedy(output)


def test_of_what_nobody_knows_nothing_is_claimed() -> None:
    assert remedy("error: something else") == ""

"""`stowplan up` at a terminal: its screen, its keys, and the terminal afterwards."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration.up.up_process import PROGRAM, environment
from tests.limits import LIMIT_SECONDS

HUGE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "huge"},
    "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "64"}}}]},
}
SMALL = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "small"},
    "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "4"}}}]},
}

#: A shell with one job: it brings it to the foreground, says when it stops, and brings it back then.
SHELL = """\
import fcntl, os, signal, subprocess, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
def foreground(group):
    os.tcsetpgrp(0, group)
def own():
    # What is ignored would be so in the job, too.
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
was = termios.tcgetattr(0)
job = subprocess.Popen(sys.argv[1:], process_group=0, preexec_fn=own)
foreground(job.pid)
while True:
    _, status = os.waitpid(job.pid, os.WUNTRACED)
    foreground(os.getpgrp())
    same = "as it was" if termios.tcgetattr(0) == was else "another"
    if os.WIFSTOPPED(status):
        print(f"<stopped, the terminal is {same}>", flush=True)
        foreground(job.pid)
        os.killpg(job.pid, signal.SIGCONT)
    else:
        print(f"<ended with {os.waitstatus_to_exitcode(status)}, the terminal is {same}>", flush=True)
        break
"""


@dataclass
class Terminal:
    """A terminal with the program in it, and all that it has shown."""

    descriptor: int
    shown: str = ""

    def press(self, keys: bytes) -> int:
        """Type; return where what is shown from then on begins."""
        start = len(self.shown)
        os.write(self.descriptor, keys)
        return start

    def resize(self, columns: int, rows: int) -> int:
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        return len(self.shown)

    def until(self, pattern: str, start: int = 0) -> None:
        """Read until something is shown after a place in the text."""
        end = time.monotonic() + LIMIT_SECONDS
        while not re.search(pattern, self.shown[start:]):
            assert time.monotonic() < end, f"{pattern!r} is not shown: {self.shown[start:]!r}"
            if select.select([self.descriptor], [], [], 1)[0]:
                self.shown += os.read(self.descriptor, 65536).decode(errors="replace")


@contextmanager
def at_a_terminal(folder: Path, *arguments: str, kind: str = "xterm") -> Iterator[Terminal]:
    """Run `stowplan up` at a terminal of 80 columns and 24 rows, with a pod that fits and one that does not."""
    manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": [HUGE, SMALL]})
    (folder / "pods.json").write_text(manifest, encoding="utf-8")
    descriptor, inside = pty.openpty()
    terminal = Terminal(descriptor)
    terminal.resize(80, 24)
    env = {name: value for name, value in environment().items() if name not in ("COLUMNS", "LINES")}
    command = [sys.executable, "-c", SHELL, *PROGRAM, "up", "--nodes", "2", "--port", "0", "pods.json", *arguments]
    streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), inside)
    process = subprocess.Popen(command, cwd=folder, env=env | {"TERM": kind, "PYTHONIOENCODING": "utf-8"}, **streams)
    os.close(inside)
    try:
        yield terminal
    finally:
        # Its terminal goes with it, and so does the job.
        process.kill()
        process.wait()
        os.close(descriptor)


def test_the_screen_names_who_waits_and_keys_lead_on(tmp_path: Path) -> None:
    with at_a_terminal(tmp_path) as terminal:
        terminal.until(r"q ends it   \? keys")
        terminal.until(r"default/small +\d+s  to node-000[12]: best of 2 found, score \d+")
        terminal.until(r"default/huge +\d+s  2 Insufficient cpu")
        terminal.until(r"cpu +.*12%  4 of 32")
        start = terminal.press(b"?")
        terminal.until(r"these keys; again: back to the screen", start)
        start = terminal.press(b"?")
        terminal.until("1 pod waiting: 1 unschedulable", start)
        start = terminal.press(b"e")
        terminal.until("Pod default/huge fits no node", start)
        start = terminal.press(b"ep")
        terminal.until(r"p goes on \(the screen stands still\)", start)
        start = terminal.press(b"p")
        terminal.until("p pauses", start)
        start = terminal.resize(120, 30)
        terminal.until(r"\x1b\[2J(?s:.*)q ends it", start)
        start = terminal.press(b"q")
        terminal.until("<ended with 0, the terminal is as it was>", start)
        assert "The cluster has ended." in terminal.shown[start:]
        # The cursor is there again.
        assert terminal.shown.rindex("\x1b[?25h") > terminal.shown.rindex("\x1b[?25l")


def test_ctrl_z_gives_the_terminal_back_until_it_is_brought_back_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    with at_a_terminal(tmp_path) as terminal:
        terminal.until(r"q ends it   \? keys")
        start = terminal.press(b"\x1a")
        terminal.until(r"<stopped, the terminal is as it was>", start)
        terminal.until(r"(?s:as it was>.*)q ends it", start)
        start = terminal.press(b"\x03")
        terminal.until("<ended with 0, the terminal is as it was>", start)


def test_a_terminal_that_can_only_write_gets_lines(tmp_path: Path) -> None:
    with at_a_terminal(tmp_path, kind="dumb") as terminal:
        terminal.until(r"2 nodes; pods: 1 pending, 1 running; 1 placed")
        start = terminal.press(b"\x03")
        terminal.until("<ended with 0, the terminal is as it was>", start)
        assert "\x1b" not in terminal.shown


ASKED_TWICE = """\
import asyncio, signal
from stowplan.local.up import told_to_stop
async def run():
    with told_to_stop(lambda: print("left", flush=True)) as stopped:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(60)
asyncio.run(run())
"""


def test_who_asks_twice_ends_it_at_once_after_the_terminal_was_given_back(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ASKED_TWICE]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "left\n", "")

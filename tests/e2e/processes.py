"""Programs the tests start: each has a log file, is waited for, and is ended by its process id.

A program never outlives the tests: `stop` ends it, so does the end of the interpreter, and the kernel ends it when the
tests are killed.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

PATIENCE_SECONDS = 180.0

_POLL_SECONDS = 0.05
_PR_SET_PDEATHSIG = 1
# Loaded here: nothing may be imported between fork and exec.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None

#: Where `make e2e` builds Helm and, in a folder for each release, the programs of the control plane and kubectl.
BINARIES = Path(__file__).resolve().parents[2] / ".e2e" / "bin"


class Process:
    """One program; start it from the main thread, because it dies with the thread that started it."""

    def __init__(self, command: Sequence[str | Path], log: Path) -> None:
        self.command = [str(part) for part in command]
        self.name = Path(self.command[0]).name
        self.log = log
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        return self._running_child().pid

    @property
    def is_running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self) -> None:
        """Run the program, appending what it says to its log."""
        if self.is_running:
            raise RuntimeError(f"{self.name} runs already, as process {self.pid}; stop it first")
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # Ctrl-C reaches the tests only, which then stop their programs in order.
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        atexit.register(self.stop)

    def stop(self, grace_seconds: float = 20.0) -> int | None:
        """Ask the program to end, insist if it does not, and return its exit code; None if it never ran."""
        atexit.unregister(self.stop)
        if self._child is None:
            return None
        self._child.terminate()
        try:
            return self._child.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        """End the program with SIGKILL, as a fault test does."""
        child = self._running_child()
        child.kill()
        return child.wait()

    def send(self, number: signal.Signals) -> None:
        """Send the running program a signal."""
        self._running_child().send_signal(number)

    def wait(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Wait until the program ends by itself, and return its exit code."""
        return self._running_child().wait(seconds)

    def cpu_seconds(self) -> float:
        """Return the user and system time of the running program so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        # utime and stime are the 14th and 15th field of the line; the split starts at the 3rd.
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait_until(self, is_ready: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> float:
        """Wait for the program to be ready, and return the seconds it took."""
        started = time.monotonic()
        while not is_ready():
            if not self.is_running:
                raise RuntimeError(f"{self.name} ended before it was ready; it said:\n{self.last_words()}")
            if time.monotonic() - started > seconds:
                raise TimeoutError(f"{self.name} is not ready after {seconds:.0f} s; it said:\n{self.last_words()}")
            time.sleep(_POLL_SECONDS)
        return time.monotonic() - started

    def last_words(self, lines: int = 30) -> str:
        """Return the end of the log."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    def _running_child(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            raise RuntimeError(f"{self.name} was not started")
        return self._child


def free_port() -> int:
    """Return a loopback port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answers_ok(url: str) -> bool:
    """Tell whether a health endpoint on this machine answers 200, whatever its certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    with contextlib.suppress(urllib.error.URLError, OSError), opener.open(url, timeout=5) as response:
        return bool(response.status == 200)
    return False


def _die_with_parent() -> None:
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

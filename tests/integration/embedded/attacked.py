"""A server in a process of its own that is attacked, so that its memory can be looked at."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.embedded.talking import Caller
from tests.limits import LIMIT_SECONDS

#: What an attack may cost a server, as the work of its process: what attacks took before there were limits was many
#: times this.
MOST_CPU_SECONDS = 2.0
#: What a server under attack may have.
MOST_MEGABYTES = 200
TOKEN = "secret"


@dataclass(frozen=True)
class Target:
    """A server that is attacked."""

    port: int
    pid: int

    def caller(self, headers: dict[str, str] | None = None) -> Caller:
        return Caller(self.port, headers)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT_SECONDS)

    @property
    def megabytes(self) -> int:
        """How much memory the process has now."""
        return self._megabytes("VmRSS")

    @property
    def peak_megabytes(self) -> int:
        """The most memory that the process ever had."""
        return self._megabytes("VmHWM")

    @contextmanager
    def at_little_cost(self) -> Iterator[None]:
        """See that the process has neither worked for long inside the block nor ever had much memory."""
        before = self.cpu_seconds
        yield
        assert self.cpu_seconds - before < MOST_CPU_SECONDS
        assert self.peak_megabytes < MOST_MEGABYTES

    @property
    def cpu_seconds(self) -> float:
        """How long the process has worked so far; what others do on the machine meanwhile does not count."""
        # The name of the program, in brackets, may have anything in it.
        user, system = self._told("stat").rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def _megabytes(self, name: str) -> int:
        [line] = [line for line in self._told("status").splitlines() if line.startswith(name)]
        return int(line.split()[1]) // 1024

    def _told(self, name: str) -> str:
        path = Path(f"/proc/{self.pid}/{name}")
        if not path.exists():
            pytest.skip("what a process takes is only looked up on Linux")
        return path.read_text(encoding="utf-8")


@contextmanager
def attacked(folder: Path, token: str = "") -> Iterator[Target]:
    """Run a server until the block ends."""
    command = [sys.executable, "-m", "tests.integration.embedded.server_process", str(folder), token]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Target(int(process.stdout.readline()), process.pid)
    finally:
        process.kill()
        process.communicate()

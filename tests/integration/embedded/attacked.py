"""A server in a process of its own that is attacked, so that its memory can be looked at."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.embedded.talking import Caller

#: What attacks took before there were limits was many times this.
TIMEOUT_SECONDS = 15.0
#: What a server under attack may have.
MOST_MEGABYTES = 200
TOKEN = "secret"


@dataclass(frozen=True)
class Target:
    """A server that is attacked."""

    port: int
    pid: int

    def caller(self, headers: dict[str, str] | None = None) -> Caller:
        return Caller(self.port, headers, timeout=TIMEOUT_SECONDS)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT_SECONDS)

    @property
    def megabytes(self) -> int:
        """How much memory the process has now."""
        return self._megabytes("VmRSS")

    @property
    def peak_megabytes(self) -> int:
        """The most memory that the process ever had."""
        return self._megabytes("VmHWM")

    def _megabytes(self, name: str) -> int:
        status = Path(f"/proc/{self.pid}/status")
        if not status.exists():
            pytest.skip("how much memory a process has is only looked up on Linux")
        [line] = [line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith(name)]
        return int(line.split()[1]) // 1024


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

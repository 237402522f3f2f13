"""Starting and ending the extender of `extender_server.py`."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.limits import LIMIT_SECONDS

SCRIPT = Path(__file__).with_name("extender_server.py")


@dataclass(frozen=True, slots=True)
class Server:
    """An extender that runs on this machine."""

    port: int

    def url(self, behaviour: str, scheme: str = "http") -> str:
        return f"{scheme}://127.0.0.1:{self.port}/{behaviour}"

    def asked(self, behaviour: str) -> list[dict[str, Any]]:
        """Return what it was asked to do in that way, oldest first; "" stands for every way."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{self.port}/requests", timeout=LIMIT_SECONDS) as response:
            requests: list[dict[str, Any]] = json.load(response)
        return [request for request in requests if request["path"].startswith(f"/{behaviour}/" if behaviour else "/")]


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    """Run an extender for a while."""
    command = [sys.executable, str(SCRIPT), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Server(int(process.stdout.readline()))
    finally:
        process.terminate()
        process.communicate(timeout=LIMIT_SECONDS)
